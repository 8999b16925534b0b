"""Text decoder: the whole value is one text, as keys mostly are; UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_jobs.decode.columns.column import each_read
from spark_jobs.decode.columns.text_column import (
    text_column,
    text_of,
)
from spark_jobs.decode.formats import TOMBSTONE, Decoded, Records

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Text, Topic
    from spark_jobs.spec.fields.place import Place


class TextDecoder:
    """Each field is the whole text, in its own type."""

    def __init__(
        self,
        format_: Text,  # noqa: ARG002 - as the port has it
        places: Sequence[Place],
        wanted: Sequence[str],
        given: object = None,  # noqa: ARG002 - as the port has it
    ) -> None:
        self._fields = [place.field for place in places]
        self._wanted = tuple(wanted)

    @staticmethod
    def prepare(format_: Text, topic: Topic, root: str, settings: Settings | None) -> None:
        """Nothing."""

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        values = records.values.to_pylist()
        texts, wrong = each_read(text_of, values, "is no UTF-8")
        reasons = [TOMBSTONE if value is None else wrong.get(at) for at, value in enumerate(values)]
        columns = {}
        for field in self._fields:
            column = text_column(texts, field)
            columns[field.name] = column.array
            for index, why in column.wrong.items():
                reasons[index] = reasons[index] or why
        return Decoded([columns[name] for name in self._wanted], reasons)
