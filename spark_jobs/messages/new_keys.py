"""New keys: keys of the records that no field names, told once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import Field as Described

from spark_jobs.messages.part import Part
from spark_jobs.values import path as paths
from spark_jobs.values.names import MOST, snake
from spark_jobs.values.own_columns import is_own

if TYPE_CHECKING:
    from collections.abc import Collection

JSON_TEXT: Final = ("string", "json")
WRITTEN: Final = {
    frozenset((kind,)): (kind, None)
    for kind in ("boolean", "bigint", "double", "string", "timestamp", "date")
} | {
    frozenset(("bigint", "double")): ("double", None),
    frozenset(("string", "timestamp")): ("string", None),
    frozenset(("string", "date")): ("string", None),
    frozenset(("timestamp", "date")): ("string", None),
}
"""Kinds of the values that were seen -> a field's type and format. Any others are JSON as text."""


class NewKey(Part):
    """One of them."""

    path: str = Described(description="where it is in the row, as a field's path")
    kinds: tuple[str, ...] = Described(description="of its values, in the records looked at")
    records: int = Described(description="records with it, of those looked at")
    looked_at: int = Described(description="records that the run looked at")
    partition: int = Described(description="partition of the first of these")
    offset: int = Described(description="its offset")

    @property
    def line(self) -> str:
        """What a person is told. The name is quoted: a producer may choose any."""
        return (
            f"no field names the key {self.path!r}, which {self.records:,} of {self.looked_at:,} "
            f"records have that were looked at (first: partition {self.partition}, offset "
            f"{self.offset:,})"
        )

    def name(self, taken: Collection[str]) -> str:
        """What its field could be called: none of these."""
        plain = snake(paths.parsed(self.path))[: MOST - 4] or "key"
        names = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 3)))
        return next(each for each in names if each not in taken and not is_own(each))

    def declaration(self, name: str) -> str:
        """The line that declares it, as Python; empty if no field can."""
        path = paths.parsed(self.path)
        if not paths.readable(path):
            return ""
        type_, format_ = WRITTEN.get(frozenset(self.kinds) - {"null"}, JSON_TEXT)
        where = "" if path == (name,) else f", path={self.path!r}"
        written = f", format={format_!r}" if format_ else ""
        return f"Field(name={name!r}, type={type_!r}{where}{written}, required=False),"
