"""The root: its folders, its object store, its forms."""

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
