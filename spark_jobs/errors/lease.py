"""The lease: one writer at a time."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class LeaseHeld(SluiceError):
    """Another process writes this pipeline, or has changed it since this one looked."""

    code, exit_status, retry = "LEASE_HELD", 30, True
    usual_remedy = "Wait for the process that the line names, or stop it."

    @reason(
        "{folder} is being written by {holder}.",
        "Wait until it ends, or stop it.",
    )
    def held(self, folder: object, holder: object) -> None: ...

    @reason(
        "Another command has changed {pipeline} since this one looked.",
        "See what there is to do now: {again}",
    )
    def overtaken(self, pipeline: object, again: object) -> None: ...

    @reason(
        "{folder} is being written by {holder}.",
        "Wait until it ends, or stop it. Never run two drains of one pipeline at once.",
    )
    def held_by_drain(self, folder: object, holder: object) -> None: ...

    @reason(
        "{folder} is being written by {holder}.",
        "Wait until it ends, or stop it. The lease expires {seconds:.0f} s after its process died.",
    )
    def held_until(self, folder: object, holder: object, seconds: float) -> None: ...

    @reason(
        "{pipeline}: another repair is being computed by {holder}.",
        "Wait until it ends, or stop it. Nothing was begun.",
    )
    def repair_computing(self, pipeline: object, holder: object) -> None: ...

    @reason(
        "Others wrote to {table} each time between the comparison and the commit of repair "
        "{repair}.",
        "Try again when they are done.",
    )
    def writers_busy(self, table: object, repair: object) -> None: ...


class LeaseLost(SluiceError):
    """The run's lease expired, or its lock was lost, and another run may have it."""

    code, exit_status, retry = "LEASE_LOST", 38, True
    usual_remedy = "Nothing: the other run continues."

    @reason(
        "This run lost its lock: {path} {how}.",
        "Its last batch was not committed. The next run resumes there.",
    )
    def lock_lost(self, path: object, how: object) -> None: ...

    @reason(
        "Another process has planned batch {batch} in {folder}.",
        "The next run begins with that batch.",
    )
    def planned_elsewhere(self, batch: object, folder: object) -> None: ...

    @reason(
        "{folder} {how} for {seconds:.0f} s.",
        "Its last batch was not committed. The next run resumes there.",
    )
    def lease_expired(self, folder: object, how: object, seconds: float) -> None: ...

    @reason(
        "Another process began a change of this pipeline (see {path}). This run wrote nothing "
        "more.",
    )
    def change_elsewhere(self, path: object) -> None: ...

    @reason(
        "Another process has written {path} since this one read it.",
        "Nothing was written. The next run goes on from there.",
    )
    def note_elsewhere(self, path: object) -> None: ...
