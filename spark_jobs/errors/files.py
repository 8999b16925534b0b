"""A folder of files as a source."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class FilesUnfit(SluiceError):
    """A file of the source cannot be read, or is not what was noted of it."""

    code, exit_status = "FILES_UNFIT", 92
    usual_remedy = "Move it out of the folder, or put back what was there."

    absent = reason("There is no folder {path}.", "Mount it, or correct `path` in the spec.")
    other_store = reason(
        "{path} is in an object store, and the root {root} is not: Sluice has no credentials for "
        "it.",
        "Put the files where the root is, or the root into that store.",
    )
    changed = reason(
        "{name} in {path} is not what was noted on {noted}: it had {was:,} bytes then, and has "
        "{size:,}. Its records {first:,} to {behind:,} are others now.",
        "Put the noted content back under this name, or take the file away. Give the new content "
        "another name: it is read as a new file.",
    )
    copy = reason(
        "{name} in {path} has the content of {of}, which is read already.",
        "Take it out of the folder. Or say what becomes of such files: copies='skip' or 'read' in "
        "the spec.",
    )
    renamed = reason(
        "{name} in {path} is {of}, renamed: its first {stop:,} bytes are read already.",
        "Rename it back. Or set copies='skip' in the spec: what has come since is read then.",
    )
    compressed = reason(
        "{name} in {path} is compressed, by its name. Of text Sluice reads gzip alone.",
        "Write it plain or as .gz, or leave it out: names='*.jsonl' in the spec.",
    )
    damaged = reason(
        "{name} in {path} cannot be read: {error}.",
        "Take it out of the folder, and write it again. If it was not whole yet, set a longer "
        "`settled`, or a `marker`.",
    )
    too_long = reason(
        "{name} in {path} has a record of more than {most:,} bytes, from byte {at:,} on.",
        "A record is a line: write one a line, or correct `quote` of Csv.",
    )
    other_header = reason(
        "{name} in {path} has the columns {there}; format.columns has {declared}.",
        "Write the file with these columns, in this order. If it has no such line, set "
        "header=False.",
    )
    other_schema = reason(
        "{name} in {path} was written with another schema than the spec declares: {schema}.",
        "Give this one as Avro(writer=...), or write the file with the declared one.",
        quoted=("schema",),
    )
    went = reason("{name} is no longer in {path}.", "Put it back, as it was.")
    unreadable = reason("{name} in {path} cannot be read: {error}.", "Let the run's user read it.")
