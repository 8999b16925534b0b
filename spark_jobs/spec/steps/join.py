"""Join, as a spec declares it. Its Spark code: steps/apart/join.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import ClassVar, Final, Literal, Self

from pydantic import Field as Described, PrivateAttr, model_validator

from spark_jobs.spec.columns import ColumnName, Columns, Origins, in_words, refuse_unknown
from spark_jobs.spec.duration import ZERO, Distance, shown
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import refuse
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.steps import unjoinable
from spark_jobs.spec.steps.deduplicate import Deduplicate
from spark_jobs.spec.steps.expires import Expires, Variable
from spark_jobs.spec.steps.step import Balance, EvictedBy, Known, Pairs, Step
from spark_jobs.spec.topic import Topic
from spark_jobs.values.spans import Span, Times

SEEN: Final = ("join_left", "join_right")
"""Under these the rows of left and of right are observed: `rows`, behind a side's Deduplicate; of a
side without one the late ones too.
"""


class Join(Step):
    """Pairs of two topics' rows with equal keys, and event times within a range."""

    operator: ClassVar = "spark_jobs.steps.apart.join:JoinOperator"
    canonical: ClassVar = "spark_jobs.steps.apart.join:all_at_once"
    kind: Literal["join"] = "join"
    left: str
    """the topic whose rows find"""
    right: str
    """the topic whose rows are found"""
    on: dict[str, ColumnName] = Described(min_length=1)
    """left column -> right column of equal value"""
    within: tuple[Distance, Distance] = Described(strict=False)
    """how much later the right row is, least and most"""
    how: Literal["inner", "left"] = "inner"
    """left: also left rows that find none"""
    before: dict[str, tuple[Deduplicate, ...]] = Described(default_factory=dict)
    """topic -> a Deduplicate that its rows pass first"""
    prefix: str | None = Described(default=None, pattern=r"^([A-Za-z][A-Za-z0-9_]*)?$")
    """what right columns begin with; default: the topic's name and _"""
    stateful: Literal[True] = True

    _sides: tuple[Topic, ...] = PrivateAttr(default=())
    """The two topics, once a pipeline has them."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        begin, end = self.within
        if self.left == self.right:
            refuse("right", self.right, "left is the same topic", "Name another topic")
        if begin > end:
            refuse(
                "within",
                tuple(map(shown, self.within)),
                "the first is the least, and it is more than the second",
                "Write the smaller one first, for example ('-5 minutes', '1 hour')",
            )
        for name, steps in self.before.items():
            unjoinable.refuse_before(self.takes, name, steps)
        return self

    @property
    def takes(self) -> tuple[str, ...]:
        return (self.left, self.right)

    def taking(self, inputs: Sequence[Topic]) -> Self:
        known = {each.name: each for each in inputs}
        if not {*self.takes} <= known.keys():
            return self
        bound = self.model_copy()
        bound._sides = (known[self.left], known[self.right])  # noqa: SLF001 - this class's own
        return bound

    def drops_within(self, topic: str) -> bool:
        return topic in self.before

    @property
    def unmatched_leave(self) -> bool:
        """Whether a left row that finds none leaves."""
        return self.how == "left"

    def right_name(self, column: str) -> str:
        """What a column of the right topic is called in the output."""
        default = re.sub(r"\W", "_", self.right, flags=re.ASCII) + "_"
        return (default if self.prefix is None else self.prefix) + column

    def expires(
        self, variable: Variable, columns: Sequence[str], time: str | None, mode: str
    ) -> Expires:
        """Once the watermark has passed the times of all rows that it could be joined with."""
        left, right = self.times
        begin, end = self.within
        column, after = (left, end) if variable.name == self.left else (right, -begin)
        return Expires(column, "watermark", after=after)

    @property
    def found(self) -> dict[str, str]:
        """Column of the right topic -> what it is called in the output. Those of `on` equal the
        left ones, so they are left out.
        """
        others = (name for name in self._sides[1].columns if name not in {*self.on.values()})
        return {name: self.right_name(name) for name in others}

    @property
    def times(self) -> tuple[str, str]:
        """The columns of the output with the event times of left and right."""
        return self._sides[0].event_time, self.found[self._sides[1].event_time]

    @property
    def columns(self) -> tuple[str, ...]:
        """The output's columns."""
        return (*self._sides[0].columns, *self.found.values())

    @property
    def described(self) -> str:
        begin, end = map(shown, self.within)
        equal = " and ".join(f"`{one}` = `{other}`" for one, other in self.on.items())
        once = [f"`{name}` by {in_words(of.keys)}" for name, (of,) in self.before.items()]
        copies = f"; first drop copies of {', and of '.join(once)}" if once else ""
        alone = "; without one its columns are null" if self.unmatched_leave else ""
        return (
            f"to each row of `{self.left}` those of `{self.right}` with {equal}, from {begin} to "
            f"{end} later{alone}{copies}"
        )

    @property
    def evicted_by(self) -> EvictedBy:
        return "watermark"

    @property
    def rows_per_record(self) -> int:
        return 2 if self.before else 1

    @property
    def operators(self) -> int:
        return 1 + len(self.before)

    @property
    def stores_rows(self) -> bool:
        return True

    @property
    def doubts(self) -> tuple[str, ...]:
        return tuple(
            f"Join.before lacks {name}: a copy of its record makes each of its pairs again; add a "
            "Deduplicate, unless its producer sends each record once"
            for name in self.takes
            if name not in self.before
        )

    @property
    def needs_rocksdb(self) -> bool:
        return True

    @property
    def balance(self) -> Balance:
        return Balance(
            "rows", drops_duplicates=False, only_fewer=False, several_per_key=False, inside=SEEN
        )

    @property
    def dropping(self) -> tuple[Step, ...]:
        return tuple(chain.from_iterable(self.before.values()))

    def counting(self, delay: timedelta | None) -> str | None:
        """Where each left row finds one row at most, so that the rows tell how many left ones are
        done: copies of the right key are dropped for as long as one left row can find another.
        """
        begin, end = self.within
        once = self.before.get(self.right, ())
        if any({*of.keys} <= {*self.on.values()} for of in once) and delay and end - begin <= delay:
            return "spark_jobs.audit.left_rows:LeftRows"
        return None

    @property
    def grouping_keys(self) -> tuple[str, ...]:
        return tuple(self.on)

    @property
    def remembers(self) -> bool:
        return True

    @property
    def late_after(self) -> timedelta:
        return ZERO

    def pairs(self, of_input: str) -> Pairs | None:
        begin, end = self.within
        if of_input == self.left:
            columns = {name: name for name in self._sides[0].columns}
            return Pairs(columns, max(end, ZERO), self.unmatched_leave)
        found = {new: old for old, new in self.found.items()}
        return Pairs({**self.on, **found}, max(-begin, ZERO), alone=False)

    @property
    def unfollowed(self) -> tuple[str, str]:
        return (
            "a Join is the last step with state",
            "Write its rows to this pipeline's table, and the next step into a pipeline that reads "
            "that table",
        )

    def state_key(self, columns: Columns) -> Columns:
        return tuple(self.on)

    def columns_after(self, columns: Columns) -> Columns:
        if not self._sides:  # refused behind this: the pipeline has other topics
            return None
        left, right = self._sides
        refuse_unknown("Join", "on", tuple(self.on), left.columns)
        refuse_unknown("Join", "on", tuple(self.on.values()), right.columns)
        for name, (step,) in self.before.items():
            unjoinable.refuse_unfit(step, left if name == self.left else right)
        unjoinable.refuse_null(self.on, left, right)
        unjoinable.refuse_same(left, self.found.values(), self.prefix)
        return self.columns

    def refuse_types(self, types: Mapping[str, str]) -> None:
        unjoinable.refuse_types(self.on, types)

    def refuse_mode(self, mode: str, *, first: bool) -> None:
        if mode != "append":
            refuse("output_mode", mode, "a Join writes each pair once", "Leave output_mode out")

    def refuse_beside(
        self,
        before: Sequence[Step],
        after: Sequence[Step],
        mode: str,
        *,
        several: bool,
        undeleted: bool,
    ) -> None:
        if kinds := [step.kind for step in after if step.remembers]:
            refuse("steps", kinds, *self.unfollowed)
        if self.right in (side.name for step in after for side in step.sides):
            refuse(
                "steps",
                self.right,
                "a table beside the stream has the right topic's name, by which both are counted",
                "Give the table another: Dimension(name=...)",
            )

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return {new: types[old] for new, old in self._came.items() if old in types}

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        return {new: origins[old] for new, old in self._came.items() if old in origins}

    def carried(
        self,
        known: Mapping[str, Known],
        measured: Callable[[str], Known],
        yielded: Callable[[Field], Known],
    ) -> dict[str, Known]:
        left, right = self._sides
        came = {name: known[name] for name in left.columns if name in known}
        for field in (field for field in right.fields if field.name in self.found):
            required = field.required and not self.unmatched_leave
            came[self.found[field.name]] = yielded(field.model_copy(update={"required": required}))
        return came

    @property
    def _came(self) -> dict[str, str]:
        """Output column -> the topic's column that it is."""
        if not self._sides:
            return {}
        left = {name: name for name in self._sides[0].columns}
        return left | {new: old for old, new in self.found.items()}

    def time_after(self, event_time: str | None) -> str | None:
        return event_time

    def needed(self, positions: Span, delay: timedelta, ranges: Ranges, of_input: str) -> Span:
        if of_input == self.right:
            begin, end = self.within
            positions = positions.widened(-begin, end)
        for step in self.before.get(of_input, ()):
            positions = step.needed(positions, delay, ranges, of_input)
        return positions

    def touched(self, positions: Times, ranges: Ranges, of_input: str) -> Times:
        # As with a Deduplicate alone, a late record changes its own row's pairs.
        begin, end = self.within
        return positions.widened(end, -begin) if of_input == self.right else positions

    def settled_after(self, ranges: Ranges) -> timedelta:
        # Spark keeps a row for a millisecond more than its range (StreamingJoinHelper).
        return max(self.within[1], ZERO) + timedelta(milliseconds=1)
