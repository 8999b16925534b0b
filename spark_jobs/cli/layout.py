"""Layout: a table with the columns that fit the terminal, or one line for each field; and each of
its values, on one line.

Never cuts a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from rich.cells import cell_len, chop_cells

from spark_jobs.checkpoint.notes.partitions import partitions_of
from spark_jobs.errors.base import visible
from spark_jobs.ops.views import WHEN, Rows
from spark_jobs.spec.duration import approximate
from spark_jobs.values.times import iso

GAP = 2
FOLDED = 24
"""Minimum width of a text column in cells. Longer texts are folded."""
NEEDED = 3
"""Most important columns that must fit for a table.

If they do not, each field has a line of its own.
"""


class Column(NamedTuple):
    """A name, and one text for each row.

    Widths are in terminal cells; many East Asian letters take two.
    """

    name: str
    texts: tuple[str, ...]
    number: bool = False
    """Whether the texts are numbers: they are aligned right and not folded."""

    @property
    def natural(self) -> int:
        """The width that folds no text."""
        return max(cell_len(text) for text in (self.name, *self.texts))

    @property
    def least(self) -> int:
        """The width below which the column is left out."""
        return self.natural if self.number else max(cell_len(self.name), min(self.natural, FOLDED))


class Layout(NamedTuple):
    """The lines, and the names of the columns that did not fit."""

    lines: list[str]
    left_out: tuple[str, ...] = ()


def lay_out(columns: Sequence[Column], width: int | None, *, chosen: bool) -> Layout:
    """The columns, most important first, in lines of at most `width` cells (2 or more).

    None: lines of any width.

    Columns that the user has chosen are all shown. If they do not fit as a table, each field has a
    line of its own.
    """
    if width is None:
        return Layout(_table(columns, [column.natural for column in columns]))
    fitting = [columns[place] for place in _fitting(columns, width)]
    needed = columns if chosen else columns[:NEEDED]
    if fitting[: len(needed)] != list(needed):
        return Layout(_on_end(columns, width))
    left_out = tuple(column.name for column in columns if column not in fitting)
    return Layout(_table(fitting, _widths(fitting, width)), left_out)


def fold(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most `width` cells, broken at spaces if possible.

    A line break replaces one space at most.
    """
    at = 0
    while at < len(text) or at == 0:
        # A slice limits the work for long records. It is longer than a line because some letters
        # take no cell.
        ahead = text[at : at + 4 * width]
        if at + len(ahead) == len(text) and cell_len(ahead) <= width:
            yield ahead  # chop_cells parts letters that take no cell
            return
        line = next(iter(chop_cells(ahead, width)), "") or ahead[:1]
        after = text[at + len(line) : at + len(line) + 1]
        if after not in {"", " "} and (space := line.rfind(" ")) > 0:
            line = line[:space]
            after = " "
        yield line
        at += max(len(line), 1) + (after == " ")


def _fitting(columns: Sequence[Column], width: int) -> Iterator[int]:
    """Indexes. A narrow column may fit although a more important one did not."""
    left = width
    for place, column in enumerate(columns):
        if column.least <= left:
            left -= column.least + GAP
            yield place


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """The cells that remain go to folded columns, most important first."""
    widths = [column.least for column in columns]
    spare = width - sum(widths) - GAP * (len(widths) - 1)
    for place, column in enumerate(columns):
        more = min(spare, column.natural - column.least)
        widths[place] += more
        spare -= more
    return widths


def _table(columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    names = [
        [_padded(column.name, width, column.number)]
        for column, width in zip(columns, widths, strict=True)
    ]
    lines = [*_side_by_side(names, widths), (" " * GAP).join("─" * width for width in widths)]
    for texts in zip(*(column.texts for column in columns), strict=True):
        cells = [
            [_padded(line, width, column.number) for line in fold(text, width)]
            for text, column, width in zip(texts, columns, widths, strict=True)
        ]
        lines += _side_by_side(cells, widths)
    return lines


def _side_by_side(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for place in range(max(map(len, cells))):
        parts = (
            cell[place] if place < len(cell) else " " * width
            for cell, width in zip(cells, widths, strict=True)
        )
        yield (" " * GAP).join(parts).rstrip()


def _on_end(columns: Sequence[Column], width: int) -> list[str]:
    """A blank line between two rows. Values that do not fit beside the names go below."""
    names = max(cell_len(column.name) for column in columns)
    beside = width - names - GAP >= FOLDED // 2
    lines = list[str]()
    for texts in zip(*(column.texts for column in columns), strict=True):
        lines += [""] if lines else []
        for column, text in zip(columns, texts, strict=True):
            if beside:
                cells = [list(fold(column.name, names)), list(fold(text, width - names - GAP))]
                lines += _side_by_side(
                    [[_padded(line, names) for line in cells[0]], cells[1]], [names, 0]
                )
            else:
                lines += map(str.rstrip, [*fold(column.name, width), *fold(text, width)])
    return lines


def _padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


NUMBERED = frozenset({"batch", "partition", "offset", "step", "table_version"})
"""Numbers that are ids.

They have no thousands separators, because other commands and Kafka's tools take none.
"""
OF_SLUICE = frozenset({"started_at", "ended_at", "audited_at", "checked_at"})
"""Times by the machine's clock, shown to the minute.

Other times are of records and shown exactly, for comparison.
"""
JUST_NOW = timedelta(seconds=2)


def cell(name: str, value: Any, now: datetime) -> str:
    """The value of the column `name`; empty where it is null. `now` has a time zone."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return ago(value, now) if name == WHEN else moment(value, exact=name not in OF_SLUICE)
    if isinstance(value, int):
        return str(value) if name in NUMBERED else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list | dict):
        return _parts(name, value, now)
    return visible(
        value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    )


def _parts(name: str, value: list[Any] | dict[str, Any], now: datetime) -> str:
    if isinstance(value, list):
        return "; ".join(cell(name, each, now) for each in value)
    return ", ".join(f"{key}={cell(key, each, now)}" for key, each in value.items())


def ago(then: datetime, now: datetime) -> str:
    """The time since then: "3 hours ago"; "in 3 hours" if another machine's clock is ahead of this
    one's.
    """
    since = now - then
    if abs(since) < JUST_NOW:
        return "just now"
    return f"{approximate(since)} ago" if since > timedelta() else f"in {approximate(-since)}"


def moment(time: datetime, *, exact: bool) -> str:
    """A time in UTC: "2026-11-22 14:03 UTC".

    An exact one has seconds and their fraction, unless they are 0.
    """
    return f"{iso(time, ' ', _unit(time) if exact else 'minutes')} UTC"


def _unit(time: datetime) -> str:
    if time.microsecond % 1000:
        return "microseconds"
    if time.microsecond:
        return "milliseconds"
    return "seconds" if time.second else "minutes"


OFFSETS = ("offsets_start", "offsets_end")


def with_topics(rows: Rows, pipeline: str | None, root: str) -> Rows:
    """`pipeline`: whose rows these are, where no column says it."""
    if not {"partition", *OFFSETS} & {*rows.names}:
        return rows
    of = cache(partitions_of)

    def named(values: tuple[Any, ...]) -> tuple[Any, ...]:
        row = dict(zip(rows.names, values, strict=True))
        name = row.get("pipeline", pipeline)
        if name is None or not (known := of(name, root)).named:
            return values
        row |= {each: known.offsets(row[each]) for each in OFFSETS if each in row}
        if row.get("partition") is not None:
            row["partition"] = known.shown(row["partition"])
        return tuple(row.values())

    return Rows(rows.names, tuple(map(named, rows.values)))
