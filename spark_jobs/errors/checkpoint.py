"""The checkpoint and the notes beside it."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class CheckpointForeign(SluiceError):
    """The table and the checkpoint belong to different generations of this pipeline."""

    code, exit_status = "CHECKPOINT_FOREIGN", 32
    usual_remedy = "Put the checkpoint back, or start over from Kafka: `sluice reset`."

    in_other_root = reason(
        "{pipeline} has its checkpoint and table in {there}. Its spec names another root, {here}, "
        "and there it would begin anew from Kafka.",
        "Let the spec have root={called!r} again. To begin anew all the same, rename "
        "{there}/checkpoints/{pipeline} first.",
    )
    behind_table = reason(
        "{checkpoint} ends at batch {newest}, and the table has batch {audited} of generation "
        "{generation}. The checkpoint was deleted, or is incomplete.",
        "Restore the checkpoint, or start again: `sluice reset {pipeline}`. A run without it "
        "would write those rows into {table} again.",
    )
    other_version = reason(
        "{has}state version {theirs}.",
        "Let SPEC have state=State(version={theirs}) again, and what it had with it. Write the "
        "change below it, as NEXT with state=State(version={free}), and compute the table "
        "again: `sluice rebuild {pipeline}`.",
    )
    other_generation = reason(
        "{has}generation {wrote}, whose checkpoint is not in {folder}.",
        "Put that checkpoint back, or start both again from Kafka: `sluice reset {pipeline}`.",
    )
    written_by_other_generation = reason(
        "{path} was written by generation {found} of {pipeline}. This checkpoint is generation "
        "{generation}. This run would write its rows twice.",
        "Restore the old checkpoint, or start both again from Kafka: `sluice reset {pipeline}`.",
    )


class CheckpointBroken(SluiceError):
    """The checkpoint, or a note beside it, is damaged, or amid a change."""

    code, exit_status = "CHECKPOINT_BROKEN", 37
    usual_remedy = "Look for a repair: `sluice doctor`."

    no_whole_batch = reason(
        "{damage}. No batch of {pipeline} is whole, so there is none to rewind to.",
        "Restore the files, or start again from Kafka: sluice reset {pipeline}",
    )
    identity_lost = reason(
        "{path} {wrong}. It identifies the checkpoint's topic and spec; Sluice cannot resume "
        "without it.",
        "Restore it from a copy, or start again from Kafka: sluice reset {pipeline}",
    )
    older_change = reason(
        "{note} is there: an older Sluice was killed amid this change.",
        "Give the same command with that version of Sluice first.",
    )
    file_damaged = reason(
        "{what}: Sluice cannot resume from the checkpoint of {pipeline}.",
        "See every damaged file, and what would fix it: sluice doctor {pipeline}",
    )
    older_switch = reason(
        "{note} is there: an older Sluice was cut off amid a switch of {pipeline}.",
        "Complete it with that version of Sluice first: its next drain does so.",
    )
    announcement_unreadable = reason(
        "{path} does not parse. It says what consumers of {pipeline} were told last.",
        "Restore it from a copy. Or remove it: publish goes on from what Airflow was told.",
    )
    rebuild_unreadable = reason(
        "{note} does not parse. Nobody knows what is rebuilt.",
        "Begin anew: sluice rebuild {pipeline} --discard --execute",
    )
    removals_unreadable = reason(
        "{path} does not parse. It says which offsets {pipeline} lacks.",
        "Restore it from a copy. Or begin a new archive: `sluice reset {pipeline}` leaves the "
        "old one as it is.",
    )
    change_half_done = reason(
        "{change} began at {began}, by {by}, and has not ended. Table, checkpoint and account do "
        "not fit together yet.",
        "The next run completes it: sluice drain {pipeline}. LEASE_HELD means that it is under "
        "way.",
    )
    journal_unreadable = reason(
        "{path} does not parse. A change of {pipeline} has begun, and nobody knows which.",
        "Restore the file from a copy, or start again from Kafka: sluice reset {pipeline}",
    )
    repair_unnoted = reason(
        "Repair {repair} changed {table}, but its record in ops.repairs and its staged files in "
        "{folder} are missing: an older Sluice was killed. Nobody can say which records the rows "
        "have.",
        "Restore the folder from a copy; or start again from Kafka: sluice reset {pipeline}",
    )
    change_of_version = reason(
        "{change} has begun for state version {version} of {pipeline}, and spec.py has {found}.",
        "Complete it with the spec of {version}: sluice drain {pipeline}",
    )
    account_absent = reason(
        "ops.batches has {found} for batch {lacking} of {pipeline}, which has not passed the "
        "checks. {cursor} says that all up to batch {audited} are accounted for.",
        "Restore ops.batches. Or account for the batches again, from Kafka: sluice doctor "
        "{pipeline}",
    )
    live_unreadable = reason(
        "{path} does not parse.",
        "Remove it: its copies {folder}/v*/{file} tell the live place. Then see what is live: "
        "sluice plan {pipeline}",
    )
    schema_file_unreadable = reason(
        "{path} does not parse. Records with this schema cannot be decoded.",
        "Restore it from a copy. Or remove it: the next run asks the registry again.",
    )
