"""Table: creates the pipeline's Delta table, ties it to one generation, and verifies its id and its
columns.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import deltalake
from deltalake.exceptions import DeltaError

from spark_jobs import failpoint
from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken
from spark_jobs.errors import CheckpointForeign, TableChanged, TableReplaced
from spark_jobs.registry.archive_spec import ADDED_TO_ARCHIVES
from spark_jobs.root.path_forms import delta_path, from_uri, sql_table
from spark_jobs.sink.table_layout import parts, refuse_unfit, set_properties
from spark_jobs.spec import Pipeline
from spark_jobs.table.delta import door
from spark_jobs.table.delta.added_columns import add_columns
from spark_jobs.table.delta.features import name_invariants
from spark_jobs.table.delta.first_checksum import write_first_checksum
from spark_jobs.table.history import GENERATION
from spark_jobs.values.own_columns import YOUNGER

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql.types import StructType
    from upath import UPath

    from spark_jobs.storage.lease_view import Held

LOG = logging.getLogger(__name__)
RELEASED = "none"
"""The generation of an archive whose topic was made anew: the next one adds its records."""
CHECKPOINT_INTERVAL = "100"
"""Commits between two checkpoints of the table's log.

A checkpoint takes seconds; reading 100 small commits takes less.
"""


def refuse_replaced(path: UPath, pipeline: str, known_id: str) -> None:
    """Raise TableReplaced if this is not the table that the checkpoint wrote. `known_id` is Delta's
    id of that one, empty before the first run.
    """
    if not known_id:
        return
    again = f"or start again from Kafka: `sluice reset {pipeline}`."
    if not door.is_table(path):
        raise TableReplaced.dropped(path=path, again=again)
    if identifier(path) != known_id:
        raise TableReplaced.created_anew(path=path, again=again)


def _pipeline(owner: str) -> str:
    """The pipeline of an owner (pipeline/generation): an archive's table has another name."""
    return owner.partition("/")[0]


def refuse_ahead(path: UPath, owner: str, checkpoint: Checkpoint) -> None:
    """Raise CheckpointBroken if the table has a batch that is not in the checkpoint.

    Spark would plan that batch again with other offsets, and the sink would skip its rows as
    already written.
    """
    done = newest_batch(path, owner)
    newest = max(checkpoint.planned(), default=-1)
    if done > newest:
        raise checkpoint_broken(
            f"{path} has batch {done}, and {checkpoint.folder / 'offsets'} ends at {newest}",
            _pipeline(owner),
        )


def newest_batch(path: UPath, owner: str) -> int:
    """The newest batch of this owner (pipeline/generation) in the table, by its transaction id; -1
    without one.
    """
    if not door.is_table(path):
        return -1
    done = door.open_table(path).transaction_version(owner)
    return -1 if done is None else int(done)


def _created(path: UPath, columns: StructType, spec: Pipeline, generation: str) -> bool:
    """Whether this call made the table: not if who holds the lease by now has."""
    try:
        # The change feed shows the rows that a run wrote. For appended rows it needs the log only.
        # An archive has no checks of rows, and removes old ones: the feed would keep those.
        deltalake.DeltaTable.create(
            delta_path(path),
            deltalake.Schema.from_json(columns.json()),
            name=spec.name,
            description=spec.about,
            configuration={
                **spec.layout.properties,
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
        return False
    return True


def ensure(
    path: UPath,
    columns: StructType,
    spec: Pipeline,
    generation: str,
    newer: Collection[str] = (),
    held: Held | None = None,
) -> int:
    """Create the table for this generation if it does not exist, else verify it. An archive that
    was released becomes this generation's. `newer` are fields that the spec has since the newest
    batch: their columns are added. `held` is the lease that protects it.

    Returns its version.

    Raises CheckpointForeign if another generation wrote it: a new checkpoint on the same table
    would write every row twice. Raises TableChanged if a column that the query writes is missing or
    has another type, SpecInvalid for a layout that does not fit the columns.
    """
    refuse_unfit(json.loads(columns.json())["fields"], spec)
    if not door.is_table(path) and _created(path, columns, spec, generation):
        write_first_checksum(path)
        return name_invariants(path)
    table = door.open_table(path)
    found = table.metadata().configuration.get(GENERATION)
    if spec.is_archive and found == RELEASED:
        _belong(path, generation, held)
        found, table = generation, door.open_table(path)
    if found != generation:
        raise CheckpointForeign.written_by_other_generation(
            path=path,
            found=found,
            pipeline=spec.name,
            generation=generation,
        )
    newer = ADDED_TO_ARCHIVES if spec.is_archive else YOUNGER.union(newer)
    if added := add_columns(path, columns, newer, held):
        LOG.warning("%s has new columns, null in older rows: %s", path, ", ".join(added))
        failpoint.at("columns.added")
        table = door.open_table(path)
    refuse_changed(table, columns)
    set_properties(path, spec, held)
    return name_invariants(path)


def release(path: UPath, held: Held) -> None:
    """Let the next generation write an archive's table: its topic was made anew."""
    if door.is_table(path):
        _belong(path, RELEASED, held)


def released(path: UPath) -> bool:
    """Whether the next generation may write the table at this path."""
    return generation(path) == RELEASED


def generation(path: UPath) -> str | None:
    """The generation that writes the table at this path; None without a table."""
    if not door.is_table(path):
        return None
    found: str | None = door.open_table(path).metadata().configuration.get(GENERATION)
    return found


@door.patiently
def _belong(path: UPath, generation: str, held: Held | None) -> None:
    door.set_property(door.confirmed(path, held, brief=True), GENERATION, generation)


def refuse_changed(
    table: deltalake.DeltaTable, columns: StructType, newer: Collection[str] = ()
) -> None:
    """Raise TableChanged unless the table has each of these columns with its type.

    Further columns of the table stay null. It may lack those of the `newer` fields: a run adds
    them.

    Sluice's append does not use Delta's schema enforcement: a column that the table lacks would be
    in the files and in no read.
    """
    types = {
        field["name"]: field["type"] for field in json.loads(table.schema().to_json())["fields"]
    }
    for field in columns.jsonValue()["fields"]:
        name, wanted = field["name"], field["type"]
        if types.get(name) != wanted and not (name in newer and name not in types):
            actual = (
                f"the table has it as {types[name]}"
                if name in types
                else f"the table has only {', '.join(types)}"
            )
            place = from_uri(table.table_uri)
            raise TableChanged.column_unfit(
                place=place,
                name=name,
                wanted=wanted,
                actual=actual,
                sql=sql_table(place),
            )


def identifier(path: UPath) -> str:
    """Delta's id of the table."""
    return str(door.open_table(path).metadata().id)


def version(path: UPath) -> int:
    """The table's newest version."""
    return door.open_table(path).version()
