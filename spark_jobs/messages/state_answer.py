"""Answer: the state as `sluice state --keep` read it last, in a file beside the checkpoint, for the
views: a page starts no Spark. And its measures as lines for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import Field as Described

from spark_jobs.errors import StateUnreadable
from spark_jobs.errors.base import visible
from spark_jobs.messages.part import Part
from spark_jobs.spec.steps.expires import Clock, Counted
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths

MOST_ROWS: Final = 200
"""Rows of one variable that are kept, whatever --limit says."""
MOST_CELL: Final = 200
"""Characters of one value that are kept."""


class VariableAnswer(Part):
    """One variable of a step, or the whole state of a step without named variables."""

    title: str = Described(description="its name and how many rows it has")
    total: int = Described(description="its rows")
    columns: tuple[str, ...] = Described(description="names of key and value columns")
    rows: tuple[tuple[str, ...], ...] = Described(
        description="its first rows, by key, as text; none if SLUICE_RECORD_BYTES is hidden"
    )


class Power(Part):
    """Keys of about one size."""

    power: int = Described(description="keys of 2**power bytes or more, and less than twice that")
    keys: int = Described(description="how many")


class LargeKey(Part):
    """One of the largest keys of a step."""

    key: tuple[str, ...] = Described(
        description="its values as text; none if SLUICE_RECORD_BYTES is hidden"
    )
    rows: int = Described(description="its rows of all variables")
    bytes: int = Described(description="their bytes")


class KeySizes(Part):
    """How much of a step's state which key holds. state/measures.py says what a key is."""

    columns: tuple[str, ...] = Described(description="names of the key's columns")
    keys: int = Described(description="how many keys")
    rows: int = Described(description="rows of all variables")
    bytes: int = Described(
        description="bytes of keys and values before they are compressed, with Spark's indexes"
    )
    untimed: int | None = Described(
        description="keys without a timer; null where the step sets none"
    )
    powers: tuple[Power, ...] = Described(description="the keys by size, small ones first")
    largest: tuple[LargeKey, ...] = Described(description="the largest keys, ten at most")


class Expiring(Part):
    """Rows that expire within the hours before a time."""

    hours: int = Described(description="the time, in hours behind `since`; 0: they are due")
    rows: int = Described(description="how many, of those not in an earlier span")


class Expiry(Part):
    """When the rows of a variable expire."""

    variable: str = Described(description="the variable; empty for a step without named ones")
    counted: Counted = Described(
        description="rows that are removed, or calls of the processor, which may remove rows"
    )
    by: Clock = Described(
        description="what they wait for: event time, the clock, the processor's code, nothing"
    )
    since: datetime | None = Described(
        description="the watermark, or when it was read; null before the first watermark"
    )
    spans: tuple[Expiring, ...] = Described(description="by time, without empty ones")
    later: int = Described(description="rows that expire later than in ten years, or nobody knows")
    never: int = Described(description="rows with no such time")

    def within(self, hours: int) -> int:
        """Rows that expire when `since` has moved so far: 0, hours up to 48, or whole days."""
        return sum(each.rows for each in self.spans if each.hours <= hours)


class StepAnswer(Part):
    """One stateful step."""

    step: int = Described(description="its number, from 1")
    kind: str = Described(description="deduplicate, aggregate or group_state")
    operator: str = Described(description="Spark's name of it")
    partitions: int = Described(description="its state stores")
    variables: tuple[VariableAnswer, ...] = Described(description="what it stores")
    sizes: KeySizes | None = Described(
        default=None,
        description="its keys by size; null if the heap's store does not tell, or an older Sluice "
        "kept the answer",
    )
    expiry: tuple[Expiry, ...] | None = Described(
        default=None,
        description="of each variable; null if an older Sluice kept the answer",
    )

    def without_rows(self) -> StepAnswer:
        """It, with no value of a record."""
        sizes = self.sizes and self.sizes.model_copy(
            update={
                "largest": tuple(each.model_copy(update={"key": ()}) for each in self.sizes.largest)
            }
        )
        variables = tuple(each.model_copy(update={"rows": ()}) for each in self.variables)
        return self.model_copy(update={"variables": variables, "sizes": sizes})


