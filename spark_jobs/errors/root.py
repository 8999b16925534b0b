"""The root: its folders, its object store, its forms; checkpoints, notes and leases below it."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class RootNotWritable(SluiceError):
    """The root folder of tables and checkpoints cannot be written."""

    code, exit_status = "ROOT_NOT_WRITABLE", 13
    usual_remedy = "Correct `SLUICE_ROOT`, the permissions, or free space."

    not_readable = reason(
        "{path} cannot be read: {error}.", "Check SLUICE_ROOT and the permissions."
    )
    not_writable = reason("{folder} cannot be written: {error}.")


class RootRefused(SluiceError):
    """The root's object store rejected the request, or its locks may not hold."""

    code, exit_status = "ROOT_REFUSED", 16
    usual_remedy = "Correct the keys, the bucket or its policy."

    locks_unsure = reason(
        "{path} is on {kind}, mounted at {place}. Its locks may hold on this machine alone. A "
        "run elsewhere would write the same checkpoint.",
        "Use a local disk, a container's volume on one, or an object store (docs/deploy.md). If "
        "one machine or container starts all runs, set SLUICE_LOCKS=one-host.",
    )
    request_refused = reason("{where} refused: {meaning}.", "{remedy}")
    no_conditional_put = reason(
        "The object store of {url} overwrites an object that was to be put only if absent "
        "(If-None-Match: *) or as it was read (If-Match). Two runs would hold the lease, and one "
        "commit would hide another.",
        "Use a store that supports conditional puts: docs/deploy.md.",
    )
    no_credentials = reason(
        "The object store's keys are missing. The environment, the profiles and this machine's "
        "role have none.",
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
    )


class RootUnreachable(SluiceError):
    """The object store of the root did not answer, or answered with an error of its own."""

    code, exit_status, retry = "ROOT_UNREACHABLE", 17, True
    usual_remedy = "Check `AWS_ENDPOINT_URL` and the store; the next run resumes."

    no_answer = reason(
        "{where}: {meaning}.", "Check AWS_ENDPOINT_URL and the store. A run that it ended resumes."
    )
    root_silent = reason(
        "{root} has not answered in {seconds:g} seconds.",
        "Check the store and AWS_ENDPOINT_URL. Then load this page again.",
    )
    pipeline_silent = reason(
        "A file of pipeline {pipeline!r} below {root} has not answered in {seconds:g} seconds. "
        "Other pipelines are not affected.",
        "Read the files of its checkpoint and the ops tables there with another program, to find "
        "which does not answer. Then load this page again.",
    )


class RootEmpty(SluiceError):
    """The root can be read, and what was looked for was never written there."""

    code, exit_status = "ROOT_EMPTY", 29
    usual_remedy = "Give the API server the `SLUICE_ROOT` of the workers."

    absent = reason(
        "{root} does not exist on this machine, so no run has written to it.",
        "Before the first run that is right. Else set the workers' SLUICE_ROOT here, for "
        "pages on the API server, and mount the volume that it is on.",
    )
    no_run = reason(
        "No run has written to {root}.",
        "Before the first run that is right. Else give the API server the workers' SLUICE_ROOT.",
    )
    elsewhere = reason(
        "{root} has nothing of {pipeline}. Airflow has drains of it that succeeded.",
        "Give the API server the workers' SLUICE_ROOT. If the root was emptied since, run the "
        "DAG once.",
    )
    run_absent = reason(
        "{root} has nothing of the DAG run {run}, of which Airflow has a drain that succeeded.",
        "`sluice maintain` removes runs that are older than SLUICE_HISTORY_DAYS. Else give the "
        "API server the workers' SLUICE_ROOT.",
    )


class FormatNewer(SluiceError):
    """A newer Sluice wrote a file of the checkpoint, or a report, in a form that this one does
    not know.
    """

    code, exit_status = "FORMAT_NEWER", 39
    usual_remedy = "Run the newer version of Sluice."

    change_unknown = reason(
        "{path} has {change}, in a form that this Sluice does not know.",
        "Complete it with the version of Sluice that began it.",
    )
    form_unknown = reason(
        "{path} has form {found}. This Sluice knows forms up to {known}. A newer one wrote it.",
        "Run the newer version. To go back, restore a copy of the root from before the upgrade "
        "(docs/deploy.md, upgrading).",
    )


class DiskFull(SluiceError):
    """A disk that the run writes to has no space left."""

    code, exit_status = "DISK_FULL", 45
    usual_remedy = "Make room; the next run resumes."

    disk_full = reason(
        "A disk that the run writes to is full{detail}.",
        "Free space under SLUICE_ROOT and in the temporary folder. The next run resumes.",
    )


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
