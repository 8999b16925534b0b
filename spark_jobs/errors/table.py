"""The tables."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class TableChanged(SluiceError):
    """The table lacks a column that the query writes, or has it with another type, or other
    partitions; or somebody has written rows of a key into it, or changed a file.
    """

    code, exit_status = "TABLE_CHANGED", 33
    usual_remedy = "Put the column back, or start over from Kafka: `sluice reset`."

    column_unfit = reason(
        "{place} cannot take column {name} {wanted}: {actual}.",
        "Restore the column (DESCRIBE HISTORY {sql} shows what changed it), or start again "
        "from Kafka: `sluice reset`.",
    )
    parted_otherwise = reason(
        "{place} has the partition columns {has}, and the spec's layout has {wanted}. A table "
        "keeps those that it was made with.",
        "Put partition_by back. Or make the table anew: declare it in NEXT, `sluice rebuild "
        "{pipeline}`; or from Kafka, `sluice reset {pipeline}`.",
    )
    part_unreadable = reason(
        "{table} has a folder of a date that delta-rs does not read: {error}. It reads the years 1 "
        "to 9999.",
        "Leave such rows out by a Transform, written as NEXT, and compute the table again: "
        "`sluice rebuild`.",
    )
    file_torn = reason(
        "The file {file} is torn, or none of Parquet's: {error}.",
        "Put it back from a backup; without one compute its rows again from Kafka: `sluice reset`.",
    )
    file_resized = reason(
        "The file {file} has {has:,} bytes, and the log of {table} says {size:,}: another file was "
        "put in its place.",
        "Put it back from a backup; without one compute its rows again from Kafka: `sluice reset`.",
    )
    file_gone = reason(
        "The file {file} is gone, and version {version} of {table} has rows in it.",
        "Put it back from a backup. Without one, if that is the newest version, compute its rows "
        "again from Kafka: `sluice reset`.",
    )
    key_broken = reason(
        "Somebody has written rows of the key {key} into {table}: several at one place, or one "
        "without a place.",
        "Remove them (DELETE FROM {sql}), or take the change back: `sluice rewind`.",
        quoted=("key",),
    )


class TableReplaced(SluiceError):
    """The table was dropped, created again or restored since the checkpoint wrote to it."""

    code, exit_status = "TABLE_REPLACED", 36
    usual_remedy = (
        "Take a RESTORE back: `sluice doctor`. Put a dropped table back, or start over from Kafka: "
        "`sluice reset`."
    )

    restored = reason(
        "Version {version} of {table} is a RESTORE to {to}. {did}",
        "Take the RESTORE back: `sluice doctor {pipeline} --execute`. {keeping}",
    )
    dropped = reason(
        "The checkpoint wrote the table {path}. It is not there: somebody dropped it.",
        "Restore the table, {again}",
    )
    created_anew = reason(
        "{path} is another table than the checkpoint wrote. That one was dropped, and this one "
        "created later.",
        "Restore the old table, {again}",
    )


class TableContended(SluiceError):
    """Another writer changed the table while a batch was written: OPTIMIZE, DELETE, ALTER TABLE."""

    code, exit_status, retry = "TABLE_CONTENDED", 49, True
    usual_remedy = "Nothing: the next run repeats the batch. Move such jobs out of the runs' hours."

    changed_meanwhile = reason("Another writer changed {path} meanwhile: {why}.", "Run it again.")
    restored_later = reason(
        "Another writer changed {path} meanwhile: {why}.",
        "Nothing: the next run or command completes what has begun.",
    )
    swap_overtaken = reason(
        "Another writer changed {path} during the swap: {error}", "Nothing was written. Swap again."
    )
    written_meanwhile = reason(
        "Another writer changed {path} while a batch was written to it: {conflict}: {error}",
        "The batch was not committed. The next run repeats it.",
    )


class TableLacks(SluiceError):
    """The table's format cannot do what was asked."""

    code, exit_status = "TABLE_LACKS", 98
    usual_remedy = "Keep the table in Delta."

    ability = reason(
        "{what} needs a table that can {cannot}. {table} is kept by {kind}, which cannot.",
        "Do without it. Or keep the table in Delta: a Layout of Sluice's own, and `sluice reset`.",
    )


class RowRefused(SluiceError):
    """The table has a constraint, CHECK or NOT NULL, which a row that the query writes breaks."""

    code, exit_status = "ROW_REFUSED", 56
    usual_remedy = "Drop or correct the constraint, or leave such rows out with a Transform."

    constraint_broken = reason(
        "{pipeline}: a row breaks the table's constraint {constraint}. Its columns there: "
        "{row}{hidden}. The batch is not committed, and each run meets the row again.",
        "Drop or correct the constraint (ALTER TABLE ... DROP CONSTRAINT). Or leave such rows "
        "out with a Transform.",
        quoted=("row",),
    )