class StateAnswer(Stored):
    """The content of state.json."""

    generation: str = Described(description="the checkpoint's generation")
    batch: int = Described(description="the state is that after this batch")
    watermark: datetime | None = Described(description="Spark's watermark then")
    read_at: datetime = Described(description="when it was read")
    steps: tuple[StepAnswer, ...] = Described(description="the stateful steps")

    def without_rows(self) -> StateAnswer:
        """Counted a person may see who may not see the bytes of records."""
        return self.model_copy(update={"steps": tuple(step.without_rows() for step in self.steps)})


def cells(row: tuple[str, ...]) -> tuple[str, ...]:
    """A row as it is kept."""
    return tuple(visible(text, MOST_CELL) for text in row)


def read_answer(paths: Paths) -> StateAnswer | None:
    """The last kept one; None without one. Raises StateUnreadable if it does not parse,
    FormatNewer.
    """
    path = paths.state_answer
    try:
        return StateAnswer.read(path) if path.exists() else None
    except ValueError:
        raise StateUnreadable.kept_unreadable(path=path, pipeline=paths.pipeline) from None


SPANS: Final = ((1, "an hour"), (24, "a day"), (7 * 24, "a week"), (30 * 24, "30 days"))
WHAT: Final = {"rows": "expire", "timers": "fire", "timeouts": "time out"}
BY: Final = {
    "watermark": "with the watermark",
    "clock": "by the clock",
    "processor": "when the processor removes them",
    "nothing": "never",
}


class Measures(NamedTuple):
    """Of one step. No sizes: its store does not tell them."""

    sizes: KeySizes | None
    expiry: tuple[Expiry, ...]


def told(measures: Measures) -> Iterator[str]:
    """A few lines."""
    if measures.sizes is None:
        yield "key sizes: its store does not tell them"
    else:
        yield from _sizes(measures.sizes)
    for each in measures.expiry:
        yield expires(each)


def _sizes(sizes: KeySizes) -> Iterator[str]:
    yield f"keys: {sizes.keys:,}; {sizes.rows:,} rows, {sizes.bytes:,} bytes before compression"
    if sizes.powers:
        yield "bytes of a key: " + ", ".join(
            f"{2**each.power:,} to {2 ** (each.power + 1) - 1:,}: {each.keys:,}"
            for each in sizes.powers
        )
    for key in sizes.largest[:1]:
        named = ", ".join(map(" ".join, zip(sizes.columns, key.key, strict=True)))
        share = 100 * key.bytes / max(1, sizes.bytes)
        yield f"largest key: {key.rows:,} rows, {key.bytes:,} bytes, {share:.1f} %: {named}"
    if sizes.untimed is not None:
        yield f"keys without a timer: {sizes.untimed:,}"


def expires(expiry: Expiry) -> str:
    """How many rows of a variable expire when, on one line."""
    of = f"{expiry.variable}: " if expiry.variable else ""
    told = f"{of}rows {WHAT[expiry.counted]} {BY[expiry.by]}"
    if expiry.by in {"processor", "nothing"}:
        return f"{told}: {expiry.never:,}"
    if expiry.since is None:
        return f"{told}: {expiry.later:,}; there is no watermark yet"
    due = [f"{expiry.within(0):,} due"] if expiry.within(0) else []
    most = expiry.within(SPANS[-1][0])
    needed = 1 + sum(expiry.within(hours) < most for hours, _ in SPANS)
    within = [f"{expiry.within(hours):,} within {name}" for hours, name in SPANS[:needed]]
    rest = [f"{expiry.later:,} in over ten years"] if expiry.later else []
    return f"{told}: {', '.join([*due, *within, *rest])}, {expiry.never:,} never"
