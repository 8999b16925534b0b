"""Table layout: what a spec declares of the table besides its rows, given to the table.

Clustering is no feature of the table: delta-rs 1.6 writes none with Delta's `clustering`, so a
repair, a rewind or a fence could not. Batches that append, or replace all, sort their rows;
maintenance orders files.

Columns of a topic's newer fields are added to a table that has rows from before. These rows have
null there, whatever their records had: a rebuild alone reads them anew. The table's schema says
which columns are of that kind, so whoever compares rows knows it.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

import deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from pydantic_core import PydanticCustomError

from spark_jobs.errors import TableChanged
from spark_jobs.registry.archive_spec import PARTITIONED_BY, SORTED_BY
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.columns import origins_of
from spark_jobs.spec.model import refusal
from spark_jobs.storage.root.path_forms import delta_path
from spark_jobs.table.added import MARK
from spark_jobs.table.delta import door
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.door import confirmed, here
from spark_jobs.table.delta.log_entries import GENERATION, write_first_checksum
from spark_jobs.values.own_columns import DELETED, is_own

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pyspark.sql.types import StructField, StructType
    from upath import UPath

    from spark_jobs.storage.lease_view import Held

STATISTICS: Final = "delta.dataSkippingStatsColumns"
INDEXED: Final = "delta.dataSkippingNumIndexedCols"
CHECKPOINT_INTERVAL: Final = "100"
"""Commits between two checkpoints of the table's log: one takes seconds; reading 100 small commits
takes less.
"""
_IN_SQL: Final = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
LOG = logging.getLogger(__name__)


def parts(spec: Pipeline) -> list[str]:
    """The columns that part the table, Sluice's own first."""
    if spec.is_archive:
        return [*PARTITIONED_BY]
    own = [DELETED, *spec.keyed.parted_by] if spec.keyed else []
    return own + [name for name in spec.layout.partition_by if name not in own]


def order(spec: Pipeline) -> tuple[str, ...]:
    """The columns by which files are sorted: within a partition each of its own has one value."""
    if spec.is_archive:
        return SORTED_BY
    return tuple(name for name in spec.layout.cluster_by if name not in parts(spec))


def refuse_unfit(fields: Iterable[Mapping[str, Any]], spec: Pipeline) -> None:
    """Raise SpecInvalid for a layout that does not fit these fields, of the JSON that Delta's
    schemas have and Spark's.
    """
    types = {each["name"]: _in_sql(each["type"]) for each in fields}
    try:
        spec.layout.refuse_unfit(tuple(types), types)
    except PydanticCustomError as error:
        raise refusal(f"Pipeline {spec.name!r}", error) from None


def _in_sql(kind: str | Mapping[str, Any]) -> str:
    return _IN_SQL.get(kind, kind) if isinstance(kind, str) else f"{kind['type']}<>"


def make(path: UPath, columns: StructType, spec: Pipeline, generation: str) -> None:
    """As Table.make."""
    try:
        # The change feed shows the rows that a run wrote. For appended rows it needs the log only.
        # An archive has no checks of rows, and removes old ones: the feed would keep those.
        deltalake.DeltaTable.create(
            delta_path(path),
            deltalake.Schema.from_json(columns.json()),
            name=spec.name,
            description=spec.about,
            configuration={
                **properties(spec, columns.jsonValue()["fields"]),
                "delta.enableChangeDataFeed": "false" if spec.is_archive else "true",
                "delta.checkpointInterval": CHECKPOINT_INTERVAL,
                GENERATION: generation,
            },
            partition_by=parts(spec) or None,
            raise_if_key_not_exists=False,
            storage_options=door.options(path),
        )
    except DeltaError:
        if not door.is_table(path):
            raise
    else:
        write_first_checksum(path)


def refuse_other_parts(path: UPath, spec: Pipeline) -> None:
    """Raise TableChanged if the table is parted by other columns than the spec declares."""
    if not door.is_table(path):
        return
    own = {*parts(spec)} - {*spec.layout.partition_by}
    has = [n for n in door.open_table(path).metadata().partition_columns if n not in own]
    if has != [name for name in spec.layout.partition_by if name not in own]:
        raise TableChanged.parted_otherwise(
            place=path, has=has, wanted=[*spec.layout.partition_by], pipeline=spec.name
        )


_STATED: Final = frozenset(
    ("long", "integer", "short", "byte", "double", "float", "string", "date", "timestamp")
) | {"timestamp_ntz"}
"""Delta keeps the smallest and the largest value of columns with these types, and of decimals."""


def properties(spec: Pipeline, fields: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The spec's; and where fields of records tell of persons, that Delta's log has statistics of
    those columns alone that are known to carry none of them. `fields`: as refuse_unfit has them.
    """
    if not (personal := spec.inputs.personal):
        return spec.layout.properties
    origins, not_stated = origins_of(spec), {*parts(spec)}
    found = [
        f"`{name}`"
        for name, kind in ((each["name"], str(each["type"])) for each in fields)
        if name not in not_stated
        and (kind in _STATED or kind.startswith("decimal"))
        and (is_own(name) or name in origins)
        and not personal.intersection(of.column for of in origins.get(name, ()))
    ]
    stated = {STATISTICS: ",".join(found)} if found else {INDEXED: "0"}
    return spec.layout.properties | stated


@door.patiently
def set_properties(path: UPath, spec: Pipeline, held: Held | None) -> None:
    """Give the table the spec's properties that it lacks, in one commit. A warning
    where it has a feature with which only Spark writes: its rows go on.
    """
    table = door.confirmed(path, held, brief=True)
    has, fields = table.metadata().configuration, json.loads(table.schema().to_json())["fields"]
    if wanted := {n: v for n, v in properties(spec, fields).items() if has.get(n) != v}:
        try:
            door.set_properties(table, wanted)
        except CommitFailedError as error:
            if door.UNWRITABLE not in str(error):
                raise
            LOG.warning("%s cannot have %s: %s", path, ", ".join(sorted(wanted)), error)
            return
        LOG.warning("%s has new properties: %s", path, ", ".join(sorted(wanted)))


def add_columns(
    path: UPath, columns: StructType, newer: Collection[str], held: Held | None = None
) -> tuple[str, ...]:
    """Add the columns that the table lacks, in one commit, if they are `newer` ones, or
    were added before and a rewind took them back. Their names.

    A column that was lost in another way stays lost: its rows would look like rows from before.
    """
    table = confirmed(path, held)
    known = {field.name for field in table.schema().fields}
    missing = [field for field in columns if field.name not in known]
    if any(field.name not in newer for field in missing):
        once = _once_added(path)
        missing = [field for field in missing if field.name in newer or field.name in once]
    if missing:
        marked = [_marked(field, table.version() + 1) for field in missing]
        table.alter.add_columns(marked, commit_properties=here())
    return tuple(field.name for field in missing)


def _marked(field: StructField, version: int) -> deltalake.Field:
    made = {**field.jsonValue(), "nullable": True, "metadata": {MARK: str(version)}}
    return deltalake.Field.from_json(json.dumps(made))


def _once_added(path: UPath) -> set[str]:
    """The columns that the log, as far as it reaches, says were added."""
    log = Log.of(path)
    schemas = (
        json.loads(action["metaData"]["schemaString"])
        for number in log.commits
        for action in log.commit(number)
        if "metaData" in action
    )
    return {f["name"] for schema in schemas for f in schema["fields"] if MARK in f["metadata"]}
