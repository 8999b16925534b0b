"""New keys: keys of the records that no field names, told once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

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


_NAME: Final = re.compile(r"[A-Za-z_@$][A-Za-z0-9_.$-]{0,39}")
_DATA: Final = re.compile(r"[0-9a-fA-F-]{8,}|.*[0-9]{6}.*")
"""Keys that are data: ids, card numbers."""
FEWEST: Final = 10
"""Of fewer records nobody can say that most have a key."""


class NewKey(Part):
    """One of them."""

    path: str = Described(description="where it is in the row, as a field's path")
    kinds: tuple[str, ...] = Described(description="of its values, in the records looked at")
    records: int = Described(description="records with it, of those looked at")
    looked_at: int = Described(description="records that the run looked at")
    partition: int = Described(description="partition of the first of these")
    offset: int = Described(description="its offset")
    place: str = Described(default="", description="the partition's name")

    @property
    def line(self) -> str:
        """What a person is told. The name is quoted: a producer may choose any."""
        first = f"partition {self.place or self.partition}, offset {self.offset:,}"
        return (
            f"no field names the key {self.path!r}, which {self.records:,} of {self.looked_at:,} "
            f"records have that were looked at (first: {first})"
        )

    @property
    def is_a_name(self) -> bool:
        """Whether a producer has named something by it: not if the key is itself data of a person.
        Most records have a name, and few the same address.
        """
        key = str(paths.parsed(self.path)[-1])
        plain = _NAME.fullmatch(key) and not _DATA.fullmatch(key)
        return bool(plain) and self.looked_at >= FEWEST and 2 * self.records >= self.looked_at

    def name(self, taken: Collection[str]) -> str:
        """What its field could be called: none of these."""
        plain = snake(paths.parsed(self.path))[: MOST - 4] or "key"
        names = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 3)))
        return next(each for each in names if each not in taken and not is_own(each))

    def attributes(self, name: str) -> dict[str, Any] | None:
        """Attributes of the field that declares it; None if none can."""
        path = paths.parsed(self.path)
        if not paths.readable(path):
            return None
        type_, format_ = WRITTEN.get(frozenset(self.kinds) - {"null"}, JSON_TEXT)
        where = {} if path == (name,) else {"path": self.path}
        written = {"format": format_} if format_ else {}
        return {"name": name, "type": type_, **where, **written, "required": False}

    def declaration(self, name: str) -> str:
        """The line that declares it, as Python; empty if no field can."""
        given = self.attributes(name)
        told = ", ".join(f"{key}={value!r}" for key, value in (given or {}).items())
        return f"Field({told})," if given else ""
