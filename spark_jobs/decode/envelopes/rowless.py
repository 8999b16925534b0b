"""Rowless: what Debezium sends without a row, so that no field of the topic says what it is: a
truncate of the source's table (`op` is `t`), or a message of its log (`m`).

Source: Debezium's "truncate events" and "message events". By default it leaves truncates out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.formats import Records, decoder_class, in_parts, whole
from spark_jobs.spec import Field
from spark_jobs.spec.fields.place import value_places
from spark_jobs.values.own_columns import TRUNCATED

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.spec import Topic

REASONS: Final = {"t": TRUNCATED, "m": "a message of the source's log, which is no change of a row"}
OPERATION: Final = Field(name="op", type="string", part="envelope", required=False)


class Rowless:
    """Finds those among a topic's records."""

    def __init__(self, topic: Topic, given: object) -> None:
        """`given` is what the topic's format has prepared."""
        self._rows = [field.name for field in topic.fields if field.part == "value"]
        places = value_places([OPERATION], topic.envelope)
        self._decoder = decoder_class(topic.format)(topic.format, places, [OPERATION.name], given)

    def note(
        self, records: Records, columns: Mapping[str, pa.Array], reasons: list[str | None]
    ) -> None:
        """Give them their reason. Only a record that is malformed, or whose row is null, is looked
        at.
        """
        import pyarrow.compute as pc  # noqa: PLC0415 - a process that only plans needs it not

        rows = [columns[name].is_valid() for name in self._rows if name in columns]
        lacks = pc.invert(reduce(pc.or_, rows)) if rows else None
        suspects = {number for number, why in enumerate(reasons) if why}
        suspects |= {*(pc.indices_nonzero(lacks).to_pylist() if lacks is not None else ())}
        if not suspects:
            return
        numbers = sorted(suspects)
        found = whole(in_parts(self._decoder.decode, records.at(numbers)))
        for number, operation in zip(numbers, found.columns[0].to_pylist(), strict=True):
            reasons[number] = REASONS.get(operation, reasons[number])
