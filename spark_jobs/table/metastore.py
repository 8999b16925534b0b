"""Metastore: a published table in a Hive metastore, from 2.3 on, as Spark and Trino find Delta
tables there: its entry, and how the catalog that the installation names is given it.

Plain Thrift, without Kerberos and TLS. What somebody else has added to an entry stays, and nothing
is decided by what a catalog says. Source: hive_metastore.thrift of Hive 2.3.10;
HiveExternalCatalog.scala of Spark 4.2, by which a table with `spark.sql.sources.provider` is where
the serde's property `path` says.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.errors import CatalogRefused
from spark_jobs.settings.installation import catalog
from spark_jobs.settings.roots import Catalog
from spark_jobs.storage.root.path_forms import qualified
from spark_jobs.table.tables import own_table
from spark_jobs.table.thrift import (
    BOOL,
    I32,
    STRUCT,
    Fields,
    Refused,
    Value,
    call,
    structs,
    text,
    texts,
)

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


SECONDS: Final = 10.0
MARK: Final = "sluice.table"
"""The property of an entry that Sluice made: the table's id. So an installation leaves the entries
of another that has a pipeline of the same name.
"""
MOST_LETTERS: Final = 250
"""Of a column's comment: a metastore's database has 256."""
# Numbers of fields in hive_metastore.thrift.
_NAME, _DATABASE, _OWNER, _STORED, _PARTS, _PROPERTIES, _TYPE = 1, 2, 3, 7, 8, 9, 12
_COLUMNS, _LOCATION, _INPUT, _OUTPUT, _COMPRESSED, _BUCKETS, _SERDE = 1, 2, 3, 4, 5, 6, 7
_LIBRARY, _SERDE_PROPERTIES = 2, 3
_ABSENT: Final = 2
"""The exception of get_table_req for a table that is not there."""
_QUIETLY: Final = Value(STRUCT, {1: texts({"DO_NOT_UPDATE_STATS": "true"})})
"""Or the metastore lists the files."""


class Metastore(NamedTuple):
    """A database of it."""

    at: Catalog

    def put(self, wanted: Entry) -> bool:
        """Make or correct the table's entry; False if it is as it should be.

        Raises CatalogRefused.
        """
        with self._in_words():
            known = self._table(wanted.name)
            if known is None:
                self._call("get_database", {1: text(self.at.database)})
                made = changed(_new(wanted.name, self.at.database), wanted)
                self._call("create_table_with_environment_context", {1: _struct(made), 2: _QUIETLY})
                return True
            if _pairs(known.get(_PROPERTIES)).get(MARK) != wanted.id:
                raise CatalogRefused.foreign_entry(
                    catalog=self.at.url, table=f"{self.at.database}.{wanted.name}"
                )
            made = changed(known, wanted)
            if made == known:
                return False
            names = {1: text(self.at.database), 2: text(wanted.name)}
            given = names | {3: _struct(made), 4: _QUIETLY}
            self._call("alter_table_with_environment_context", given)
            return True

    def _table(self, name: str) -> Fields | None:
        asked = {1: text(self.at.database), 2: text(name)}
        try:
            found = self._call("get_table_req", {1: _struct(asked)})
        except Refused as refusal:
            if refusal.field == _ABSENT:
                return None
            raise
        table: Fields = found.value[1].value if found else {}
        return table

    def _call(self, method: str, fields: Fields) -> Value | None:
        return call((self.at.host, self.at.port), method, fields, SECONDS)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError) as error:
            raise CatalogRefused.unreachable(catalog=self.at.url, error=error) from None
        except Refused as refusal:
            raise CatalogRefused.said_no(
                catalog=self.at.url, database=self.at.database, error=str(refusal)[:300]
            ) from None


def _struct(fields: Fields) -> Value:
    return Value(STRUCT, fields)


def _new(name: str, database: str) -> Fields:
    return {
        _NAME: text(name),
        _DATABASE: text(database),
        _PARTS: structs([]),
        _TYPE: text("EXTERNAL_TABLE"),
    }


def changed(known: Fields, wanted: Entry) -> Fields:
    """The entry with what Sluice says of the table, and the rest as it was."""
    stored: Fields = _fields(known.get(_STORED))
    serde: Fields = _fields(stored.get(_SERDE))
    # Spark keeps such classes for tables that only its own code reads.
    usual: Fields = {
        _INPUT: text("org.apache.hadoop.mapred.SequenceFileInputFormat"),
        _OUTPUT: text("org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"),
        _COMPRESSED: Value(BOOL, False),
        _BUCKETS: Value(I32, -1),
    }
    library = {_LIBRARY: text("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe")}
    where = {"path": wanted.location, "serialization.format": "1"}
    serde = library | serde | {_SERDE_PROPERTIES: _with(serde.get(_SERDE_PROPERTIES), where)}
    columns = structs([_column(each) for each in wanted.columns])
    stored = (
        usual
        | stored
        | {_COLUMNS: columns, _LOCATION: text(wanted.location), _SERDE: _struct(serde)}
    )
    ours = {
        "EXTERNAL": "TRUE",
        "spark.sql.sources.provider": "delta",
        "comment": wanted.about,
        MARK: wanted.id,
    }
    owner = {_OWNER: text(wanted.owner)} if wanted.owner else {}
    properties = {_PROPERTIES: _with(known.get(_PROPERTIES), ours)}
    return known | owner | {_STORED: _struct(stored)} | properties


def _column(column: Column) -> Fields:
    """As a metastore keeps it: names in small letters, and none of Spark's own types."""
    kind = column.type.replace("timestamp_ntz", "timestamp")
    about = {3: text(column.about[:MOST_LETTERS])} if column.about else {}
    return {1: text(column.name.lower()), 2: text(kind)} | about


def _fields(value: Value | None) -> Fields:
    found: Fields = value.value if value else {}
    return found


def _pairs(value: Value | None) -> dict[str, str]:
    pairs = value.value[2] if value else {}
    return {name.decode(): of.decode() for name, of in pairs.items()}


def _with(value: Value | None, more: dict[str, str]) -> Value:
    return texts(_pairs(value) | more)


LOG = logging.getLogger(__name__)


def register(paths: Paths, spec: Pipeline) -> str | None:
    """Make the catalog's entry what it should be; a line that says it. None where no catalog is
    named, or nothing is published yet. Raises SettingInvalid or CatalogRefused.
    """
    at = catalog()
    wanted = entry(paths, spec) if at.url else None
    if wanted is None:
        return None
    done = "registered" if Metastore(at).put(wanted) else "is registered"
    return f"{wanted.location} {done} as {at.database}.{wanted.name}"


def try_to_register(paths: Paths, spec: Pipeline) -> None:
    """Likewise behind a publish, which a catalog does not stop: the next one tries again."""
    try:
        if line := register(paths, spec):
            LOG.info("%s", line)
    except Exception as error:  # noqa: BLE001 - whatever another's server answers
        LOG.warning("%s is published, and in no catalog: %s", spec.name, error)
