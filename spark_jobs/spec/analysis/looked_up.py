"""Looked up: which records and rows of a pipeline depend on which rows of a table beside the
stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import covering, inputs_apart, sessions
from spark_jobs.spec.analysis.rounding import deciding, output_key
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.sql import names_in
from spark_jobs.spec.steps.step import Step
from spark_jobs.values.spans import Span


class LookedUp(NamedTuple):
    """One step that finds rows of the table."""

    spec: Pipeline
    at: int
    """Its index."""
    by: Mapping[str, str]
    """As Step.found_by has it."""

    def touched(self, times: Span, read: Span) -> Span:
        """The positions of the output rows that depend on the table's rows of these event times, if
        all records have event times in `read`.
        """
        span = _touched(self.spec, self.spec.steps[: self.at], read).within(times)
        return span if span.empty else _touched(self.spec, self.spec.steps[self.at :], span)

    def records(self, times: Span) -> Span:
        """The event times of the records that may depend on the table's rows of these."""
        return covering(self._records(times, each) for each in inputs_apart(self.spec))

    def _records(self, times: Span, of_input: str) -> Span:
        delay = self.spec.watermark_delay or timedelta()
        for step in reversed(self.spec.steps[: self.at]):
            times = step.needed(times, delay, self.spec.ranges, of_input)
        return times

    @property
    def entering(self) -> dict[str, str]:
        """The key's columns -> those columns of the records that enter the first stateful step;
        empty where those do not have all of them.
        """
        first = self.spec.first_stateful
        if self.at < first:
            return self._all(carried(self.spec.steps[self.at : first], self.by.values()))
        back = carried(self.spec.steps[first : self.at], self.spec.inputs.columns)
        return self._all({name: column for column, name in back.items()})

    @property
    def leaving(self) -> dict[str, str]:
        """The same of the output's columns; empty also where a row may be missing there, and come
        with another row of the table.
        """
        behind = self.spec.steps[self.at :]
        own = carried(self.spec.steps[: self.at], self.spec.inputs.columns)
        names = {*own, *self.by.values()}
        for number, step in enumerate(behind):
            if number and not _keeps_all(step, names):
                return {}
            names = {*carried([step], names)}
        return self._all(carried(behind, self.by.values()))

    def _all(self, found: Mapping[str, str]) -> dict[str, str]:
        """`found`: column there -> column of the step's input."""
        there = {column: name for name, column in found.items()}
        if not {*self.by.values()} <= there.keys():
            return {}
        return {key: there[column] for key, column in self.by.items()}


def is_topic(spec: Pipeline, side: str) -> bool:
    """Whether the pipeline reads the table with this name as a topic."""
    return any(each.name == side for topic in spec.inputs for each in topic.beside)


def looked_up(spec: Pipeline, side: str) -> tuple[LookedUp, ...]:
    """Each step that finds rows of the table with this name. The first one of all, where the topic
    is the table: its rows are the records.
    """
    if is_topic(spec, side):
        return (LookedUp(spec, 0, {}),)
    return tuple(
        LookedUp(spec, at, step.found_by(side))
        for at, step in enumerate(spec.steps)
        if any(each.name == side for each in step.sides)
    )


def from_rows(spec: Pipeline) -> Sequence[Step]:
    """The steps from the first that reads a table beside the stream to the one by which the table
    follows a key, if each of its rows can be made again with them, of its own other columns; none
    where that takes records.
    """
    keyed = spec.keyed
    first = next((at for at, step in enumerate(spec.steps) if step.sides), 0)
    again, before = spec.steps[first:-1], columns_at(spec, first)
    if keyed is None or before is None or keyed.decided_by is None:
        return ()
    found = [step for step in again for side in step.sides if step.found_by(side.name)]
    known = {name.lower() for name in before}
    if (
        [*again] != found
        or any(step.rejects for step in again)
        or spec.inputs.event_time not in before
        or not {name.lower() for name in keyed.decided_by} <= known
    ):
        return ()
    return again


def columns_at(spec: Pipeline, index: int) -> Columns:
    """The columns that enter the step; None where only Spark knows them."""
    columns: Columns = spec.inputs.columns
    for step in spec.steps[:index]:
        columns = step.columns_after(columns)
    return columns


def kept(spec: Pipeline) -> frozenset[str]:
    """The output's columns that depend on a table of which rows that are written keep what they
    have, as far as text tells.
    """
    if not any(side.keeps for side in spec.sides):
        return frozenset()
    columns: Columns = spec.inputs.columns
    found = set[str]()
    for step in spec.steps:
        before = {name: name in found for name in (*(columns or ()), *found)}
        keeps = any(side.keeps for side in step.sides)
        after = step.carried(before, partial(_names_one, {*found}), partial(_always, keeps))
        found = {name for name, depends in after.items() if depends}
        columns = step.columns_after(columns)
    return frozenset(found)


def _names_one(of: set[str], sql: str) -> bool:
    return bool(names_in(sql) & of)


def _always(said: bool, _: Field) -> bool:
    return said


def telling(spec: Pipeline) -> tuple[str, ...]:
    """The output's columns that tell a row, whatever is looked up: those of its key, or all if it
    has none, but for those that may come from a table beside the stream.
    """
    at, key = deciding(spec), output_key(spec)
    if sessions(spec) and key:
        return key  # by which they are replaced
    first = min((n for n, step in enumerate(spec.steps) if step.sides), default=len(spec.steps))
    made = next((step for step in reversed(spec.steps[:first]) if step.condition is None), None)
    own = (made and made.row_key) or carried(spec.steps[:first], spec.inputs.columns)
    kept = {*carried(spec.steps[first:], own)}
    if at is None or key is None:
        return tuple(sorted(kept))
    grouped = spec.steps[at].grouping_keys or ()
    return tuple(name for name in key if name in kept or name not in grouped)


def _touched(spec: Pipeline, steps: Sequence[Step], span: Span) -> Span:
    return covering(_touched_of(spec, steps, span, each) for each in inputs_apart(spec))


def _touched_of(spec: Pipeline, steps: Sequence[Step], span: Span, of_input: str) -> Span:
    for step in steps:
        span = step.touched(span, spec.ranges, of_input)
    return span


def carried(steps: Iterable[Step], names: Iterable[str]) -> dict[str, str]:
    """Column behind the steps -> the column before them that it is."""
    known = {name: name for name in names}
    for step in steps:
        found = step.carried(known, _of_measure, _of_field)
        known = {name: column for name, column in found.items() if column}
    return known


def _of_measure(_: str) -> str:
    return ""


def _of_field(_: Field) -> str:
    return ""


def _keeps_all(step: Step, names: set[str]) -> bool:
    """Whether the same rows leave it, as far as these columns tell, whatever is in all others."""
    if step.decided_by is not None:
        return {*step.decided_by} <= names
    if step.sides:
        return all(step.found_by(side.name) for side in step.sides)
    return bool(step.aggregates) and not step.by_code
