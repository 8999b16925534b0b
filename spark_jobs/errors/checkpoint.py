"""The checkpoint and the notes beside it."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.errors.base import SluiceError, reason


class CheckpointForeign(SluiceError):
    """The table and the checkpoint belong to different generations of this pipeline."""

    code, exit_status = "CHECKPOINT_FOREIGN", 32
    usual_remedy = "Put the checkpoint back, or start over from Kafka: `sluice reset`."

    @reason(
        "{pipeline} has its checkpoint and table in {there}. Its spec names another root, {here}, "
        "and there it would begin anew from Kafka.",
        "Let the spec have root={called!r} again. To begin anew all the same, rename "
        "{there}/checkpoints/{pipeline} first.",
    )
    def in_other_root(
        self, pipeline: object, there: object, called: object, here: object
    ) -> None: ...

    @reason(
        "{checkpoint} ends at batch {newest}, and the table has batch {audited} of generation "
        "{generation}. The checkpoint was deleted, or is incomplete.",
        "Restore the checkpoint, or start again: `sluice reset {pipeline}`. A run without it "
        "would write those rows into {table} again.",
    )
    def behind_table(
        self,
        checkpoint: object,
        newest: object,
        audited: object,
        generation: object,
        pipeline: object,
        table: object,
    ) -> None: ...

    @reason(
        "{has}state version {theirs}.",
        "Let SPEC have state=State(version={theirs}) again, and what it had with it. Write the "
        "change below it, as NEXT with state=State(version={free}), and compute the table "
        "again: `sluice rebuild {pipeline}`.",
    )
    def other_version(
        self, has: object, theirs: object, free: object, pipeline: object
    ) -> None: ...

    @reason(
        "{has}generation {wrote}, whose checkpoint is not in {folder}.",
        "Put that checkpoint back, or start both again from Kafka: `sluice reset {pipeline}`.",
    )
    def other_generation(
        self, has: object, wrote: object, folder: object, pipeline: object
    ) -> None: ...

    @reason(
        "{path} was written by generation {found} of {pipeline}. This checkpoint is generation "
        "{generation}. This run would write its rows twice.",
        "Restore the old checkpoint, or start both again from Kafka: `sluice reset {pipeline}`.",
    )
    def written_by_other_generation(
        self, path: object, found: object, pipeline: object, generation: object
    ) -> None: ...


class CheckpointBroken(SluiceError):
    """The checkpoint, or a note beside it, is damaged, or amid a change."""

    code, exit_status = "CHECKPOINT_BROKEN", 37
    usual_remedy = "Look for a repair: `sluice doctor`."

    @reason(
        "{damage}. No batch of {pipeline} is whole, so there is none to rewind to.",
        "Restore the files, or start again from Kafka: sluice reset {pipeline}",
    )
    def no_whole_batch(self, damage: object, pipeline: object) -> None: ...

    @reason(
        "{path} {wrong}. It identifies the checkpoint's topic and spec; Sluice cannot resume "
        "without it.",
        "Restore it from a copy, or start again from Kafka: sluice reset {pipeline}",
    )
    def identity_lost(self, path: object, wrong: object, pipeline: object) -> None: ...

    @reason(
        "{note} is there: an older Sluice was killed amid this change.",
        "Give the same command with that version of Sluice first.",
    )
    def older_change(self, note: object) -> None: ...

    @reason(
        "{what}: Sluice cannot resume from the checkpoint of {pipeline}.",
        "See every damaged file, and what would fix it: sluice doctor {pipeline}",
    )
    def file_damaged(self, what: object, pipeline: object) -> None: ...

    @reason(
        "{note} is there: an older Sluice was cut off amid a switch of {pipeline}.",
        "Complete it with that version of Sluice first: its next drain does so.",
    )
    def older_switch(self, note: object, pipeline: object) -> None: ...

    @reason(
        "{path} does not parse. It says what consumers of {pipeline} were told last.",
        "Restore it from a copy. Or remove it: publish goes on from what Airflow was told.",
    )
    def announcement_unreadable(self, path: object, pipeline: object) -> None: ...

    @reason(
        "{note} does not parse. Nobody knows what is rebuilt.",
        "Begin anew: sluice rebuild {pipeline} --discard --execute",
    )
    def rebuild_unreadable(self, note: object, pipeline: object) -> None: ...

    @reason(
        "{path} does not parse. It says which offsets {pipeline} lacks.",
        "Restore it from a copy. Or begin a new archive: `sluice reset {pipeline}` leaves the "
        "old one as it is.",
    )
    def removals_unreadable(self, path: object, pipeline: object) -> None: ...

    @reason(
        "{change} began at {began}, by {by}, and has not ended. Table, checkpoint and account do "
        "not fit together yet.",
        "The next run completes it: sluice drain {pipeline}. LEASE_HELD means that it is under "
        "way.",
    )
    def change_half_done(
        self, change: object, began: datetime, by: object, pipeline: object
    ) -> None: ...

    @reason(
        "{path} does not parse. A change of {pipeline} has begun, and nobody knows which.",
        "Restore the file from a copy, or start again from Kafka: sluice reset {pipeline}",
    )
    def journal_unreadable(self, path: object, pipeline: object) -> None: ...

    @reason(
        "Repair {repair} changed {table}, but its record in ops.repairs and its staged files in "
        "{folder} are missing: an older Sluice was killed. Nobody can say which records the rows "
        "have.",
        "Restore the folder from a copy; or start again from Kafka: sluice reset {pipeline}",
    )
    def repair_unnoted(
        self, repair: object, table: object, folder: object, pipeline: object
    ) -> None: ...

    @reason(
        "{change} has begun for state version {version} of {pipeline}, and spec.py has {found}.",
        "Complete it with the spec of {version}: sluice drain {pipeline}",
    )
    def change_of_version(
        self, change: object, version: object, pipeline: object, found: object
    ) -> None: ...

    @reason(
        "ops.batches has {found} for batch {lacking} of {pipeline}, which has not passed the "
        "checks. {cursor} says that all up to batch {audited} are accounted for.",
        "Restore ops.batches. Or account for the batches again, from Kafka: sluice doctor "
        "{pipeline}",
    )
    def account_absent(
        self, found: object, lacking: object, pipeline: object, cursor: object, audited: object
    ) -> None: ...

    @reason(
        "{path} does not parse.",
        "Remove it: its copies {folder}/v*/{file} tell the live place. Then see what is live: "
        "sluice plan {pipeline}",
    )
    def live_unreadable(
        self, path: object, folder: object, file: object, pipeline: object
    ) -> None: ...

    @reason(
        "{path} does not parse. Records with this schema cannot be decoded.",
        "Restore it from a copy. Or remove it: the next run asks the registry again.",
    )
    def schema_file_unreadable(self, path: object) -> None: ...
