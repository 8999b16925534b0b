"""Lookup, as a spec declares it. Its Spark code: steps/beside/lookup.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import (
    ColumnName,
    Columns,
    Origins,
    computed,
    in_words,
    refuse_unknown,
)
from spark_jobs.spec.dimension import Dimension
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import refuse
from spark_jobs.spec.side import SideTable
from spark_jobs.spec.sql import names_in
from spark_jobs.spec.steps.step import Balance, Known, Step


class Lookup(Step):
    """Adds the fields of the dimension's row, null where there is none. A null key finds none."""

    operator: ClassVar = "spark_jobs.steps.beside.lookup:LookupOperator"
    canonical: ClassVar = "spark_jobs.steps.beside.lookup:all_at_once"
    kind: Literal["lookup"] = "lookup"
    dimension: Dimension
    """where it finds rows"""
    on: dict[str, ColumnName] = Described(min_length=1)
    """column of the dimension's key -> column here"""
    missing: Literal["null", "quarantine"] = "null"
    """of a row that finds none; quarantine: the record is malformed"""
    stateful: Literal[False] = False

    @model_validator(mode="after")
    def _possible(self) -> Self:
        wanted = [each.name for each in self.dimension.keys]
        if sorted(self.on) != sorted(wanted):
            refuse(
                "on",
                self.on,
                f"the key of {self.dimension.name} is {', '.join(wanted)}",
                "Name each of these columns, and no other",
            )
        return self

    @property
    def sides(self) -> tuple[SideTable, ...]:
        return (self.dimension,)

    def found_by(self, side: str) -> Mapping[str, str]:
        return self.on

    @property
    def counts_unmatched(self) -> tuple[str, ...]:
        return (self.dimension.name,)

    @property
    def rejects(self) -> bool:
        return self.missing == "quarantine"

    @property
    def rejected_because(self) -> str:
        """Why a record is malformed that finds no row, if it rejects such."""
        return f"no {self.dimension.name} for {', '.join(self.on.values())}"

    @property
    def described(self) -> str:
        at = ", valid at the event time" if self.dimension.valid else ""
        fields = in_words(each.name for each in self.dimension.fields)
        none = "; without one the record is malformed" if self.rejects else ""
        return (
            f"add {fields} of the row of `{self.dimension.name}` for "
            f"{in_words(self.on.values())}{at}{none}"
        )

    @property
    def balance(self) -> Balance:
        return Balance(
            counted_in="rows", drops_duplicates=False, only_fewer=True, several_per_key=False
        )

    def columns_after(self, columns: Columns) -> Columns:
        refuse_unknown("Lookup", "on", tuple(self.on.values()), columns)
        if columns is None:
            return None
        known = {name.lower() for name in columns}
        if taken := [each.name for each in self.dimension.fields if each.name in known]:
            refuse(
                "Lookup.dimension.fields",
                taken,
                "the step's input has columns with these names",
                f"Give the field another name, and its own as path: Field(name="
                f"'{self.dimension.name}_{taken[0]}', path='{taken[0]}', ...)",
            )
        return (*columns, *(each.name for each in self.dimension.fields))

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return types | {each.name: each.type for each in self.dimension.fields}

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        found = computed(self.on.values(), origins, "transformation")
        added = {each.name: found for each in self.dimension.fields} if found else {}
        return origins | added

    def carried(
        self,
        known: Mapping[str, Known],
        measured: Callable[[str], Known],
        yielded: Callable[[Field], Known],
    ) -> dict[str, Known]:
        of = self.dimension.fields
        if not self.rejects:  # where there is no row a required field is null too
            of = tuple(each.model_copy(update={"required": False}) for each in of)
        return {**known, **{each.name: yielded(each) for each in of}}

    def time_after(self, event_time: str | None) -> str | None:
        return event_time

    def refuse_time(self, time: str | None, output_mode: str) -> None:
        if self.dimension.valid and time is None:
            refuse(
                "Lookup.dimension.valid",
                self.dimension.valid,
                "the rows here have no event time at which a row could be valid",
                "Put the Lookup before the Aggregate, or give the step before it an event_time",
            )

    def refuse_types(self, types: Mapping[str, str]) -> None:
        for key in self.dimension.keys:
            given = types.get(self.on[key.name], key.type)
            if given != key.type:
                refuse(
                    "Lookup.on",
                    self.on[key.name],
                    f"it is {given}, and {key.name} of {self.dimension.name} is {key.type}",
                    f"Declare the key as the table has it: Field(name='{key.name}', "
                    f"type='{given}'). Or change the column's type in a Transform before",
                )

    def refuse_beside(
        self,
        before: Sequence[Step],
        after: Sequence[Step],
        mode: str,
        *,
        several: bool,
        undeleted: bool,
    ) -> None:
        self._refuse_deciding(after)
        made = {name for step in before for name in _added(step)}
        if self.rejects and (
            not all(isinstance(step, Lookup) for step in before) or made & {*self.on.values()}
        ):
            refuse(
                "Lookup.missing",
                self.missing,
                "a record is put into quarantine before its first step",
                "Put the Lookup first, on fields of the topic; or write missing='null', and leave "
                "such rows out by a Transform",
            )

    def _refuse_deciding(self, after: Sequence[Step]) -> None:
        """Refuse what may change, and stays in rows that are written, where it says which rows
        there are.
        """
        fields = {each.name for each in self.dimension.fields} if self.dimension.keeps else set()
        for step in after if fields else ():
            if not step.aggregates and "" not in step.carried({"": True}, bool, bool):
                refuse(
                    "Lookup.dimension.corrections",
                    "keep",
                    f"nobody knows which columns of the {step.kind} behind it depend on "
                    f"{', '.join(sorted(fields))}",
                    "Put the Lookup behind it, or leave corrections out",
                )
            named = [*(step.grouping_keys or ()), *(step.decided_by or ())]
            named += [name for side in step.sides for name in step.found_by(side.name).values()]
            if odd := sorted(fields & ({*named} | names_in(step.condition or ""))):
                refuse(
                    "Lookup.dimension.corrections",
                    "keep",
                    f"the {step.kind} behind it tells rows apart by {', '.join(odd)}",
                    "Leave corrections out, or the column",
                )


def _added(step: Step) -> tuple[str, ...]:
    return tuple(each.name for each in step.dimension.fields) if isinstance(step, Lookup) else ()
