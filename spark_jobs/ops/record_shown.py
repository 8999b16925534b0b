"""Record shown: the JSON of one late or quarantined record."""

from __future__ import annotations

from typing import Literal

from pydantic import Field as Described

from spark_jobs.messages.part import Part
from spark_jobs.ops.json_of_tables import RejectedLine

Withheld = Literal["setting", "right"]
"""Why the bytes are not shown: SLUICE_RECORD_BYTES is not `shown`; or the person may not edit the
DAG.
"""


class FieldShown(Part):
    """One field of a record."""

    name: str = Described(description="its name, without invisible characters")
    declared: str | None = Described(description="its type in the spec; null if it declares none")
    value: str | None = Described(
        description="its value as JSON, cut; null if it is missing or cannot be decoded"
    )
    wrong: str | None = Described(default=None, description="why it cannot be decoded")


class RawShown(Part):
    """A key or a value, bounded."""

    size: int = Described(description="its bytes in Kafka")
    text: str = Described(description="its first characters, invisible ones escaped")
    text_whole: bool = Described(description="whether that is all of it")
    hexadecimal: tuple[str, ...] = Described(description="its first bytes, sixteen a line")
    hexadecimal_whole: bool = Described(description="whether that is all of it")
    fields: tuple[FieldShown, ...] = Described(
        description="its fields, as far as they can be decoded"
    )
    not_decoded: str = Described(description="why it has no fields, or how many are left out")


class HeaderShown(Part):
    """One header of a record, bounded."""

    name: str = Described(description="its name, without invisible characters")
    declared: str | None = Described(description="its type in the spec; null if it declares none")
    size: int | None = Described(description="the bytes of its value; null if that is null")
    value: str | None = Described(
        description="its value as text, cut, invisible characters escaped; null if that is null"
    )


class RecordPage(Part):
    """One late or quarantined record."""

    line: RejectedLine = Described(description="where it was and why it was rejected")
    late_by_seconds: float | None = Described(
        description="how far its event time was behind the watermark; null if it was not late"
    )
    withheld: Withheld | None = Described(
        description="why key and value are not shown: setting or right; null if they are"
    )
    key: RawShown | None = Described(description="its key; null if it has none or it is withheld")
    value: RawShown | None = Described(description="its value; null likewise")
    headers: tuple[HeaderShown, ...] | None = Described(
        default=None,
        description="its headers in their order, 100 at most; null if the spec read none, or "
        "withheld",
    )
