"""Every way in which Sluice refuses or fails: one class, one code, one exit status, one remedy
each.

docs/reference.md lists them: `make reference` writes it from here.
"""

from __future__ import annotations

import os
import traceback
from typing import ClassVar, Final


class SluiceError(Exception):
    """The report of a newer Sluice has a code that this Sluice does not know.

    The base of all errors. A subclass is one kind of error. `what` says what went wrong and where;
    `remedy` says what to do.

    `code` is stable: tests and dashboards match it. `exit_status` is the exit status of the
    process. `retry` says whether the same run can succeed if it is tried again without a change;
    Airflow's retries follow it. `usual_remedy` is what helps in most cases; the `remedy` of one
    error is more exact.
    """

    code: ClassVar[str] = "SLUICE_ERROR"
    exit_status: ClassVar[int] = 70
    retry: ClassVar[bool] = False
    usual_remedy: ClassVar[str] = "Run Airflow and Spark with the same version of Sluice."

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.code}: {self.what}" + (f" {self.remedy}" if self.remedy else "")


class SpecInvalid(SluiceError):
    """A pipeline's spec, or its logic.py, is invalid."""

    code, exit_status = "SPEC_INVALID", 10
    usual_remedy = "Correct the field that the line names."


class PipelineUnknown(SluiceError):
    """The pipelines' package has no folder with that name."""

    code, exit_status = "PIPELINE_UNKNOWN", 11
    usual_remedy = "Correct the name; the line has the closest name, or all names."


class SettingInvalid(SluiceError):
    """An environment variable is missing or does not parse."""

    code, exit_status = "SETTING_INVALID", 12
    usual_remedy = "Set the variable that the line names."


class RootNotWritable(SluiceError):
    """The root folder of tables and checkpoints cannot be written."""

    code, exit_status = "ROOT_NOT_WRITABLE", 13
    usual_remedy = "Correct `SLUICE_ROOT`, the permissions, or free space."


class JarsMissing(SluiceError):
    """The jars that pyspark does not ship are not in `SLUICE_JARS`."""

    code, exit_status = "JARS_MISSING", 14
    usual_remedy = "Run `make setup`, or correct `SLUICE_JARS`."


class KafkaConfigInvalid(SluiceError):
    """A property of the Kafka declaration is unknown, has a wrong value, or conflicts with another
    property.
    """

    code, exit_status = "KAFKA_CONFIG_INVALID", 15
    usual_remedy = "Correct the property that the line names."


class RootRefused(SluiceError):
    """The object store of the root rejected the keys, the bucket or the request."""

    code, exit_status = "ROOT_REFUSED", 16
    usual_remedy = "Correct the keys, the bucket or its policy."


class RootUnreachable(SluiceError):
    """The object store of the root did not answer, or answered with an error of its own."""

    code, exit_status, retry = "ROOT_UNREACHABLE", 17, True
    usual_remedy = "Check `AWS_ENDPOINT_URL` and the store; the next run resumes."


class KafkaUnreachable(SluiceError):
    """No broker answered within the time limit."""

    code, exit_status, retry = "KAFKA_UNREACHABLE", 20, True
    usual_remedy = "Start the brokers, or correct `SLUICE_KAFKA`."


class TopicMissing(SluiceError):
    """The broker answered and does not have the topic."""

    code, exit_status = "TOPIC_MISSING", 21
    usual_remedy = "Create the topic, or correct its name in the spec."


class TopicRemade(SluiceError):
    """The topic is not the one that the checkpoint has read: it was deleted and created again."""

    code, exit_status = "TOPIC_REMADE", 22
    usual_remedy = "Read the new topic into a new table: `sluice reset`."


class RecordsGone(SluiceError):
    """Retention removed records that this checkpoint has not read."""

    code, exit_status = "RECORDS_GONE", 23
    usual_remedy = (
        "Lengthen the retention; or continue without the records: "
        '`on_lost_records="skip"` in the spec.'
    )


class KafkaRefused(SluiceError):
    """The brokers rejected this client or its request, or their certificates do not match the
    declaration.
    """

    code, exit_status = "KAFKA_REFUSED", 24
    usual_remedy = "Correct the property, or grant the right, that the line names."


