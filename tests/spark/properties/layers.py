"""What the table must hold after drains, repairs, backfills and undos: plain Python, neither Spark nor
Sluice.

At each position it has what the newest repair of that position has computed: what one computation
gives over all records that had been read by then, none of them late. Elsewhere it has what drains
have written: the same without the late records.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spark_jobs.spec import Session
from tests.spark.properties.forms import Row
from tests.spark.properties.ranged_form import RangedForm
from tests.spark.properties.replay import Seen

Range = tuple[int, int]
"""Positions in microseconds, without the end."""


LAST_US = 2**62
"""A watermark behind everything."""


class Layer(NamedTuple):
    """A repair that is in the table."""

    repair_id: str
    ranges: tuple[Range, ...]
    horizon: Mapping[int, int]
    """By partition: the offset after the last that was read before it was planned."""
    version: int
    """Of the table."""

    def overlaps(self, ranges: Iterable[Range]) -> bool:
        return any(max(a, c) < min(b, d) for a, b in self.ranges for c, d in ranges)

    def covers(self, position_us: int) -> bool:
        return any(a <= position_us < b for a, b in self.ranges)

    def knows(self, one: Seen) -> bool:
        """Whether the record had been read when it was planned."""
        return one.place[1] < self.horizon[one.place[0]]


def expected(form, layers, seen, watermark_us) -> list[Row]:
    """The table's rows."""
    if is_of_sessions(form):
        return _sessions(form, layers, seen, watermark_us)
    rows = _of(form, layers, None, seen, watermark_us)
    for layer in layers:
        known = [one._replace(missed_us=None) if layer.knows(one) else one for one in seen]
        rows += _of(form, layers, layer, known, watermark_us)
    return rows


def is_of_sessions(form: RangedForm) -> bool:
    return isinstance(getattr(form, "window", None), Session)


def compared(form, table, computed, ranges) -> tuple[list[Row], list[Row]]:
    """The rows that go with a repair of the ranges, and those that come; sessions go whole."""
    come = within(form, computed, ranges := list(ranges))
    inside = within(form, table, ranges)
    if not is_of_sessions(form):
        return inside, come
    return [
        row
        for row in table
        if _overlaps(row, come) or (row in inside and not _overlaps(row, computed))
    ], come


def _sessions(form, layers, seen, watermark_us) -> list[Row]:
    """What drains wrote, then each repair's sessions instead of what they overlap."""
    rows = form.rows(seen, watermark_us)
    for layer in layers:
        known = [one._replace(missed_us=None) for one in seen if layer.knows(one)]
        goes, comes = compared(form, rows, form.rows(known, LAST_US), layer.ranges)
        rows = [row for row in rows if row not in goes] + comes
    return rows


def _overlaps(row: Row, sessions: Iterable[Row]) -> bool:
    """Whether the row lies in one of them, or they meet."""
    return any(
        each["key"] == row["key"]
        and each["window_start"] <= row["window_end"]
        and row["window_start"] <= each["window_end"]
        for each in sessions
    )


def canonical(form: RangedForm, seen: list[Seen], watermark_us: int) -> list[Row]:
    """What one computation gives over all that was read, none of it late."""
    return form.rows([one._replace(missed_us=None) for one in seen], watermark_us)


def within(form: RangedForm, rows: Iterable[Row], ranges: Iterable[Range]) -> list[Row]:
    """The rows whose position is in one of the ranges."""
    ranges = list(ranges)
    return [row for row in rows if any(a <= form.position_us(row) < b for a, b in ranges)]


def _of(form, layers, wanted, seen, watermark_us) -> list[Row]:
    """Of these rows those where this layer is the newest; None: those that have none."""

    def newest(row: Row) -> Layer | None:
        at_us = form.position_us(row)
        return next((each for each in reversed(layers) if each.covers(at_us)), None)

    return [row for row in form.rows(seen, watermark_us) if newest(row) is wanted]
