"""Layout: a table with the columns that fit the terminal, or one line for each field.

Never cuts a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

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
                lines += _stripped([*fold(column.name, width), *fold(text, width)])
    return lines


def _stripped(lines: Iterable[str]) -> Iterator[str]:
    return (line.rstrip() for line in lines)


def _padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space
