"""Lines decoder: the named groups of a pattern that a whole line matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode.columns.texts import decoded, text_of
from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records
from spark_jobs.decode.plain.csv_decoder import refuse_absent

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Lines, Topic
    from spark_jobs.spec.fields.place import Place


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