class OffsetsWentBack(SluiceError):
    """A partition ends before offsets that the checkpoint has read: the brokers lost records."""

    code, exit_status = "OFFSETS_WENT_BACK", 25
    usual_remedy = "Restore the topic, or a root that is not newer; else `sluice reset`."


class RegistryUnreachable(SluiceError):
    """The schema registry did not answer within the time limit, or answered with an error of its
    own.
    """

    code, exit_status, retry = "REGISTRY_UNREACHABLE", 26, True
    usual_remedy = "Start the registry, or correct `schema.registry.url`; the next run resumes."


class RegistryRefused(SluiceError):
    """The schema registry rejected this client, or what answers is no schema registry."""

    code, exit_status = "REGISTRY_REFUSED", 27
    usual_remedy = "Correct the property that the line names."


class LeaseHeld(SluiceError):
    """Another process writes this pipeline's checkpoint."""

    code, exit_status, retry = "LEASE_HELD", 30, True
    usual_remedy = "Wait for the process that the line names, or stop it."


class StateIncompatible(SluiceError):
    """The spec changed: Spark cannot resume the state, or would compute wrong results from it."""

    code, exit_status = "STATE_INCOMPATIBLE", 31
    usual_remedy = "Revert the change, or start over from Kafka: `sluice reset`."


class CheckpointForeign(SluiceError):
    """The table and the checkpoint belong to different generations of this pipeline."""

    code, exit_status = "CHECKPOINT_FOREIGN", 32
    usual_remedy = "Put the checkpoint back, or start over from Kafka: `sluice reset`."


class TableChanged(SluiceError):
    """The table lacks a column that the query writes, or the column has another type."""

    code, exit_status = "TABLE_CHANGED", 33
    usual_remedy = "Put the column back, or start over from Kafka: `sluice reset`."


class StateUnreadable(SluiceError):
    """The requested state does not exist: no such batch, step or key, or Spark has purged it."""

    code, exit_status = "STATE_UNREADABLE", 34
    usual_remedy = "Use one of the values that the line lists."


class InitialStateMissing(SluiceError):
    """The Delta table with the initial state of a GroupState does not exist, or lacks a column."""

    code, exit_status = "INITIAL_STATE_MISSING", 35
    usual_remedy = "Write the table, or correct `initial_state` in the spec."


class TableReplaced(SluiceError):
    """The table was dropped, created again or restored since the checkpoint wrote to it."""

    code, exit_status = "TABLE_REPLACED", 36
    usual_remedy = (
        "Take a RESTORE back: `sluice doctor`. Put a dropped table back, or start over from Kafka: "
        "`sluice reset`."
    )


class CheckpointBroken(SluiceError):
    """A file of the checkpoint, or beside it, is incomplete, changed or missing."""

    code, exit_status = "CHECKPOINT_BROKEN", 37
    usual_remedy = "Look for a repair: `sluice doctor`."


class FormatNewer(SluiceError):
    """A newer Sluice wrote a file of the checkpoint, or a report, in a form that this one does
    not know.
    """

    code, exit_status = "FORMAT_NEWER", 39
    usual_remedy = "Run the newer version of Sluice."


class PublishedTableRefused(SluiceError):
    """The published table, from which consumers read judged rows, cannot show the version that has
    passed.
    """

    code, exit_status = "PUBLISHED_TABLE_REFUSED", 54
    usual_remedy = "Do what the line says; or set `published_table=False` in the spec."


class LeaseLost(SluiceError):
    """The run's lease expired, or its lock was lost, and another run may have it."""

    code, exit_status, retry = "LEASE_LOST", 38, True
    usual_remedy = "Nothing: the other run continues."


class SparkFailed(SluiceError):
    """Spark could not be started, or ended the query with an error."""

    code, exit_status, retry = "SPARK_FAILED", 40, True
    usual_remedy = "Read the line; what is committed stays. If it repeats, correct what it names."


class ProcessDied(SluiceError):
    """A process that Spark needs could not start, or died: its JVM, an executor, a worker."""

    code, exit_status, retry = "PROCESS_DIED", 57, True
    usual_remedy = "Read what died, and free or give memory. Running again resumes."


class ReportMissing(SluiceError):
    """The process ended without a report. The run counts as failed, whatever the exit status
    was.
    """

    code, exit_status, retry = "REPORT_MISSING", 41, True
    usual_remedy = "Nothing: the next run resumes where this run ended."


