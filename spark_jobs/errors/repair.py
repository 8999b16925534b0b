"""What a repair has computed, and its exchange; a rebuild, and the version that lives."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason
from spark_jobs.errors.checks import NEWLY_BAD, STAGED


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


class ChangeUnexplained(SluiceError):
    """A repair would change rows that no late or replayed record explains."""

    code, exit_status = "CHANGE_UNEXPLAINED", 86
    usual_remedy = "Find what changed the rows in the log of the stage, or ask for a backfill."

    newly_bad = reason(STAGED, NEWLY_BAD)
    rows_unexplained = reason(STAGED)


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


class RebuildRefused(SluiceError):
    """The rebuild cannot begin, go on, switch or be taken back as things are."""

    code, exit_status = "REBUILD_REFUSED", 94
    usual_remedy = "Do what the line says; the live table and its checkpoint are as they were."

    reset_of_rebuild = reason(
        "{pipeline}: a rebuild cannot be reset.",
        "Remove it, and begin anew: sluice rebuild {pipeline} --discard --execute",
    )
    unpublished = reason(
        "{pipeline}: what a rebuild computes is not published before the switch to it.",
        "Give the command without SLUICE_NEXT. To switch: sluice rebuild {pipeline} --execute",
    )
    no_rebuild_of_next = reason(
        "{pipeline}: no rebuild of NEXT is under way.",
        "Begin it: sluice rebuild {pipeline} --execute. Or give the command without --next "
        "(SLUICE_NEXT).",
    )
    archive_unread = reason(
        "{pipeline}: only the topic's archive has {count:,} records that the rebuild needs. They "
        "are not in it yet.",
        "Let it compute them: sluice rebuild {pipeline} --execute. In Airflow, clear the task "
        "stage, with all behind it. To lose them: add --without-lost.",
    )
    begun_meanwhile = reason(
        "{pipeline}: somebody else began a rebuild after this command looked.",
        "Give the same command again. It goes on with that one.",
    )
    next_changed = reason(
        "{pipeline}: {who} began a rebuild on {began} with another NEXT: {differences}.",
        "Take the change of NEXT back to go on with it; or {begin_anew}.",
    )
    excisions_lacking = reason(
        "{pipeline}: the live table leaves records out that NEXT does not: excisions {excisions}.",
        "Let NEXT take them over too: sluice excise --topic TOPIC --execute",
    )
    topic_remade = reason(
        "{pipeline}: topic {topic!r} was deleted and created again since the rebuild began on "
        "{began}. Its offsets mean other records.",
        "To rebuild from the new topic, {begin_anew}.",
    )
    no_next = reason(
        "{pipeline}: spec.py defines no NEXT. There is nothing to rebuild.",
        "Keep SPEC. Write below it NEXT = SPEC.model_copy(update={{'steps': (...), 'state': "
        "SPEC.state.model_copy(update={{'version': {free}}})}}).",
    )
    next_is_live = reason(
        "{pipeline}: NEXT, of state version {version}, is live already.",
        "Rename it to SPEC in spec.py when you like. Or switch back: `sluice rebuild {pipeline} "
        "--back`.",
    )
    former_spec_absent = reason(
        "{pipeline}: the version before the switch is {wanted}. spec.py has no spec of it for "
        "drains to go on with.",
        "Put the former spec, with state=State(version={wanted}), back as NEXT.",
    )
    never_drained = reason(
        "{pipeline} was never drained. There is no table to rebuild.",
        "Change SPEC itself, and run it: sluice drain {pipeline}",
    )
    older_rebuild = reason(
        "{folder} is there. An older Sluice has begun a rebuild, in a root of its own.",
        "Complete it with that version of Sluice. Or remove the folder, and begin anew.",
    )
    no_batch_yet = reason(
        "{pipeline}: the rebuild has no batch yet.", "Run it: sluice rebuild {pipeline} --execute"
    )
    behind_live = reason(
        "{pipeline}: the live pipeline has read {missing:,} offsets that the rebuild has not.",
        "Let it catch up: sluice rebuild {pipeline} --execute",
    )
    older_switch = reason(
        "{pipeline}: an older Sluice switched, into the table of the version before.",
        "Go back with that version of Sluice. {again}",
    )
    former_removed = reason(
        "{pipeline}: {folder} or {table} is gone. `sluice maintain` removes them some days after "
        "a switch.",
        "{again}",
    )
    former_replaced = reason(
        "{pipeline}: {folder} and {table} are no longer the ones from before the switch.", "{again}"
    )
    no_switch = reason(
        "{pipeline}: there is no switch to take back.",
        "Go back within a state version with `sluice rewind {pipeline}`.",
    )
    live_table_foreign = reason(
        "{checkpoint} did not write the table {table}.",
        "See what is wrong with it: sluice plan {pipeline}",
    )
    repair_computing = reason(
        "{pipeline}: {holder} computes a repair of the table that the switch replaces.",
        "Wait until it ends, or stop it.",
    )
    unjudged = reason(
        "{pipeline}: batches {first} to {newest} of the rebuild have not passed their account "
        "and checks.",
        "Run it again: sluice rebuild {pipeline} --execute. A failed check is accepted with "
        "sluice accept {pipeline} --next.",
    )
    question_outdated = reason(
        "{pipeline}: since the question was shown, this has changed: {differing}. The answer is "
        "about what was shown.",
        "Clear the task plan, with all behind it. It computes what is missing, and you are asked "
        "again.",
    )
    no_rebuild = reason(
        "{pipeline}: there is no rebuild to switch to.",
        "Compute it: sluice rebuild {pipeline} --execute",
    )
    not_approved = reason(
        "{pipeline}: nobody has approved the switch in this DAG run.",
        "Clear the task approve, and answer it.",
    )


class VersionNotLive(SluiceError):
    """spec.py has no spec of the state version that the live table is of."""

    code, exit_status = "VERSION_NOT_LIVE", 95
    usual_remedy = "Put the spec of that state version into spec.py, as SPEC or as NEXT."

    switched_meanwhile = reason(
        "{folder} is no longer live: {live}.", "Give the same command again."
    )
    spec_absent = reason(
        "{pipeline}: state version {wanted} drains. spec.py has SPEC of version {version}{also}.",
        "Deploy the spec with state=State(version={wanted}), as SPEC or still as NEXT. Or switch "
        "back: `sluice rebuild {pipeline} --back`. Or begin with SPEC: `sluice reset {pipeline}`.",
    )
