"""The lease: one writer at a time."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class LeaseHeld(SluiceError):
    """Another process writes this pipeline, or has changed it since this one looked."""

    code, exit_status, retry = "LEASE_HELD", 30, True
    usual_remedy = "Wait for the process that the line names, or stop it."

    held = reason("{folder} is being written by {holder}.")
    overtaken = reason(
        "Another command has changed {pipeline} since this one looked.",
        "See what there is to do now: {again}",
    )
    held_by_drain = reason(
        "{folder} is being written by {holder}.",
        "Wait until it ends, or stop it. Never run two drains of one pipeline at once.",
    )
    held_until = reason(
        "{folder} is being written by {holder}.",
        "Wait until it ends, or stop it. The lease expires {seconds:.0f} s after its process died.",
    )
    repair_computing = reason(
        "{pipeline}: another repair is being computed by {holder}.",
        "Wait until it ends, or stop it. Nothing was begun.",
    )
    writers_busy = reason(
        "Others wrote to {table} each time between the comparison and the commit of repair "
        "{repair}.",
        "Try again when they are done.",
    )


class LeaseLost(SluiceError):
    """The run's lease expired, or its lock was lost, and another run may have it."""

    code, exit_status, retry = "LEASE_LOST", 38, True
    usual_remedy = "Nothing: the other run continues."

    lock_lost = reason(
        "This run lost its lock: {path} {how}.",
        "Its last batch was not committed. The next run resumes there.",
    )
    planned_elsewhere = reason(
        "Another process has planned batch {batch} in {folder}.",
        "The next run begins with that batch.",
    )
    lease_expired = reason(
        "{folder} {how} for {seconds:.0f} s.",
        "Its last batch was not committed. The next run resumes there.",
    )
    change_elsewhere = reason(
        "Another process began a change of this pipeline (see {path}). This run wrote nothing more."
    )
    note_elsewhere = reason(
        "Another process has written {path} since this one read it.",
        "Nothing was written. The next run goes on from there.",
    )
