"""Delta tables without a JVM: the one door to delta-rs, on a disk or in an object store; and the
features of tables with which writing by it was tried.

Some functions of delta-rs 1.6 keep the interpreter's lock until the store has answered: the lease's
renewal, the watch over the parent and every other request of a server wait too. `is_table` and
`log_entries.py` do without them. What has no other way is given BRIEFLY.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

import deltalake
from deltalake import TableFeatures
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from spark_jobs.errors import TableChanged
from spark_jobs.storage.root.path_forms import delta_path
from spark_jobs.storage.root.store import Store, is_s3
from spark_jobs.table.delta import rewrite
from spark_jobs.table.delta.delta_log import LogFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    import pyarrow.compute as pc
    from upath import UPath

    from spark_jobs.storage.lease_view import Held

ENTRY: Final = re.compile(r"\d{20}\.(?:json|checkpoint\..+)")
"""A commit or a checkpoint: a log with one of them is a table's."""
FENCE: Final = "sluice.fence"
"""The property of a table that has the number of the lease whose holder fenced it."""
UNWRITABLE: Final = "Unsupported table features"
"""In the text of delta-rs."""
BRIEFLY: Final = {"timeout": "5s", "max_retries": "1", "retry_timeout": "10s"}
"""Some 12 seconds for a request with its retry: a lease that lasts a minute survives that."""


def open_table(path: UPath | str, version: int | None = None) -> deltalake.DeltaTable:
    """The table at this version; without one, at its newest."""
    return rewrite.Table(delta_path(path), version, storage_options=options(path))


def dataset(table: deltalake.DeltaTable, where: str | None = None) -> Any:
    """The table's files, for pyarrow; with a condition those that may have such rows. Raises
    TableChanged for a part that Python has no date for: Spark writes years beyond 9999.

    pyarrow would leave out each file whose statistics contradict a filter, and delta-rs gives it
    bounds that are null: where a column was not indexed when the file was written, and is by now,
    and for years that it cannot read. So of each file it gets what is certain: the part.
    """
    from pyarrow.dataset import FileSystemDataset, ParquetReadOptions  # noqa: PLC0415 - a plan reads no table

    # Spark's timestamps may be of Parquet's oldest kind, and of years far from ours: as nanoseconds
    # they would become others.
    old = ParquetReadOptions(coerce_int96_timestamp_unit="us")
    parts = table.metadata().partition_columns
    try:
        found = table.to_pyarrow_dataset(parquet_read_options=old, file_pruning_predicate=where)
        files = [
            found.format.make_fragment(
                file.path, found.filesystem, _of_part(file, parts, found.schema)
            )
            for file in found.get_fragments()
        ]
    except ValueError as error:
        raise TableChanged.part_unreadable(table=table.table_uri, error=error) from None
    return FileSystemDataset(files, found.schema, found.format, found.filesystem)


def _of_part(file: Any, parts: Sequence[str], schema: pa.Schema) -> pc.Expression | None:
    """What the file's part has in these columns."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above
    from pyarrow.dataset import get_partition_keys  # noqa: PLC0415 - as above

    known = get_partition_keys(file.partition_expression) if parts else {}
    certain = [
        pc.is_null(pc.field(name))
        if (value := known.get(name)) is None
        else pc.field(name) == pa.scalar(value, schema.field(name).type)
        for name in parts
    ]
    return reduce(and_, certain) if certain else None


patiently = retry(
    retry=retry_if_exception_type(CommitFailedError),
    wait=wait_random_exponential(multiplier=0.1, max=5),
    stop=stop_after_attempt(10),
    reraise=True,
)
"""Repeats a function whose commit another one has overtaken: it opens the table anew."""


def confirmed(path: UPath | str, held: Held | None, *, brief: bool = False) -> deltalake.DeltaTable:
    """The table, for one commit by who holds the lease: read first, then the lease is looked at. So
    what a later holder commits is behind what was read, and `here` or `ours` is refused behind it,
    however long who asked has slept. Without a lease as `open_table`. Raises LeaseLost.
    """
    table = briefly(path) if brief else open_table(path)
    if held is not None:
        held.confirm()
    return table


def here(said: dict[str, Any] | None = None, by: str | None = None) -> deltalake.CommitProperties:
    """Of a commit to the very version that was read: it raises CommitFailedError behind any other.
    `said` becomes its userMetadata, as JSON, and `by` its transaction id.
    """
    return deltalake.CommitProperties(
        custom_metadata=None if said is None else {"userMetadata": json.dumps(said)},
        max_commit_retries=0,
        app_transactions=[deltalake.Transaction(by, 0)] if by else None,
    )


def ours(held: Held | None) -> deltalake.CommitProperties | None:
    """Of a commit to a table that pipelines share: it raises CommitFailedError behind one that was
    made under the same lease since the table was read.
    """
    if held is None:
        return None
    return deltalake.CommitProperties(app_transactions=[deltalake.Transaction(str(held.path), 0)])


@patiently
def fence(path: UPath, held: Held) -> None:
    """Commit without a change: what others would commit to the version before is refused. Where
    the table has a feature that delta-rs does not write, theirs is refused as this one is.
    """
    if not is_table(path):
        return
    try:
        set_property(confirmed(path, held, brief=True), FENCE, str(held.fence))
    except CommitFailedError as error:
        if UNWRITABLE not in str(error):
            raise


def is_table(path: UPath | str) -> bool:
    """Whether there is a Delta table at this path."""
    return any(ENTRY.fullmatch(name) for name in LogFiles(path).names())


def restore(table: deltalake.DeltaTable, version: int, said: dict[str, Any]) -> None:
    """Give the table the rows of an earlier version, in one commit that says this of itself.

    Raises CommitFailedError if anybody has committed since the table was opened.
    """
    table.restore(version, commit_properties=here(said))


def set_property(
    table: deltalake.DeltaTable, name: str, value: str, said: dict[str, Any] | None = None
) -> None:
    """Set one of the table's properties, as `set_properties`; the commit may say something."""
    set_properties(table, {name: value}, said)