class Stopped(SluiceError):
    """The run was asked to stop before it had read everything."""

    code, exit_status, retry = "STOPPED", 42, True
    usual_remedy = "Nothing: the next run resumes."


class ProcessorFailed(SluiceError):
    """The pipeline's own code in `logic.py` raised an error."""

    code, exit_status = "PROCESSOR_FAILED", 43
    usual_remedy = "Correct the line of `logic.py` that is named."


class StateMisused(SluiceError):
    """The pipeline's own code used its state in a way that Spark does not allow: a timer of another
    clock, None as a value.
    """

    code, exit_status = "STATE_MISUSED", 44
    usual_remedy = "Correct the line of `logic.py` that is named."


class DiskFull(SluiceError):
    """A disk that the run writes to has no space left."""

    code, exit_status = "DISK_FULL", 45
    usual_remedy = "Make room; the next run resumes."


class ClusterUnreachable(SluiceError):
    """Spark's master does not answer, or rejects this application."""

    code, exit_status, retry = "CLUSTER_UNREACHABLE", 46, True
    usual_remedy = "Start the master, or correct its address or the secret."


class NoExecutors(SluiceError):
    """The cluster gave the run no executor within the time limit, or removed the last one."""

    code, exit_status, retry = "NO_EXECUTORS", 47, True
    usual_remedy = "Start workers, or request fewer cores or less memory."


class RunStalled(SluiceError):
    """For the spec's stall_timeout, no batch, job or task of the run began or ended."""

    code, exit_status, retry = "RUN_STALLED", 48, True
    usual_remedy = "See what its threads did, in the file that the line names; run again."


class TableContended(SluiceError):
    """Another writer changed the table while a batch was written: OPTIMIZE, DELETE, ALTER TABLE."""

    code, exit_status, retry = "TABLE_CONTENDED", 49, True
    usual_remedy = "Nothing: the next run repeats the batch. Move such jobs out of the runs' hours."


class ExpressionFailed(SluiceError):
    """Spark could not compute an expression of the spec: for more than the few records that a drain
    puts aside, or in a repair, which puts none aside.
    """

    code, exit_status = "EXPRESSION_FAILED", 55
    usual_remedy = "Correct the expression, and name the old one in `compatible_expressions`."


class RowRefused(SluiceError):
    """The table has a constraint, CHECK or NOT NULL, which a row that the query writes breaks."""

    code, exit_status = "ROW_REFUSED", 56
    usual_remedy = "Drop or correct the constraint, or leave such rows out with a Transform."


class CheckFailed(SluiceError):
    """A critical check failed: the rows are in the table, and nothing was published."""

    code, exit_status = "CHECK_FAILED", 50
    usual_remedy = (
        "See the failing values with `sluice show checks`; correct the data or the check."
    )


class CheckBroken(SluiceError):
    """A check could not be evaluated. The check is wrong; it says nothing about the data."""

    code, exit_status = "CHECK_BROKEN", 51
    usual_remedy = "Correct the check in the spec."


class DecisionRefused(SluiceError):
    """`sluice accept` named a check that did not fail, or rows that no run has checked; or `sluice
    quarantine` records that cannot be put aside.
    """

    code, exit_status = "DECISION_REFUSED", 52
    usual_remedy = (
        "Run the pipeline, look at `sluice show checks`, and name the checks that failed."
    )


class MaintenanceRefused(SluiceError):
    """`sluice maintain` cannot compact or vacuum the table: it has a feature that only Spark
    writes.
    """

    code, exit_status = "MAINTENANCE_REFUSED", 53
    usual_remedy = "Run OPTIMIZE and VACUUM on the table in Spark."


class ConnectionMissing(SluiceError):
    """Airflow has no connection with the given id, or the connection names no Spark master."""

    code, exit_status = "CONNECTION_MISSING", 60
    usual_remedy = "Define the connection that the line names."


class RangeInvalid(SluiceError):
    """What a person asked a repair for is not a range, or not one of this kind."""

    code, exit_status = "RANGE_INVALID", 80
    usual_remedy = "Give both ends with a time zone, the end after the start and not in the future."


class RangeUnsupported(SluiceError):
    """No range of this pipeline's output can be computed by itself."""

    code, exit_status = "RANGE_UNSUPPORTED", 81
    usual_remedy = "Compute all of it again, as NEXT with a raised state version: `sluice rebuild`."


