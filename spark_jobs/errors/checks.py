"""Checks, cases, and what people decide about rows and records."""

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
        "{check} with {kwargs} is not an expectation: {error}.",
        quoted=("error",),
    )
    not_evaluated = reason(
        "{pipeline}: {name}.",
        "Correct the check in the spec: its column, its arguments or their types.",
        quoted=("name",),
    )
    state_checks_broken = reason("{pipeline}: {checks}.", quoted=("checks",))


class DecisionRefused(SluiceError):
    """`sluice accept` named a check that did not fail, or rows that no run has checked; or `sluice
    quarantine` or `sluice excise` records that cannot be put aside.
    """

    code, exit_status = "DECISION_REFUSED", 52
    usual_remedy = (
        "Run the pipeline, look at `sluice show checks`, and name the checks that failed."
    )

    acceptance_unexplained = reason(
        "--reason is empty. Everybody who reads these rows sees it.",
        'Say why they may be published: --reason "the carrier ZZ is new, and right"',
    )
    nothing_to_accept = reason(
        "All that {pipeline} has written has passed its checks. There is nothing to accept.",
        "See the results: sluice show checks {pipeline}",
    )
    verdict_outdated = reason(
        "Run {run} judged version {table_version} of {pipeline}, with problem {code}. The table "
        "is at version {now}.",
        "Let a run judge it first: sluice drain {pipeline}",
    )
    check_did_not_fail = reason(
        "--check is {unknown}. No critical check of that name failed.",
        "Those that failed: {failed}",
    )
    others_failed = reason(
        "{left} failed too. Rows are published only if every failed check is accepted.",
        "Name each: sluice accept {pipeline} {checks}",
    )
    overtaken = reason(
        "Another run of {pipeline} has ended since this command looked.",
        "See what it says: sluice show checks {pipeline}. Then give the command again.",
    )
    quarantine_unexplained = reason(
        "--reason is empty. It is all that ops.quarantine says of these records.",
        'Say why: --reason "the sum of shop 7 overflows"',
    )
    nothing_read = reason(
        "{pipeline} has no checkpoint. No run has read a record.", "Run it: sluice drain {pipeline}"
    )
    no_place = reason(
        "--record is {record!r}, which is no place of a record.",
        "Write {partition}:OFFSET, or {partition}:FIRST-LAST.",
    )
    batch_unaccounted = reason(
        "Partition {partition} offset {offset} is in batch {batch}. The table has that batch, "
        "and no run has accounted for it.",
        "Let a run account for it first: sluice drain {pipeline}",
    )
    last_before_first = reason(
        "--record is {record!r}. Its last offset is before its first.",
        "Write PARTITION:FIRST-LAST.",
    )
    excision_unexplained = reason(
        "--reason is empty. It is all that ops.quarantine says of these records.",
        'Say why: --reason "release 2.3 sent cents for euros"',
    )
    condition_refused = reason(
        "--where is {where!r}. Spark refuses it for records of {topic}: {why}.",
        "Name fields of the topic, header['NAME'], key, timestamp, partition or offset.",
        quoted=("where", "why"),
    )
    too_many_excised = reason(
        "More than {most:,} records fulfil the condition. Each pipeline keeps their offsets.",
        "Give shorter ranges, one after the other: --from and --to.",
    )
    excision_unknown = reason(
        "No checkpoint leaves out records of excision {excision}.",
        "See which there are: sluice excise --topic TOPIC",
    )
    too_many_named = reason(
        "--record names {named:,} records. At most {most:,} more can be.", "Name fewer of them."
    )


class CaseInvalid(SluiceError):
    """A file of cases is invalid."""

    code, exit_status = "CASE_INVALID", 59
    usual_remedy = "Correct the file: docs/operators.md#cases."

    unreadable = reason("{file} is no YAML: {error}.", quoted=("error",))
    field_wrong = reason("{file}: {case}: {field} is {given}: {right}.", quoted=("given",))
    file_absent = reason(
        "Pipeline {pipeline} has no cases.",
        "Write them into its folder, as one of {names}: docs/operators.md#cases.",
    )
    topics_by_pattern = reason(
        "Pipeline {pipeline} has more_topics. A case's topics are those that a spec lists.",
        "Test it with Kafka.",
    )
    topic_wrong = reason(
        "Pipeline {pipeline}, case {case!r}: the topic of a record is {topic!r}.",
        "Write {{topic: NAME, value: ...}} with one of {known}.",
    )
    dimension_wrong = reason(
        "Pipeline {pipeline}: a case has no rows of the dimension {name!r}, or the pipeline has no "
        "such dimension. Its dimensions: {known}.",
        "Write rows below `dimensions:` for each that has no file: docs/operators.md#cases.",
    )
    column_wrong = reason(
        "Pipeline {pipeline}: a case has rows of the dimension {name!r} with {column!r}. Its "
        "columns are {columns}.",
        "Correct the column's name.",
    )
    foreign = reason(
        "{folder} is not a pipeline of the package {package}.",
        "Name its package in SLUICE_PIPELINES.",
    )
    unknown_ref = reason(
        "git cannot say what has changed since {ref}: {error}.",
        "Name a commit of the pipelines' repository, or leave --changed out.",
    )


class CasesFailed(SluiceError):
    """Cases ended otherwise than their files say."""

    code, exit_status = "CASES_FAILED", 58
    usual_remedy = "Correct the pipeline or the case; the lines above say what differs."

    some = reason("{failed} of {all_} cases failed.")
