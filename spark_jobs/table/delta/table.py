"""Table: a table in Delta, as port.py has it."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

import deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs.errors import MaintenanceRefused, TableContended
from spark_jobs.registry.archive_spec import ADDED_TO_ARCHIVES, RELEASED
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.path_forms import spark_url, sql_table
from spark_jobs.table import history
from spark_jobs.table.delta import compaction, door, rewrite
from spark_jobs.table.delta.answer import answer, reader_of
from spark_jobs.table.delta.care_steps import in_words, steps
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.door import name_invariants, untried, unwritable
from spark_jobs.table.delta.log_entries import GENERATION, told
from spark_jobs.table.delta.table_layout import (
    add_columns,
    make,
    refuse_other_parts,
    refuse_unfit,
    set_properties,
)
from spark_jobs.table.entry import Changes, Entry, OfBatch
from spark_jobs.table.port import Ability, Needed, Step, Table
from spark_jobs.values.own_columns import YOUNGER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.table.entry import Commit
    from spark_jobs.table.open_version import Opened, OpenedBySpark
    from spark_jobs.values.spans import Position, Span

LOG = logging.getLogger(__name__)


class Delta(Table):
    """See Table."""

    can = frozenset(get_args(Ability))

    def __init__(self, path: UPath) -> None:
        self.path = path

    def exists(self) -> bool:
        return door.is_table(self.path)

    def version(self) -> int:
        return door.open_table(self.path).version() if self.exists() else -1

    def identifier(self) -> str:
        return str(door.open_table(self.path).metadata().id)

    def generation(self) -> str | None:
        if not self.exists():
            return None
        found: str | None = door.open_table(self.path).metadata().configuration.get(GENERATION)
        return found

    def holds_rows(self) -> bool:
        return self.exists() and door.open_table(self.path).count() > 0

    def newest_batch(self, owner: str) -> int:
        """See Table. It is a transaction's version."""
        done = door.open_table(self.path).transaction_version(owner) if self.exists() else None
        return -1 if done is None else int(done)

    def history(self) -> Iterator[Entry]:
        return told(self.path)

    def ensure(
        self,
        columns: StructType,
        spec: Pipeline,
        generation: str,
        newer: Collection[str] = (),
        held: Held | None = None,
    ) -> int:
        """See Table. An archive that was released becomes this generation's."""
        refuse_unfit(columns.jsonValue()["fields"], spec)
        if not self.exists():
            self.make(columns, spec, generation)
        elif spec.is_archive and self.generation() == RELEASED:
            door.patiently(
                lambda: door.set_property(
                    door.confirmed(self.path, held, brief=True), GENERATION, generation
                )
            )()
        self.refuse_foreign(generation, spec.name)
        newer = ADDED_TO_ARCHIVES if spec.is_archive else YOUNGER.union(newer)
        if added := add_columns(self.path, columns, newer, held):
            LOG.warning("%s has new columns, null in older rows: %s", self.path, ", ".join(added))
            failpoint.at("columns.added")
        self.refuse_changed(columns)
        set_properties(self.path, spec, held)
        return name_invariants(self.path)

    def make(self, columns: StructType, spec: Pipeline, generation: str) -> None:
        make(self.path, columns, spec, generation)

    def columns(self) -> dict[str, Any]:
        """See Table. Sluice's append does not use Delta's schema enforcement: a column that the
        table lacks would be in the files and in no read.
        """
        schema = json.loads(door.open_table(self.path).schema().to_json())
        return {field["name"]: field["type"] for field in schema["fields"]}

    def refuse_layout(self, spec: Pipeline, columns: StructType | None = None) -> None:
        if columns is not None:
            refuse_unfit(columns.jsonValue()["fields"], spec)
        refuse_other_parts(self.path, spec)

    def commit(self, rows: DataFrame, spec: Pipeline, of: OfBatch, held: Held) -> None:
        from spark_jobs.table.delta.strategy import commit_batch  # noqa: PLC0415 - a plan needs no Spark

        commit_batch(self.path, rows, spec, of, held)

    def read(self, spark: SparkSession, version: int) -> DataFrame:
        stored = spark.read.format("delta").option("versionAsOf", version)
        return stored.load(spark_url(self.path))

    def written(self, spark: SparkSession, spec: Pipeline, since: int, version: int) -> DataFrame:
        from spark_jobs.table.delta.written_rows import written_rows  # noqa: PLC0415 - as above

        return written_rows(spark, self, spec, since, version)

    def within(
        self, spark: SparkSession, version: int, position: Position, spans: Sequence[Span]
    ) -> DataFrame:
        from spark_jobs.table.delta.few_rows import few_rows  # noqa: PLC0415 - as above

        rows = few_rows(spark, self.path, version, position, spans)
        return super().within(spark, version, position, spans) if rows is None else rows

    def sum_of(self, version: int, column: str) -> int | None:
        from spark_jobs.table.delta.added import sum_of  # noqa: PLC0415 - as above

        return sum_of(self.path, version, column)

    def added(self, version: int) -> pa.Table | None:
        from spark_jobs.table.delta.added import added  # noqa: PLC0415 - as above

        return added(self.path, version)

    def query(
        self,
        sql: str,
        name: str = "t",
        beside: Mapping[str, Table] = MappingProxyType({}),
        version: int | None = None,
    ) -> pa.Table:
        others = {each: door.open_table(table.path) for each, table in beside.items()}
        return answer(sql, {name: self._at(version), **others})

    def _at(self, version: int | None) -> deltalake.DeltaTable:
        return door.open_table(self.path, version)

    def is_whole(self, version: int) -> bool:
        return door.version_is_whole(self.path, version)

    def whole(self, versions: Collection[int]) -> frozenset[int]:
        """See Table: by one look at the folder, and one at each commit."""
        from spark_jobs.table.delta.whole import whole  # noqa: PLC0415 - no drain needs it

        return whole(self.path, versions)

    def has_version(self, version: int) -> bool:
        return door.has_version(self.path, version)

    def faults(self) -> tuple[str, ...]:
        """See Table: plain Spark writes times that others misread."""
        if not self.exists() or not (old := rewrite.inexact(door.open_table(self.path))):
            return ()
        return (f"{len(old):,} files of {self.path} have INT96 times, which others misread",)

    def care(self, spec: Pipeline, needed: Callable[[], Needed]) -> list[Step]:
        """See Table. VACUUM might remove files of a feature that was not tried, such as deletion
        vectors: such a table is refused.
        """
        return steps(self.path, spec, needed)

    def takes_removals(self) -> bool:
        """See Table: without a feature with which this was not tried."""
        return not untried(door.open_table(self.path))

    def remove(self, where: str, held: Held, said: Mapping[str, Any] | None = None) -> None:
        """See Table. What it writes anew is compressed for long, as an archive's files are."""
        table = door.confirmed(self.path, held)
        with in_words(self.path):
            table.delete(
                where,
                writer_properties=compaction.ZSTD,
                commit_properties=door.here(dict(said) if said else None),
            )

    def open(self, version: int | None = None) -> Opened:
        from spark_jobs.table.delta.opened import DeltaOpened  # noqa: PLC0415 - few runs need it

        return DeltaOpened(self.path, version)

    def at_newest(self, work: Callable[[Opened], None]) -> None:
        from spark_jobs.table.delta.opened import at_newest  # noqa: PLC0415 - as above

        at_newest(self.path, work)

    def at_newest_by_spark(
        self, spark: SparkSession, commit: Commit, work: Callable[[OpenedBySpark], None]
    ) -> None:
        from spark_jobs.table.delta.replacing import at_newest  # noqa: PLC0415 - as above

        at_newest(spark, commit, work)

    def changes(self, since: int) -> Changes | None:
        from spark_jobs.table.delta.changes import changes  # noqa: PLC0415 - as above

        log = Log.of(self.path)
        told = log.newest
        while told > since and told in log.commits:
            told -= 1
        return Changes(told, [*changes(log, told, log.newest)]) if told >= since else None

    def feed(self, version: int) -> pa.RecordBatchReader | None:
        given = door.change_feed(self.path, version - 1, version)
        return None if given is None else reader_of(given)

    def remove_by_spark(self, spark: SparkSession, where: str, said: Mapping[str, Any]) -> bool:
        from spark_jobs.table.delta.commit import remove  # noqa: PLC0415 - few tables need it

        return remove(spark, spark_url(self.path), where, said)

    def untried(self, *, merged: bool = False) -> Sequence[str]:
        table = door.open_table(self.path)
        return door.untried(table) if merged else door.unwritable(table)

    def refuse_unrestorable(self, for_what: str) -> None:  # noqa: ARG002 - the port has it
        """See Table: for want of a feature that delta-rs writes."""
        if unknown := unwritable(door.open_table(self.path)):
            raise MaintenanceRefused.feature_unwritable(
                place=self.path, unknown=", ".join(unknown), sql=sql_table(self.path),
                first=unknown[0],
            )  # fmt: skip

    def restores(self, version: int) -> bool:
        return not unwritable(door.open_table(self.path)) and self.is_whole(version)

    def restore(self, version: int, change: str, held: Held) -> None:
        opened = door.confirmed(self.path, held, brief=True)
        if history.change_version(self, change, version) is not None:
            return
        self.refuse_unrestorable("a rewind")
        with _beside_others(self.path):
            if opened.version() == version:
                door.set_property(opened, door.FENCE, str(held.fence))
                return
            try:
                door.restore(opened, version, {history.CHANGE: change})
            except DeltaError:
                if self.is_whole(version):
                    raise
                raise LookupError(version) from None

    def belong(self, generation: str, held: Held, change: str = "") -> None:
        opened = door.confirmed(self.path, held, brief=True)
        if self.generation() != generation:
            self.refuse_unrestorable("a rewind")
            said = {history.MARK: change} if change else None
            with _beside_others(self.path):
                door.set_property(opened, GENERATION, generation, said)

    def fence(self, held: Held) -> None:
        """See Table. If delta-rs cannot write the table, what others commit is refused too."""
        door.fence(self.path, held)


@contextmanager
def _beside_others(path: UPath) -> Iterator[None]:
    """Within the block a person may write to the table: who takes the lease next completes the
    change.
    """
    try:
        yield
    except CommitFailedError as error:
        why = str(error).splitlines()[0].rstrip(". ")
        raise TableContended.restored_later(path=path, why=why) from None
