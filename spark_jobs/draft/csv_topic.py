"""CSV topic: the columns of a sample of rows, named by the first one if that is a header, else by
their places.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.columns.text_column import text_of
from spark_jobs.draft.fields import THE_FORMAT, Drafted, Reading, drafted
from spark_jobs.draft.leaf import VERSION, Kind, Leaf, kind, snake
from spark_jobs.draft.written_time import FEW
from spark_jobs.spec import Csv

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled

DELIMITERS: Final = ",;\t|"
NO_HEADER: Final = "no header: name the cells in their order, here and in path"
MOST: Final = 0.9
"""The part of all rows that has as many cells."""
_DECIMAL: Final = re.compile(r"-?\d+,\d+")
_NAME: Final = re.compile(r"[A-Za-z_][\w .-]*")
_MADE: Final[tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...]] = (
    (re.compile("true|false"), lambda cell: cell == "true"),
    (re.compile(r"-?(0|[1-9]\d{0,18})"), int),
    (re.compile(r"-?(0|[1-9]\d*)\.\d\d"), Decimal),
    (re.compile(r"-?(0|[1-9]\d*)(\.\d+)?"), float),
)
"""With a zero in front it is a code, and no number."""
Row = tuple["Sampled", list[str]]


def of_csv(ordered: Sequence[Sampled]) -> Reading | None:
    """None where the values are no rows of several cells."""
    texts = [(each, text) for each in ordered if (text := _text(each.value))]
    if not texts or sum(text.lstrip()[:1] in {"{", "["} for _, text in texts) * 2 > len(texts):
        return None
    found = {each: _rows(texts, each) for each in DELIMITERS}
    fitting = [each for each in DELIMITERS if len(found[each]) >= MOST * len(texts)]
    if not fitting:
        return None
    delimiter = max(fitting, key=lambda each: (_has_decimals(found[each]), len(found[each][0][1])))
    rows = found[delimiter]
    names = _header(rows)
    rows = [row for row in rows if tuple(row[1]) != names]
    stamps = [each.timestamp for each, _ in rows if each.timestamp is not None]
    given = names or tuple(f"column_{number}" for number in range(1, len(rows[0][1]) + 1))
    leaves = [of_cells(name, [row[at] for _, row in rows]) for at, name in enumerate(given)]
    notes = {} if names else {THE_FORMAT: NO_HEADER}
    fields: list[Drafted] = drafted(
        leaves, median(stamps) if stamps else 0, of=kind_of_cells, notes=notes
    )
    format_ = Csv(columns=given, delimiter=delimiter)
    return Reading([each for each, _ in rows], fields, format_, notes=notes)


def _text(value: bytes | None) -> str:
    try:
        return text_of(value or b"")
    except UnicodeDecodeError:
        return ""


def _rows(texts: Sequence[tuple[Sampled, str]], delimiter: str) -> list[Row]:
    split = list[Row]()
    for each, text in texts:
        try:
            [row] = csv.reader([text], delimiter=delimiter, strict=True)
        except (csv.Error, ValueError):
            continue
        if text.count('"') >= sum(2 + 2 * cell.count('"') for cell in row if '"' in cell):
            split.append((each, row))  # else a quote is not around all of its cell
    usual = Counter(len(row) for _, row in split if len(row) > 1).most_common(1)
    return [(each, row) for each, row in split if usual and len(row) == usual[0][0]]


def _has_decimals(rows: Sequence[Row]) -> bool:
    """Whether a column has decimals with a comma, which is no delimiter then."""
    return any(
        all(map(_DECIMAL.fullmatch, filter(None, column)))
        for column in zip(*(row for _, row in rows), strict=True)
        if any(column)
    )


def _header(rows: Sequence[Row]) -> tuple[str, ...]:
    """The cells of the first row, if they are names, and those below one of them are numbers.
    Files that were sent one after another have it more than once.
    """
    first = [cell.strip() for cell in rows[0][1]]
    others = [row for _, row in rows if row != rows[0][1]]
    below = [numbers([row[at] for row in others]) for at in range(len(first))]
    typed = any(any(isinstance(each, int | float) for each in column) for column in below)
    named = all(map(_NAME.fullmatch, first)) and len({*first}) == len(first)
    apart = all(name not in column for name, column in zip(first, below, strict=True))
    return tuple(rows[0][1]) if named and typed and apart else ()


def of_cells(name: str, cells: Sequence[str]) -> Leaf:
    """A column's. An empty cell is null."""
    texts = [cell or None for cell in cells]
    return Leaf((name,), texts if VERSION.search(snake(name)) else numbers(cells))


def numbers(cells: Sequence[str]) -> list[Any]:
    """As numbers, where almost all are; an empty cell is null."""
    given = [cell for cell in cells if cell]
    for pattern, make in _MADE:
        if given and sum(map(bool, map(pattern.fullmatch, given))) >= (1 - FEW) * len(given):
            return [make(cell) if pattern.fullmatch(cell) else cell or None for cell in cells]
    return [cell or None for cell in cells]


def kind_of_cells(leaf: Leaf, clock_ms: float) -> Kind:
    """What is of several types is a text as it is."""
    found = kind(leaf, clock_ms)
    return found if found.format != "json" else Kind("string")
