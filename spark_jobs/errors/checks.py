"""The checks of a run, and those of rows that a repair or a verify has computed."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason

FAILED = "{pipeline}: {count} critical check(s) failed: {failed}."
STAGED = (
    "{pipeline}: {count} critical check(s) of the computed rows failed: {failed}. The table is as "
    "it was."
)
NEWLY_BAD = (
    "Drains took records that are bad by today's spec. A backfill computes the rows without them, "
    "and keeps them in ops.quarantine for a replay: `sluice backfill {pipeline} --from {start} "
    "--to {end}`."
)


class CheckFailed(SluiceError):
    """A critical check failed, of rows or of a run's numbers. Nothing was published."""

    code, exit_status = "CHECK_FAILED", 50
    usual_remedy = (
        "See the failing values with `sluice show checks`; correct the data or the check."
    )

    rows_failed = reason(
        f"{FAILED} The rows are in table version {{table_version}}, and not published.",
        "See the failing values: sluice show checks {pipeline}. Then correct the rows "
        "in the table and run again. Or publish them as they are: sluice accept {pipeline} "
        "--check NAME --reason TEXT",
    )
    records_rejected = reason(
        f"{FAILED} Too little of what was read was accepted, and nothing is published.",
        "See the reasons: sluice show quarantine {pipeline}, sluice show late {pipeline}. Then "
        "correct the producer or the spec, and run again. Or go on without these records: sluice "
        "accept {pipeline} --check NAME --reason TEXT",
    )
    account_failed = reason(
        f"{FAILED} The counts of what was read, kept and written do not agree, and nothing is "
        "published.",
        "See which batch is off: sluice show batches {pipeline}. Look for damage: sluice doctor "
        "{pipeline}. If it finds none, Sluice or Spark has a bug: report it. To publish all the "
        "same: sluice accept {pipeline} --check NAME --reason TEXT",
    )
    state_failed = reason(
        f"{FAILED} They are about the run, not about single rows. Nothing is published.",
        "See what each is about: sluice show checks {pipeline}. Then mend that, or its bound in "
        "the spec, and run again. Or publish all the same: sluice accept {pipeline} --check NAME "
        "--reason TEXT",
    )
    newly_bad = reason(STAGED, NEWLY_BAD)
    staged_failed = reason(STAGED, "See the failing values above. Correct the data, or the check.")
    change_failed = reason(
        STAGED,
        "The lines above say what each is about. No check of the spec is wrong: what differs is "
        "the table, or the records that are left.",
    )

    days_refuted = reason(
        "{pipeline}: {count} published day(s) are not what their records give: {days}.",
        "See the rows: sluice verify {pipeline} --from {start} --to {end}. If the records are "
        "right: sluice backfill {pipeline} --from {start} --to {end}",
    )


class CheckBroken(SluiceError):
    """A check could not be evaluated. The check is wrong; it says nothing about the data."""

    code, exit_status = "CHECK_BROKEN", 51
    usual_remedy = "Correct the check in the spec."

    no_expectation = reason(
        "{check} with {kwargs} is not an expectation: {error}.", quoted=("error",)
    )
    not_evaluated = reason(
        "{pipeline}: {name}.",
        "Correct the check in the spec: its column, its arguments or their types.",
        quoted=("name",),
    )
    state_checks_broken = reason("{pipeline}: {checks}.", quoted=("checks",))


class ChangeUnexplained(SluiceError):
    """A repair would change rows that no late or replayed record explains."""

    code, exit_status = "CHANGE_UNEXPLAINED", 86
    usual_remedy = "Find what changed the rows in the log of the stage, or ask for a backfill."

    newly_bad = reason(STAGED, NEWLY_BAD)
    rows_unexplained = reason(STAGED)


class RangeThinned(SluiceError):
    """Kafka has compacted records away that drains read for the range: nobody can prove its rows,
    nor compute them again.
    """

    code, exit_status = "RANGE_THINNED", 91
    usual_remedy = (
        "Ask for a later range. To keep all records from now on, declare Topic(archive=...), or "
        "take `compact` from the topic's cleanup.policy."
    )

    proof_compacted = reason(
        "{pipeline}: compaction has removed {gone} of the records that drains read for these "
        "ranges. Nobody can prove them. The table is as it was."
    )
