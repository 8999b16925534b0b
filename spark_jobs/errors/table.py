"""The tables."""

from __future__ import annotations

from spark_jobs.errors.base import Quoted, SluiceError, reason


class TableChanged(SluiceError):
    """The table lacks a column that the query writes, or has it with another type, or other
    partitions; or somebody has written rows of a key into it.
    """

    code, exit_status = "TABLE_CHANGED", 33
    usual_remedy = "Put the column back, or start over from Kafka: `sluice reset`."

    @reason(
        "{place} cannot take column {name} {wanted}: {actual}.",
        "Restore the column (DESCRIBE HISTORY {sql} shows what changed it), or start again "
        "from Kafka: `sluice reset`.",
    )
    def column_unfit(
        self, place: object, name: object, wanted: object, actual: object, sql: object
    ) -> None: ...

    @reason(
        "{place} has the partition columns {has}, and the spec's layout has {wanted}. A table "
        "keeps those that it was made with.",
        "Put partition_by back. Or make the table anew: declare it in NEXT, `sluice rebuild "
        "{pipeline}`; or from Kafka, `sluice reset {pipeline}`.",
    )
    def parted_otherwise(
        self, place: object, has: object, wanted: object, pipeline: object
    ) -> None: ...

    @reason(
        "{table} has a folder of a date that delta-rs does not read: {error}. It reads the years 1 "
        "to 9999.",
        "Leave such rows out by a Transform, written as NEXT, and compute the table again: "
        "`sluice rebuild`.",
    )
    def part_unreadable(self, table: object, error: object) -> None: ...

    @reason(
        "The file {file} is torn, or none of Parquet's: {error}.",
        "Put it back from a backup; without one compute its rows again from Kafka: `sluice reset`.",
    )
    def file_torn(self, file: object, error: object) -> None: ...

    @reason(
        "Somebody has written rows of the key {key} into {table}: several at one place, or one "
        "without a place.",
        "Remove them (DELETE FROM {sql}), or take the change back: `sluice rewind`.",
    )
    def key_broken(self, table: object, key: Quoted, sql: object) -> None: ...


class TableReplaced(SluiceError):
    """The table was dropped, created again or restored since the checkpoint wrote to it."""

    code, exit_status = "TABLE_REPLACED", 36
    usual_remedy = (
        "Take a RESTORE back: `sluice doctor`. Put a dropped table back, or start over from Kafka: "
        "`sluice reset`."
    )

    @reason(
        "Version {version} of {table} is a RESTORE to {to}. {did}",
        "Take the RESTORE back: `sluice doctor {pipeline} --execute`. {keeping}",
    )
    def restored(
        self,
        version: object,
        table: object,
        to: object,
        did: object,
        pipeline: object,
        keeping: object,
    ) -> None: ...

    @reason(
        "The checkpoint wrote the table {path}. It is not there: somebody dropped it.",
        "Restore the table, {again}",
    )
    def dropped(self, path: object, again: object) -> None: ...

    @reason(
        "{path} is another table than the checkpoint wrote. That one was dropped, and this one "
        "created later.",
        "Restore the old table, {again}",
    )
    def created_anew(self, path: object, again: object) -> None: ...


class TableContended(SluiceError):
    """Another writer changed the table while a batch was written: OPTIMIZE, DELETE, ALTER TABLE."""

    code, exit_status, retry = "TABLE_CONTENDED", 49, True
    usual_remedy = "Nothing: the next run repeats the batch. Move such jobs out of the runs' hours."

    @reason(
        "Another writer changed {path} meanwhile: {why}.",
        "Run it again.",
    )
    def changed_meanwhile(self, path: object, why: object) -> None: ...

    @reason(
        "Another writer changed {path} meanwhile: {why}.",
        "Nothing: the next run or command completes what has begun.",
    )
    def restored_later(self, path: object, why: object) -> None: ...

    @reason(
        "Another writer changed {path} during the swap: {error}",
        "Nothing was written. Swap again.",
    )
    def swap_overtaken(self, path: object, error: object) -> None: ...

    @reason(
        "Another writer changed {path} while a batch was written to it: {conflict}: {error}",
        "The batch was not committed. The next run repeats it.",
    )
    def written_meanwhile(self, path: object, conflict: object, error: object) -> None: ...


