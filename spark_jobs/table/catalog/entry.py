"""Entry: what a catalog is told of a pipeline's published table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.storage.root.path_forms import qualified
from spark_jobs.table.tables import own_table

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

_IN_SQL = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


class Column(NamedTuple):
    """A column: its name, its type in SQL, and what it means."""

    name: str
    type: str
    about: str


class Entry(NamedTuple):
    """A table as a catalog has it."""

    name: str
    location: str
    """As Spark has it."""
    id: str
    """Delta's id of the published table, which it keeps however often it shows another."""
    about: str
    owner: str
    columns: tuple[Column, ...]


def entry(paths: Paths, spec: Pipeline) -> Entry | None:
    """Of the published table, whose path stays through each switch and reset; None before the first
    publish.
    """
    path = paths.published_table
    table = own_table(path)
    if spec.is_archive or not table.exists():
        return None
    known = meanings(spec)
    columns = (
        Column(name, in_sql(kind), known.get(name, "")) for name, kind in table.columns().items()
    )
    return Entry(
        spec.name, qualified(path), table.identifier(), spec.about, spec.owner, tuple(columns)
    )


def meanings(spec: Pipeline) -> dict[str, str]:
    """Output column -> what the spec says of it: a field's `about`, or a measure's SQL."""
    known = {field.name: field.about for field in spec.inputs.fields}
    for step in spec.steps:
        known = step.carried(known, str, lambda field: field.about)
    return {name: about for name, about in known.items() if about}


def in_sql(kind: str | Mapping[str, Any]) -> str:
    """The type of a column, given as Delta's schema has it.

    >>> in_sql({"type": "array", "elementType": "long", "containsNull": True})
    'array<bigint>'
    """
    if isinstance(kind, str):
        return _IN_SQL.get(kind, kind)
    match kind["type"]:
        case "array":
            return f"array<{in_sql(kind['elementType'])}>"
        case "map":
            return f"map<{in_sql(kind['keyType'])},{in_sql(kind['valueType'])}>"
        case _:
            parts = (f"{each['name']}:{in_sql(each['type'])}" for each in kind["fields"])
            return f"struct<{','.join(parts)}>"
