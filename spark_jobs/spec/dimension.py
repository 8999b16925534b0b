"""Dimension, as a spec declares it: a table beside the stream with at most one row of a key at a
time. What is asked of it: side/dimension.py.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import ColumnName, refuse_own, refuse_repeated
from spark_jobs.spec.fields.field import Field, is_name
from spark_jobs.spec.model import refuse
from spark_jobs.spec.side import SideTable

FILES: Final = (".csv", ".jsonl", ".json", ".parquet")
"""What the name of a file ends with, which is a whole table; JSON has a row a line."""
UNCOMPARED: Final = ("float", "double", "binary", "array", "map", "struct")
"""Kinds of columns by which no row is found: two values that look alike may differ."""


class Dimension(SideTable):
    """A table that a Lookup finds rows in."""

    side: ClassVar = "spark_jobs.side.dimension:DimensionSide"
    table: str = Described(exclude=True, min_length=1)
    """a pipeline of this root, for its published table; a Delta table's path; or a file: from the
    pipelines' folder, 'orders/shops.csv'
    """
    key: tuple[str | Field, ...] = Described(min_length=1)
    """its columns: text by name, another type by a Field"""
    valid: tuple[ColumnName, ColumnName] | None = None
    """the columns with the times from which and before which a row is valid; null: no limit"""
    fields: tuple[Field, ...] = Described(min_length=1)
    """what a Lookup adds; a path has the table's name for it"""
    corrections: Literal["mend", "keep"] = Described(default="mend", exclude=True)
    """keep: written rows stay, and a verify leaves out what depends on it"""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Called as its table, where that is a name."""
        if (
            not isinstance(given, dict)
            or "name" in given
            or not isinstance(given.get("table"), str)
        ):
            return given
        name = PurePosixPath(given["table"]).name.partition(".")[0]
        return given | {"name": name} if is_name(name) else given

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self._refuse_table()
        for each in self.key:
            if isinstance(each, str) and not is_name(each):
                refuse(
                    "key",
                    each,
                    "a name has lower-case letters, digits and underscores",
                    f"Write Field(name='id', type='string', path='{each}')",
                )
        names = [each.name for each in self.keys]
        columns = {self.column_of(each) for each in self.keys}
        refuse_repeated("key", names)
        refuse_repeated("fields", [each.name for each in self.fields])
        refuse_own("fields", [each.name for each in self.fields])
        for where, each in (
            *(("key", k) for k in self.keys),
            *(("fields", f) for f in self.fields),
        ):
            _refuse_more(where, each)
        for each in self.keys:
            if each.kind in UNCOMPARED:
                refuse("key", each.type, f"no row is found by a {each.kind}", "Use other columns")
        self._refuse_types()
        both = {*(self.valid or ())}
        if self.valid and (len(both) < len(self.valid) or both & columns):
            refuse(
                "valid",
                self.valid,
                "it names two columns, and none of the key",
                "Write ('valid_from', 'valid_to')",
            )
        return self

    def _refuse_types(self) -> None:
        """A column that is a field too has one type, of a time where rows are valid by it."""
        of_key = {self.column_of(each): (each.type,) for each in self.keys}
        known = of_key | dict.fromkeys(self.valid or (), ("timestamp", "timestamp_ntz", "date"))
        for each in self.fields:
            wanted = known.get(self.column_of(each), (each.type,))
            if each.type not in wanted:
                why = f"its column {self.column_of(each)} is {' or '.join(wanted)}"
                refuse("fields", f"{each.name} {each.type}", why, "Declare one type")

    @property
    def keys(self) -> tuple[Field, ...]:
        """The columns of the key, with their types."""
        return tuple(
            Field(name=each, type="string") if isinstance(each, str) else each for each in self.key
        )

    @property
    def columns(self) -> dict[str, str]:
        """See SideTable. The times have no type."""
        said = {self.column_of(each): each.type for each in self.keys}
        said |= dict.fromkeys(self.valid or (), "")
        return said | {self.column_of(each): each.type for each in self.fields}

    @property
    def is_file(self) -> bool:
        """Whether the table is a file."""
        return self.table.endswith(FILES)

    @property
    def keeps(self) -> bool:
        return self.corrections == "keep"

    @property
    def pipeline(self) -> str | None:
        return self.table if is_name(self.table) else None

    @property
    def lies(self) -> str:
        return self.table

    @staticmethod
    def column_of(field: Field) -> str:
        """What the table calls it."""
        return str(field.paths[0][0])

    def _refuse_table(self) -> None:
        given = self.table
        if re.match(r"[a-z0-9]+://", given):
            refuse(
                "table",
                given,
                "Sluice reads no table of another object store: it has no credentials for one",
                "Name a pipeline of this root, or a path on the disk",
            )
        if not self.is_file and self.pipeline is None and not given.startswith("/"):
            refuse(
                "table",
                given,
                "it is no pipeline's name, no whole path, and no file",
                f"Write 'customers', '/data/customers', or a file that ends with "
                f"{', '.join(FILES)}",
            )


def _refuse_more(where: str, field: Field) -> None:
    bare = Field(name=field.name, type=field.type, required=field.required, about=field.about)
    places = field.paths
    if field.model_copy(update={"path": None}) != bare or len(places) > 1 or len(places[0]) > 1:
        refuse(
            where,
            field.name,
            "a column of a table has a name and a type",
            "Set name, type, required, about, and as path the column's name alone",
        )