def set_properties(
    table: deltalake.DeltaTable, given: dict[str, str], said: dict[str, Any] | None = None
) -> None:
    """Set these of the table's properties, in one commit, that may say something of itself.

    Raises CommitFailedError if anybody has committed since the table was opened.
    """
    table.alter.set_table_properties(given, raise_if_not_exists=False, commit_properties=here(said))


def change_feed(path: UPath | str, since: int, version: int) -> Any:  # the reader has no types
    """The change feed of the versions after `since`, up to `version`. None where a file has INT96
    times, of which delta-rs' feed makes others: Spark reads these.
    """
    table = briefly(path)
    if rewrite.feeds_inexact(table, range(since + 1, version + 1)):
        return None
    return table.load_cdf(starting_version=since + 1, ending_version=version)


def briefly(path: UPath | str) -> deltalake.DeltaTable:
    """The table, for functions that keep the interpreter's lock: a request is given up early."""
    wanted = options(path)
    return rewrite.Table(delta_path(path), storage_options=wanted and wanted | BRIEFLY)


def options(path: UPath | str) -> dict[str, str] | None:
    """What delta-rs must be told of the object store that the table is on; None for a disk."""
    return Store.from_environment().delta_options(str(path)) if is_s3(str(path)) else None


def has_version(path: UPath | str, version: int) -> bool:
    """Whether the table's log still has this version."""
    try:
        table = open_table(path)
        table.load_as_version(version)
    except (DeltaError, TableNotFoundError):
        return False
    return True


def version_is_whole(path: UPath, version: int) -> bool:
    """Whether the version can be read: its log entries and all its files are there."""
    if version == (table := open_table(path)).version():
        return True
    if not has_version(path, version):
        return False
    table.load_as_version(version)
    present = files_there(path, table)
    return all(uri.rpartition("/")[2] in present for uri in table.file_uris())


def files_there(path: UPath, table: deltalake.DeltaTable) -> set[str]:
    """The names of the files in the table's folders, whichever version needs them."""
    parts = table.metadata().partition_columns  # each has a folder in that of the one before
    folders = path.glob("/".join("*=*" for _ in parts)) if parts else (path,)
    return {file.name for folder in folders for file in folder.iterdir()}


DELETION_VECTORS: Final = "deletionVectors"
INVARIANTS: Final = "invariants"
MAPPING: Final = "delta.columnMapping.mode"
TRIED: Final = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        INVARIANTS,
        "timestampNtz",
        "vacuumProtocolCheck",
    }
)
"""Column mapping: only while it maps nothing."""


def untried(table: deltalake.DeltaTable, tried: Collection[str] = ()) -> list[str]:
    """What the table has beside these and TRIED, in words; empty if nothing stands in the way."""
    protocol = table.protocol()
    has = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    mapping = table.metadata().configuration.get(MAPPING, "none")
    maps = [] if mapping == "none" else [f"{MAPPING} = {mapping}"]
    return sorted(has - TRIED - {*tried}) + maps


def unwritable(table: deltalake.DeltaTable) -> list[str]:
    """What keeps delta-rs from replacing rows of the table, in words; empty if nothing does."""
    return untried(table, {DELETION_VECTORS})


def name_invariants(path: UPath) -> int:
    """Let a protocol that names features name the one for NOT NULL columns. The version.

    For a timestamp_ntz delta-rs 1.6 writes such a protocol without it, and Spark refuses the table.
    """
    table = briefly(path)
    named = table.protocol().writer_features
    if named and INVARIANTS not in named and '"nullable":false' in table.schema().to_json():
        table.alter.add_feature([TableFeatures.Invariants])
        table = open_table(path)
    return table.version()