class RowRefused(SluiceError):
    """The table has a constraint, CHECK or NOT NULL, which a row that the query writes breaks."""

    code, exit_status = "ROW_REFUSED", 56
    usual_remedy = "Drop or correct the constraint, or leave such rows out with a Transform."

    @reason(
        "{pipeline}: a row breaks the table's constraint {constraint}. Its columns there: "
        "{row}{hidden}. The batch is not committed, and each run meets the row again.",
        "Drop or correct the constraint (ALTER TABLE ... DROP CONSTRAINT). Or leave such rows "
        "out with a Transform.",
    )
    def constraint_broken(
        self, pipeline: object, constraint: object, row: Quoted, hidden: object
    ) -> None: ...


class MaintenanceRefused(SluiceError):
    """A command cannot compact, vacuum, restore or release the table: it has a feature that only
    Spark writes.
    """

    code, exit_status = "MAINTENANCE_REFUSED", 53
    usual_remedy = "Run OPTIMIZE and VACUUM on the table in Spark, or remove the feature."

    @reason(
        "{place} has {unknown}. Sluice restores and releases a table without Spark, which that "
        "needs.",
        "Remove it: ALTER TABLE {sql} DROP FEATURE {first}",
    )
    def feature_unwritable(
        self, place: object, unknown: object, sql: object, first: object
    ) -> None: ...

    @reason(
        "{path} cannot be compacted without Spark: {why}.",
        "Run OPTIMIZE {sql} and VACUUM {sql} in Spark, while no run works.",
    )
    def needs_spark(self, path: object, why: object, sql: object) -> None: ...


class PublishedTableRefused(SluiceError):
    """The published table, from which consumers read judged rows, cannot show the version that has
    passed.
    """

    code, exit_status = "PUBLISHED_TABLE_REFUSED", 54
    usual_remedy = "Do what the line says."

    @reason(
        "{table} uses {unknown}. A published table cannot have it.",
        "Remove the feature from the table.",
    )
    def feature_unpublishable(self, table: object, unknown: object) -> None: ...

    @reason(
        "Version {judged} passed the checks. {table} does not have it any more.",
        "Put the table back, or start again from Kafka: `sluice reset {pipeline}`.",
    )
    def judged_version_gone(self, table: object, judged: object, pipeline: object) -> None: ...

    @reason(
        "Sluice did not make the table {published}.",
        "Move it away.",
    )
    def foreign_table(self, published: object) -> None: ...

    @reason(
        "{wrong}. The published table needs it.",
        "Let a run judge a newer version. Or remove {published}: the next publish makes it again.",
    )
    def judged_file_gone(self, wrong: object, published: object) -> None: ...


class OpsUnreadable(SluiceError):
    """An ops table, which tells of the runs, is damaged."""

    code, exit_status = "OPS_UNREADABLE", 63
    usual_remedy = "Put the files that the line names back, from a backup."

    @reason(
        "The log of the ops table {path} cannot be read: {error}.",
        "Put {path}/_delta_log back from a backup. Tables and published rows are not touched.",
    )
    def log_broken(self, path: object, error: object) -> None: ...

    @reason(
        "A file of the ops table {path} cannot be read: {error}.",
        "Put it back from a backup. Tables and published rows are not touched.",
    )
    def file_broken(self, path: object, error: object) -> None: ...


class CatalogRefused(SluiceError):
    """The catalog that SLUICE_CATALOG names cannot be reached, or takes no entry."""

    code, exit_status = "CATALOG_REFUSED", 97
    usual_remedy = "Correct SLUICE_CATALOG, then `sluice catalog PIPELINE`."

    @reason(
        "{catalog} cannot be reached: {error}.",
        "Start the metastore, or correct SLUICE_CATALOG. Sluice speaks Thrift without Kerberos and "
        "TLS.",
    )
    def unreachable(self, catalog: object, error: object) -> None: ...

    @reason(
        "{catalog} refused an entry in database {database}: {error}.",
        "Make the database (CREATE DATABASE), or correct what the metastore names.",
    )
    def said_no(self, catalog: object, database: object, error: object) -> None: ...

    @reason(
        "{catalog} has a table {table}, which this root did not register.",
        "Drop or rename it, or name another database in SLUICE_CATALOG.",
    )
    def foreign_entry(self, catalog: object, table: object) -> None: ...