class SideGone(SluiceError):
    """A table beside the stream lacks the version that a batch or a repair reads."""

    code, exit_status = "SIDE_GONE", 64
    usual_remedy = "Put that version back."

    of_batch = reason(
        "Batch {batch} of {pipeline} reads version {version} of {side}. It is there no more: the "
        "table was made anew, or its old files were removed. With another version the batch would "
        "have other rows than when it ran.",
        "Put that version back. Or go back behind a batch before: `sluice rewind {pipeline}`.",
    )
    unnoted = reason(
        "{folder} has no version of {side} for batch {batch} of {pipeline}. Nobody knows which "
        "rows the batch has read.",
        "Restore the notes in it. Or go back behind a batch before: `sluice rewind {pipeline}`.",
    )
    no_run = reason(
        "No run of {pipeline} has noted a version of {side} yet. A repair reads the one that the "
        "newest run has noted.",
        "Run {pipeline}, then plan the repair again.",
    )
    of_repair = reason(
        "Repair {repair} of {pipeline} reads version {version} of {side}, as the newest run has "
        "noted. It is there no more: the table was made anew, or its old files were removed.",
        "Run {pipeline}: it notes the newest version, and what that has otherwise. Then plan the "
        "repair again.",
    )


class MaintenanceRefused(SluiceError):
    """A command cannot compact, vacuum, restore or release the table: it has a feature that only
    Spark writes.
    """

    code, exit_status = "MAINTENANCE_REFUSED", 53
    usual_remedy = "Run OPTIMIZE and VACUUM on the table in Spark, or remove the feature."

    feature_unwritable = reason(
        "{place} has {unknown}. Sluice restores and releases a table without Spark, which that "
        "needs.",
        "Remove it: ALTER TABLE {sql} DROP FEATURE {first}",
    )
    needs_spark = reason(
        "{path} cannot be compacted without Spark: {why}.",
        "Run OPTIMIZE {sql} and VACUUM {sql} in Spark, while no run works.",
    )


class PublishedTableRefused(SluiceError):
    """The published table, from which consumers read judged rows, cannot show the version that has
    passed.
    """

    code, exit_status = "PUBLISHED_TABLE_REFUSED", 54
    usual_remedy = "Do what the line says."

    feature_unpublishable = reason(
        "{table} uses {unknown}. A published table cannot have it.",
        "Remove the feature from the table.",
    )
    judged_version_gone = reason(
        "Version {judged} passed the checks. {table} does not have it any more.",
        "Put the table back, or start again from Kafka: `sluice reset {pipeline}`.",
    )
    foreign_table = reason("Sluice did not make the table {published}.", "Move it away.")
    judged_file_gone = reason(
        "{wrong}. The published table needs it.",
        "Let a run judge a newer version. Or remove {published}: the next publish makes it again.",
    )


class OpsUnreadable(SluiceError):
    """An ops table, which tells of the runs, is damaged."""

    code, exit_status = "OPS_UNREADABLE", 63
    usual_remedy = "Put the files that the line names back, from a backup."

    log_broken = reason(
        "The log of the ops table {path} cannot be read: {error}.",
        "Put {log} back from a backup. Tables and published rows are not touched.",
    )
    file_broken = reason(
        "A file of the ops table {path} cannot be read: {error}.",
        "Put it back from a backup. Tables and published rows are not touched.",
    )


class CatalogRefused(SluiceError):
    """The catalog that SLUICE_CATALOG names cannot be reached, or takes no entry."""

    code, exit_status = "CATALOG_REFUSED", 97
    usual_remedy = "Correct SLUICE_CATALOG, then `sluice catalog PIPELINE`."

    unreachable = reason(
        "{catalog} cannot be reached: {error}.",
        "Start the metastore, or correct SLUICE_CATALOG. Sluice speaks Thrift without Kerberos and "
        "TLS.",
    )
    said_no = reason(
        "{catalog} refused an entry in database {database}: {error}.",
        "Make the database (CREATE DATABASE), or correct what the metastore names.",
    )
    foreign_entry = reason(
        "{catalog} has a table {table}, which this root did not register.",
        "Drop or rename it, or name another database in SLUICE_CATALOG.",
    )


class QuestionRefused(SluiceError):
    """`sluice bisect`, `sluice tune` or `sluice where` has no answer."""

    code, exit_status = "QUESTION_REFUSED", 69
    usual_remedy = "Ask otherwise: `--help` has examples."

    no_table = reason(
        "The table {table} has not been made yet.", "Drain first: `sluice drain {pipeline}`."
    )
    no_sample = reason(
        "{source} gives no single records: nobody can tell what became of one.",
        "Give the source a method `sampled`, as spark_jobs/source/port.py has it.",
    )
    condition_fails = reason(
        "The condition cannot be asked of version {version}: {error}.",
        "Write one that is true of what is wrong, as DataFusion reads it: quote a column with "
        "capitals.",
        quoted=("error",),
    )
    not_wrong = reason(
        "The condition is not true in version {version}. It says what is wrong, and there nothing "
        "is.",
        "Turn the condition round, or name a version in which it is true: `--wrong VERSION`.",
    )
    always_wrong = reason(
        "Wrong since before version {version}: the condition is true in each of the {asked} "
        "versions that were asked.",
        "Name an older --right, or none: then the oldest version that is kept is asked.",
    )
    no_version = reason(
        "Version {version} cannot be read: {why}.",
        "Name another: {first} to {last} can be, but those that VACUUM has taken.",
    )
    no_delay = reason(
        "{pipeline} has no watermark delay: no record of it is late.", "Nothing is to be chosen."
    )
    no_batches = reason(
        "No account of {pipeline} is kept that has both records and a watermark.",
        "Drain first, or ask for more days.",
    )
    clock_of_another = reason(
        "{pipeline}: no event time tells which records its first step with state drops as late, "
        "or it has no such step. What another delay costs cannot be computed from what is kept.",
        "Try the delay beside the live pipeline: `sluice rebuild`.",
    )
