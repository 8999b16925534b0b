"""Every way in which Sluice refuses or fails: one class, one code, one exit status, one remedy each.

docs/reference.md lists them: `make reference` writes it from here. docs/operations.md has a section for each.
"""

from __future__ import annotations

import os
import traceback
from typing import ClassVar


class SluiceError(Exception):
    """A code that this Sluice does not know, from the report of a newer one.

    The root of all errors. A subclass says what went wrong; `what` says where; `remedy` says what the operator does.

    `code` is stable and is what tests and dashboards match; `exit_status` is what the process ends with; `retry` says
    whether the same run, tried again without a change, can succeed. Airflow retries by it. `mends` is what usually helps: the
    remedy of one error says more.
    """

    code: ClassVar[str] = "SLUICE_ERROR"
    exit_status: ClassVar[int] = 70
    retry: ClassVar[bool] = False
    mends: ClassVar[str] = "Run Airflow and Spark with the same version of Sluice."

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.code}: {self.what}" + (f" {self.remedy}" if self.remedy else "")


class SpecInvalid(SluiceError):
    """A pipeline's spec is invalid."""

    code, exit_status = "SPEC_INVALID", 10
    mends = "Correct the field that the line names."


class PipelineUnknown(SluiceError):
    """No folder of the pipelines' package has that name."""

    code, exit_status = "PIPELINE_UNKNOWN", 11
    mends = "Correct the name; the line lists the existing ones."


class SettingInvalid(SluiceError):
    """An environment variable is missing or does not parse."""

    code, exit_status = "SETTING_INVALID", 12
    mends = "Set the variable that the line names."


class RootNotWritable(SluiceError):
    """The root folder of tables and checkpoints cannot be written."""

    code, exit_status = "ROOT_NOT_WRITABLE", 13
    mends = "Correct `SLUICE_ROOT`, the permissions, or free space."


class JarsMissing(SluiceError):
    """The jars that pyspark does not ship are not in `SLUICE_JARS`."""

    code, exit_status = "JARS_MISSING", 14
    mends = "Run `make setup`, or correct `SLUICE_JARS`."


class KafkaConfigInvalid(SluiceError):
    """A property of the Kafka declaration is unknown, wrong, or conflicts with another."""

    code, exit_status = "KAFKA_CONFIG_INVALID", 15
    mends = "Correct the property that the line names."


class RootRefused(SluiceError):
    """The object store rejected the keys, the bucket or the request."""

    code, exit_status = "ROOT_REFUSED", 16
    mends = "Correct the keys, the bucket or its policy."


class RootUnreachable(SluiceError):
    """The object store did not answer, or the connection broke."""

    code, exit_status, retry = "ROOT_UNREACHABLE", 17, True
    mends = "Check `AWS_ENDPOINT_URL` and the store; run again to resume."


class KafkaUnreachable(SluiceError):
    """No broker answered within the time limit."""

    code, exit_status, retry = "KAFKA_UNREACHABLE", 20, True
    mends = "Start the brokers, or correct `SLUICE_KAFKA`."


class TopicMissing(SluiceError):
    """The broker answered and does not have the topic."""

    code, exit_status = "TOPIC_MISSING", 21
    mends = "Create the topic, or correct its name in the spec."


class TopicRemade(SluiceError):
    """The topic was recreated since the checkpoint was made, or has lost its newest records."""

    code, exit_status = "TOPIC_REMADE", 22
    mends = "Restore the topic, or `sluice reset`."


class RecordsGone(SluiceError):
    """Retention removed records that this checkpoint has not read."""

    code, exit_status = "RECORDS_GONE", 23
    mends = 'Lengthen retention; skip them by `on_lost_records="skip"`.'


class KafkaRefused(SluiceError):
    """The brokers rejected the client, or their certificate is not trusted."""

    code, exit_status = "KAFKA_REFUSED", 24
    mends = "Correct the property, or grant the right, that the line names."


class LeaseHeld(SluiceError):
    """Another process writes this pipeline's checkpoint."""

    code, exit_status, retry = "LEASE_HELD", 30, True
    mends = "Wait for the process that the line names, or stop it."


class StateIncompatible(SluiceError):
    """The spec changed, and the stored state does not fit the new spec."""

    code, exit_status = "STATE_INCOMPATIBLE", 31
    mends = "Revert the change, or `sluice reset`."


class CheckpointForeign(SluiceError):
    """The table belongs to another generation than the checkpoint."""

    code, exit_status = "CHECKPOINT_FOREIGN", 32
    mends = "Put the checkpoint back, or `sluice reset`."


