"""CSV decoder: one row a value, strictly as RFC 4180 says: a quote is around a whole cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records
from spark_jobs.decode.plain.texts import decoded, refused_places
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.fields.place import key_places, value_places

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Csv, Topic
    from spark_jobs.spec.fields.place import Place
    from spark_jobs.spec.formats.format import Format

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
        self._columns, self._places, self._wanted = format_.columns, places, wanted
        self._cells = _cells(format_)

    @staticmethod
    def prepare(format_: Csv, topic: Topic, root: str, settings: Settings | None) -> None:  # noqa: ARG004 - as the port has it
        """Nothing. Raises SpecInvalid if a field is no cell."""
        refuse_absent(topic, format_, format_.columns, "cell of format.columns")

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        values = records.values.to_pylist()
        reasons: list[str | None] = [None] * len(values)
        nulls: Row = [None] * len(self._columns)
        rows = []
        for index, value in enumerate(values):
            try:
                rows.append(self._row(value))
            except ValueError as error:
                undecoded = isinstance(error, UnicodeDecodeError)
                reasons[index] = "it is no UTF-8" if undecoded else str(error)
                rows.append(nulls)
        cells = [*zip(*rows, strict=True)] or [()] * len(self._columns)
        texts = dict(zip(self._columns, cells, strict=True))
        return decoded(texts, reasons, self._places, self._wanted)

    def _row(self, value: bytes | None) -> Row:
        if not value:
            raise ValueError(TOMBSTONE if value is None else EMPTY)
        text = value.decode()
        # A line end belongs to the line.
        text = text[: -2 if text.endswith("\r\n") else -1] if text.endswith("\n") else text
        row = self._cells(text)
        if len(row) != len(self._columns):
            raise ValueError(f"it has {len(row)} cells, not {len(self._columns)}")
        return row


def refuse_absent(topic: Topic, format_: Format, names: Sequence[str], what: str) -> None:
    """Raise SpecInvalid if a field that the format gives reads what is not there."""
    of_keys = format_ is topic.key
    places = key_places(topic.fields) if of_keys else value_places(topic.fields, topic.envelope)
    if absent := refused_places(places, names):
        raise SpecInvalid(
            f"topic {topic.name!r}: no {what} is named {absent[0]!r}.",
            f"Name one of {', '.join(names)}, by path= of the field.",
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
