"""Plain: decoders of values without fields of their own: a text, its lines, a row of CSV.

CSV is read strictly as RFC 4180 says: a quote is around a whole cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode.columns.text_column import (
    decoded,
    refused_places,
    text_of,
    utf8,
)
from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records
from spark_jobs.errors import SpecInvalid

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Csv, Format, Lines, Topic
    from spark_jobs.spec.fields.place import Place

Row = Sequence[str | None]


class CsvDecoder:
    """As the port has it."""

    def __init__(
        self,
        format_: Csv,
        places: Sequence[Place],
        wanted: Sequence[str],
        given: None = None,  # noqa: ARG002 - as the port has it
    ) -> None:
        self._format, self._columns = format_, format_.columns
        self._places, self._wanted = places, wanted
        self._read = {path[0] for place in places for path in place.paths}
        self._cells = _cells(format_)

    @staticmethod
    def prepare(format_: Csv, topic: Topic, root: str, settings: Settings | None) -> None:  # noqa: ARG004 - as the port has it
        """Nothing. Raises SpecInvalid if a field is no cell."""
        refuse_absent(topic, format_, format_.columns, "cell of format.columns")

    def decode(self, records: Records) -> Decoded:
        """As the port has it. Lines without a quote are taken apart by Arrow, all at once."""
        import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
        import pyarrow as pa  # noqa: PLC0415 - as above

        reasons: list[str | None] = [None] * len(records.values)
        cells, plain = self._plain(records.values)
        more, found = list[str | None](), np.cumsum(plain) - 1
        others = np.flatnonzero(~plain)
        row, lacks = int(plain.sum()), np.zeros(len(plain), bool)
        values = records.values.take(pa.array(others)).to_pylist()
        for index, value in zip(others.tolist(), values, strict=True):
            try:
                more += self._row(value)
                found[index], row = row, row + 1
            except ValueError as error:
                undecoded = isinstance(error, UnicodeDecodeError)
                reasons[index] = "it is no UTF-8" if undecoded else str(error)
                lacks[index] = True
        every = pa.concat_arrays([cells, pa.array(more, pa.string())])
        texts = {
            name: every.take(pa.array(found * len(self._columns) + number, mask=lacks))
            for number, name in enumerate(self._columns)
            if name in self._read
        }
        return decoded(texts, reasons, self._places, self._wanted)

    def _plain(self, values: pa.Array) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
        """The cells of all lines that have no quote and as many cells as they should, one line
        behind the other, and which lines these are.
        """
        import pyarrow as pa  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        format_, marks = self._format, len(self._columns) - 1
        texts = pc.replace_substring_regex(utf8(values), r"\r?\n$", "", max_replacements=1)
        special = "".join(map(re.escape, filter(None, (format_.quote, "\r", "\n", "\ufeff"))))
        plain = pc.and_(
            pc.invert(pc.match_substring_regex(texts, f"[{special}]")),
            pc.equal(pc.count_substring(texts, format_.delimiter), marks),
        )
        plain = pc.fill_null(
            pc.and_(plain, pc.greater(pc.binary_length(values), 0)), fill_value=False
        )
        cells = pc.split_pattern(texts.filter(plain), format_.delimiter).flatten()
        if format_.null is not None:
            nulls = pc.equal(cells, format_.null)
            cells = pc.if_else(nulls, pa.scalar(None, pa.string()), cells)
        return cells, plain.to_numpy(zero_copy_only=False)

    def _row(self, value: bytes | None) -> Row:
        if not value:
            raise ValueError(TOMBSTONE if value is None else EMPTY)
        text = text_of(value)
        # A line end belongs to the line.
        text = text[: -2 if text.endswith("\r\n") else -1] if text.endswith("\n") else text
        row = self._cells(text)
        if len(row) != len(self._columns):
            raise ValueError(f"it has {len(row)} cells, not {len(self._columns)}")
        return row


def refuse_absent(topic: Topic, format_: Format, names: Sequence[str], what: str) -> None:
    """Raise SpecInvalid if a field that the format gives reads what is not there."""
    of_keys = format_ is topic.key
    places = topic.key_places if of_keys else topic.data_places
    if absent := refused_places(places, names):
        raise SpecInvalid.column_absent(
            topic=topic.name,
            what=what,
            absent=absent[0],
            names=", ".join(names),
        )


def _cells(format_: Csv) -> Callable[[str], Row]:
    """What takes a line apart. Raises ValueError."""
    delimiter, quote, null = format_.delimiter, format_.quote, format_.null
    mark = re.escape(delimiter)

    def plain(text: str) -> Row:
        if "\n" in text or "\r" in text:
            raise ValueError("it has several lines")
        cells: list[str | None] = [*text.split(delimiter)]
        return [None if cell == null else cell for cell in cells] if null is not None else cells

    if quote is None:
        return plain
    mine = re.escape(quote)
    cell = re.compile(
        f"{mine}((?:[^{mine}]|{mine}{mine})*){mine}(?={mark}|\\Z)"
        f"|([^{mine}{mark}\\r\\n]*)(?={mark}|\\Z)"
    )

    def quoted(text: str) -> Row:
        if quote not in text:
            return plain(text)
        cells, at = list[str | None](), 0
        while True:
            found = cell.match(text, at)
            if found is None:
                raise ValueError(f"cell {len(cells) + 1} has a quote that is not around all of it")
            inside, bare = found.groups()
            cells.append(
                inside.replace(quote * 2, quote)
                if inside is not None
                else None
                if bare == null
                else bare
            )
            at = found.end() + 1
            if at > len(text):
                return cells

    return quoted


class LinesDecoder:
    """As the port has it."""

    def __init__(
        self,
        format_: Lines,
        places: Sequence[Place],
        wanted: Sequence[str],
        given: None = None,  # noqa: ARG002 - as the port has it
    ) -> None:
        self._pattern, self._names = re.compile(format_.pattern), format_.names
        self._places, self._wanted = places, wanted

    @staticmethod
    def prepare(format_: Lines, topic: Topic, root: str, settings: Settings | None) -> None:  # noqa: ARG004 - as the port has it
        """Nothing. Raises SpecInvalid if a field is no group."""
        refuse_absent(topic, format_, format_.names, "group of format.pattern")

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

        reasons: list[str | None] = []
        texts: dict[str, list[str | None]] = {name: [] for name in self._names}
        for value in records.values.to_pylist():
            groups, reason = self._matched(value)
            reasons.append(reason)
            for name, column in texts.items():
                column.append(groups.get(name))
        columns = {name: pa.array(column, pa.string()) for name, column in texts.items()}
        return decoded(columns, reasons, self._places, self._wanted)

    def _matched(self, value: bytes | None) -> tuple[dict[str, str | None], str | None]:
        if not value:
            return {}, TOMBSTONE if value is None else EMPTY
        try:
            found = self._pattern.fullmatch(text_of(value).rstrip("\r\n"))
        except UnicodeDecodeError:
            return {}, "it is no UTF-8"
        return (found.groupdict(), None) if found else ({}, "it does not match the pattern")