class RangeOpen(SluiceError):
    """Drains still write rows of the range: the watermark has not passed its end."""

    code, exit_status = "RANGE_OPEN", 82
    usual_remedy = "Ask for it again when the watermark has passed its end."


class RecordsUnreachable(SluiceError):
    """Records of the range are no longer in Kafka, and in no archive."""

    code, exit_status = "RECORDS_UNREACHABLE", 83
    usual_remedy = "Ask for another range; the line says which."


class AccountBehind(SluiceError):
    """A batch is committed and not accounted for yet, so nobody knows which records were late."""

    code, exit_status, retry = "ACCOUNT_BEHIND", 84, True
    usual_remedy = "Let the pipeline's next drain account for it."


class StagingStale(SluiceError):
    """What was computed no longer fits the table: its rows changed, or its checkpoint did."""

    code, exit_status, retry = "STAGING_STALE", 85, True
    usual_remedy = "Plan and compute it again."


class ChangeUnexplained(SluiceError):
    """A repair would change rows that no late or replayed record explains."""

    code, exit_status = "CHANGE_UNEXPLAINED", 86
    usual_remedy = "Find what changed the rows in the log of the stage, or ask for a backfill."


class RangeThinned(SluiceError):
    """Kafka has compacted records away that drains read for the range: nobody can prove its rows,
    nor compute them again.
    """

    code, exit_status = "RANGE_THINNED", 91
    usual_remedy = (
        "Ask for a later range. To keep all records from now on, declare Topic(archive=...), or "
        "take `compact` from the topic's cleanup.policy."
    )


class RepairOverlapped(SluiceError):
    """A later repair has changed rows of the same range."""

    code, exit_status = "REPAIR_OVERLAPPED", 87
    usual_remedy = "Undo the later one first."


class ApprovalMissing(SluiceError):
    """The change waits for a person's approval."""

    code, exit_status = "APPROVAL_MISSING", 88
    usual_remedy = "Approve it in Airflow, or with `--yes` on the command line."


class RepairUnknown(SluiceError):
    """There is no repair with this id, or what it staged is gone."""

    code, exit_status = "REPAIR_UNKNOWN", 89
    usual_remedy = "`sluice show repairs` lists them."


class SwapRefused(SluiceError):
    """What was staged cannot be put into the table, or taken back: it was rejected or ended, or
    only Spark can write the table.
    """

    code, exit_status = "SWAP_REFUSED", 90
    usual_remedy = "Do what the line says; the table is as it was."


class RebuildRefused(SluiceError):
    """The rebuild cannot begin, go on, switch or be taken back as things are."""

    code, exit_status = "REBUILD_REFUSED", 94
    usual_remedy = "Do what the line says; the live table and its checkpoint are as they were."


class RepartitionRefused(SluiceError):
    """`sluice repartition` cannot move this state, or what Spark wrote is not the same state."""

    code, exit_status = "REPARTITION_REFUSED", 96
    usual_remedy = "Do what the line says."


class VersionNotLive(SluiceError):
    """spec.py has no spec of the state version that the live table is of."""

    code, exit_status = "VERSION_NOT_LIVE", 95
    usual_remedy = "Put the spec of that state version into spec.py, as SPEC or as NEXT."


def catalogue() -> tuple[type[SluiceError], ...]:
    """Every subclass of SluiceError in this module, by exit status."""
    known = (error for error in SluiceError.__subclasses__() if error.__module__ == __name__)
    return tuple(sorted(known, key=lambda error: error.exit_status))


def by_code(code: str) -> type[SluiceError]:
    """The class with this `code`; SluiceError where no class has it (the report of a
    newer Sluice).
    """
    return next((error for error in catalogue() if error.code == code), SluiceError)


UNKNOWN_REMEDY: Final = (
    "SLUICE_TRACEBACK=1 shows the stack trace. If it ends so twice, running again does not help."
)
"""Of an error of which nobody knows whether it repeats."""


def unexpected(error: BaseException) -> SluiceError:
    """Any other error as SparkFailed, with its first line.

    SLUICE_TRACEBACK=1 prints its stack trace.
    """
    if isinstance(error, SluiceError):
        return error
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return SparkFailed(
        f"{type(error).__name__}: {first}",
        UNKNOWN_REMEDY,
    )