class TableChanged(SluiceError):
    """The table lacks a column that the query writes, or has it with another type."""

    code, exit_status = "TABLE_CHANGED", 33
    mends = "Put the column back, or `sluice reset`."


class StateUnreadable(SluiceError):
    """The requested state does not exist: no such batch, step or key, or Spark has purged it."""

    code, exit_status = "STATE_UNREADABLE", 34
    mends = "Ask for what the line lists."


class InitialStateMissing(SluiceError):
    """The Delta table of a GroupState's initial state is missing, or lacks its keys."""

    code, exit_status = "INITIAL_STATE_MISSING", 35
    mends = "Write the table, or correct `initial_state` in the spec."


class TableReplaced(SluiceError):
    """The table was dropped, recreated or restored since the checkpoint wrote to it."""

    code, exit_status = "TABLE_REPLACED", 36
    mends = "Restore the table as the line says, or `sluice reset`."


class CheckpointBroken(SluiceError):
    """A file of the checkpoint, or beside it, is truncated, changed or missing."""

    code, exit_status = "CHECKPOINT_BROKEN", 37
    mends = "See what would fix it: `sluice doctor`."


class LeaseLost(SluiceError):
    """The run was paused until its lease expired, and another run took the lease."""

    code, exit_status, retry = "LEASE_LOST", 38, True
    mends = "Nothing; the other run continues."


class SparkFailed(SluiceError):
    """Spark could not be started, or ended the query with an error."""

    code, exit_status, retry = "SPARK_FAILED", 40, True
    mends = "Read the line; run again to resume."


class ReportMissing(SluiceError):
    """The process ended without a report, whatever its exit status was."""

    code, exit_status, retry = "REPORT_MISSING", 41, True
    mends = "Run again: it resumes."


class Stopped(SluiceError):
    """The run was asked to stop before it had read everything."""

    code, exit_status, retry = "STOPPED", 42, True
    mends = "Nothing; the next run resumes."


class ProcessorFailed(SluiceError):
    """The pipeline's own code in `logic.py` raised an error."""

    code, exit_status = "PROCESSOR_FAILED", 43
    mends = "Correct the line of `logic.py` that is named."


class StateMisused(SluiceError):
    """The pipeline's own code used its state in a way that Spark does not allow."""

    code, exit_status = "STATE_MISUSED", 44
    mends = "Correct the line of `logic.py` that is named."


class DiskFull(SluiceError):
    """A disk that the run writes to has no space left."""

    code, exit_status = "DISK_FULL", 45
    mends = "Free space, then run again: it resumes."


class ClusterUnreachable(SluiceError):
    """Spark's master does not answer, or rejects this application."""

    code, exit_status, retry = "CLUSTER_UNREACHABLE", 46, True
    mends = "Start it, or correct its address or the secret."


class NoExecutors(SluiceError):
    """The cluster gave the run no executor within the time limit, or the last one was lost."""

    code, exit_status, retry = "NO_EXECUTORS", 47, True
    mends = "Start workers, or ask for less; see [cluster.md](cluster.md)."


class CheckFailed(SluiceError):
    """A critical check failed: the rows are written, not published."""

    code, exit_status = "CHECK_FAILED", 50
    mends = "Look at the failing values; correct the data or the check."


class CheckBroken(SluiceError):
    """A check could not be evaluated: this says nothing about the data."""

    code, exit_status = "CHECK_BROKEN", 51
    mends = "Correct the check in the spec."


class ConnectionMissing(SluiceError):
    """Airflow has no such connection, or it is not a Spark connection."""

    code, exit_status = "CONNECTION_MISSING", 60
    mends = "Define the connection that the line names."


def catalogue() -> tuple[type[SluiceError], ...]:
    """Every error class of this module below the root, by exit status."""
    known = (error for error in SluiceError.__subclasses__() if error.__module__ == __name__)
    return tuple(sorted(known, key=lambda error: error.exit_status))


def by_code(code: str) -> type[SluiceError]:
    """The class that has `code`; the root where no class has it (a report from a newer Sluice)."""
    return next((error for error in catalogue() if error.code == code), SluiceError)


def unexpected(error: BaseException) -> SluiceError:
    """An error that is none of ours, as one that has a code. SLUICE_TRACEBACK=1 shows where it came from."""
    if isinstance(error, SluiceError):
        return error
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return SparkFailed(f"{type(error).__name__}: {first}", "Running again resumes; SLUICE_TRACEBACK=1 shows the stack trace.")
