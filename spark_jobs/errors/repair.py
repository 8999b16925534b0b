"""What a repair has computed, its exchange, and what people decide about rows and records."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class StagingStale(SluiceError):
    """What was computed no longer fits the table: its rows changed, or its checkpoint did."""

    code, exit_status, retry = "STAGING_STALE", 85, True
    usual_remedy = "Plan and compute it again."

    bad_records_gone = reason(
        "{pipeline}: {counted:,} records were bad when the rows were computed, and {found:,} "
        "when they were read again. Kafka, or the archive, has removed records."
    )
    generation_changed = reason(
        "{pipeline}: a reset or a rewind has begun another generation since the plan."
    )
    spec_changed_since_plan = reason("{pipeline}: its spec or its code changed since the plan.")
    repair_ended = reason(
        "Repair {repair} of {pipeline} is {state} already.{told}",
        "To compute its ranges again, plan another one. In Airflow, clear the task `plan` of the "
        "run.",
    )
    staged_again = reason(
        "Repair {repair} was staged again since its rows were read.",
        "Try again. The new rows then go in.",
    )
    rows_changed = reason(
        "The rows of the range in {table} changed since they were compared at version {version}: "
        "{how}.",
        "Nothing was written. Compute the range again.",
    )
    places_changed = reason(
        "{table} has {places:,} row(s) that are neither those of version {version} nor newer than "
        "what would come. A drain or a person has written them since.",
        "Nothing was written. Compute these keys again.",
    )
    changes_left_out = reason(
        "{table}: since version {version} drains have left out {changes:,} change(s), since rows "
        "were newer. Those rows may be the ones that would go.",
        "Nothing was written. To take a swap back with them, rewind the pipeline. Otherwise "
        "compute the keys again.",
    )
    table_moved_on = reason(
        "Repair {repair} was computed for another state of the table: {why}.",
        "Compute the range again.",
    )
    columns_changed = reason(
        "{table} has the columns {columns}. Repair {repair} was computed with {computed}.",
        "Compute it again.",
    )
    staging_damaged = reason(
        "{rows} and {changes} do not belong together: {error}.", "Compute the range again."
    )
    spec_changed_since_stage = reason(
        "{pipeline}: its spec or its code changed since repair {repair} was computed. A drain "
        "may give other rows.",
        "Compute the range again. In Airflow, clear the task `plan` of the run.",
    )
    topic_remade = reason(
        "{pipeline}: topic {name!r} has id {found}, and the repair was planned for {planned}. It "
        "was deleted and created again. The offsets mean other records.",
        "Plan it again. The line then says what can be done.",
    )


class RepairOverlapped(SluiceError):
    """A later repair has changed rows of the same range."""

    code, exit_status = "REPAIR_OVERLAPPED", 87
    usual_remedy = "Undo the later one first."

    later_repair = reason(
        "Repair {later} replaced rows of {span} in table version {version}, after repair "
        "{repair} compared its own.",
        "Compute the range again. Or undo the later one first: sluice undo {pipeline} {later}",
    )


class ApprovalMissing(SluiceError):
    """The change waits for a person's approval."""

    code, exit_status = "APPROVAL_MISSING", 88
    usual_remedy = "Approve it in Airflow, or with `--yes` on the command line."

    not_approved = reason(
        "Nobody has approved repair {repair} of {pipeline}. It changes {unexplained} rows "
        "without a known cause, or ranges.approve or its kind asks for a person.",
        "Approve it in Airflow, or give the same command again on the command line.",
    )


class RepairUnknown(SluiceError):
    """There is no repair with this id, or what it staged is gone."""

    code, exit_status = "REPAIR_UNKNOWN", 89
    usual_remedy = "`sluice show repairs` lists them."

    plan_absent = reason(
        "There is no plan at {path}.", "Plan it again: `sluice repair {pipeline}`."
    )
    staged_unreadable = reason(
        "{path} {wrong}.", "Compute the ranges again: sluice repair {pipeline}"
    )


class SwapRefused(SluiceError):
    """What was staged cannot be put into the table, or taken back: it was rejected or ended, or
    only Spark can write the table.
    """

    code, exit_status = "SWAP_REFUSED", 90
    usual_remedy = "Do what the line says; the table is as it was."

    feature_unwritable = reason(
        "{place} has {unknown}. A repair is written without Spark, which that needs.",
        "Remove it: ALTER TABLE {sql} DROP FEATURE {first}",
    )
    places_doubled = reason(
        "{table} has {rows:,} row(s) twice, by their keys. A swap cannot tell them apart.",
        "Delete the copies by SQL. Then compute the keys again.",
    )
    rows_refused = reason(
        "{path} cannot take the rows of repair {repair}: {error}",
        "Nothing was written. Compute the range again. If the line names a feature of the table, "
        "remove that feature.",
    )
    swap_begun = reason(
        "A swap of repair {repair} of {pipeline} has begun. It is too late for a No.",
        "In Airflow, clear the task `approve`: it asks nobody, and `swap` completes it. Then "
        "take the rows back: `sluice undo {pipeline} {repair}`.",
    )
    nothing_swapped_in = reason(
        "Repair {repair} of {pipeline} is {state}. None of its rows is in the table.",
        "See the repairs: sluice show repairs {pipeline}",
    )
    answered_no = reason(
        "Repair {repair} of {pipeline} is rejected: {answer}. The table stays as it is.",
        "If that is right, nothing is left to do. To be asked again, compute the range again. In "
        "Airflow, clear the task `plan` of the run.",
    )
    kind_never_swaps = reason(
        "Repair {repair} is of the kind {kind}, which never changes the table.",
        "See what it found: sluice show repairs {pipeline}",
    )
    repair_ended = reason(
        "Repair {repair} of {pipeline} has ended: it is {state}.",
        "Compute the range again, as a repair of its own. In Airflow, clear the task `plan` of the "
        "run.",
    )
    ranges_unsupported_now = reason(
        "The spec of {pipeline} changed since repair {repair} was computed: its ranges can no "
        "longer be computed ({why}).",
        "If that is right, nothing is left to do: the table stays as it is. Otherwise revert the "
        "spec, and clear the task `approve` in Airflow.",
    )


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
    no_element = reason(
        "--record is {record!r}. Its value has {records:,} records, from 0 on.",
        "Name one of them, or the whole value: {value}",
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
    elements_excised = reason(
        "Pipelines take the values of {topic} apart in several ways (`each`): an element of one "
        "is no record of another.",
        "Declare the same `each`, or refuse such records by a rule of the topic.",
    )
    excision_unknown = reason(
        "No checkpoint leaves out records of excision {excision}.",
        "See which there are: sluice excise --topic TOPIC",
    )
    too_many_named = reason(
        "--record names {named:,} records. At most {most:,} more can be.", "Name fewer of them."
    )
