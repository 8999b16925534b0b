"""Tables and files that pipelines read beside Kafka, or instead of it."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class DimensionUnfit(SluiceError):
    """A dimension's table is not there, or not as it is declared."""

    code, exit_status = "DIMENSION_UNFIT", 66
    usual_remedy = "Correct the declaration, or the table."

    absent = reason(
        "Dimension {name}: there is no table at {place}.",
        "Correct its path. Of a pipeline: run it first, `sluice run`; what passed is published.",
    )
    unreadable = reason(
        "Dimension {name}: {place} cannot be read: {error}.", "Put the table or file right."
    )
    replaced = reason(
        "Dimension {name}: somebody has written {place} since its version was noted.",
        "Run it again: it notes what is there then.",
    )
    too_large = reason(
        "Dimension {name}: the rows of {place} are more than {most:,} bytes. They go through the "
        "driver's memory.",
        "Declare fewer fields, or leave rows out that no record looks up. Of a file: make it a "
        "Delta table, of which only these columns are read.",
    )
    lacks_column = reason(
        "Dimension {name}: {place} has no column {column!r}.",
        "Correct the column's name. Of a field its path says it. The table has {there}.",
    )
    other_type = reason(
        "Dimension {name}: column {column!r} of {place} is {there}, and is declared as {declared}.",
        "Declare the type that the table has: Field(name=..., type=...).",
    )
    no_value = reason(
        "Dimension {name}: line {line} of {place} has {given!r} in column {column!r}, which is no "
        "{declared}.",
        "Correct the line, or declare another type. Text is written as {example}.",
        quoted=("given",),
    )
    null = reason(
        "Dimension {name}: column {column!r} of {place} is null in {rows} rows, one of them of the "
        "key {key}. The field is required.",
        "Correct the rows, or declare the field with required=False.",
        quoted=("key",),
    )


class DimensionAmbiguous(SluiceError):
    """A dimension's table has several rows of one key at one time. A record would find them all."""

    code, exit_status = "DIMENSION_AMBIGUOUS", 67
    usual_remedy = "Correct the rows, or declare with valid=(...) when each row is valid."

    several = reason(
        "Dimension {name}: version {version} of {place} has several rows of a key at one time. "
        "Keys: {keys}. Rows of the first: {rows}.",
        "Leave one row of each key. Or declare when each is valid: valid=('valid_from', "
        "'valid_to'), without times in common.",
        quoted=("keys", "rows"),
    )


class UpstreamUnfit(SluiceError):
    """A table that a pipeline reads as a topic is not there, or its rows cannot be read so."""

    code, exit_status = "UPSTREAM_UNFIT", 68
    usual_remedy = "Correct the declaration, or the table."

    absent = reason(
        "Table {name}: there is nothing at {place} yet.",
        "Correct its path. Of a pipeline: run it first, `sluice run {name}`; what passed its "
        "checks is published.",
    )
    lacks_column = reason(
        "Table {name}: {place} has no column {column!r}.",
        "Correct the field's name, or leave it out. The table has {there}.",
    )
    other_type = reason(
        "Table {name}: column {column!r} of {place} is {there}, and is declared as {declared}.",
        "Declare the type that the table has: Field(name=..., type=...).",
    )
    feature = reason(
        "Table {name} has {feature}: its rows cannot be numbered by their files.",
        "Take the feature off: DROP FEATURE, then REORG TABLE ... APPLY (PURGE). Or read it as a "
        "Dimension.",
    )
    log_gone = reason(
        "Table {name}: {wrong}.", "Make a checkpoint of the table's log: the classic form is read."
    )
    uncounted = reason(
        "Table {name}: its log does not say how many rows {file} has.",
        "Write statistics: ANALYZE TABLE ... COMPUTE DELTA STATISTICS.",
    )
    unranged = reason(
        "{pipeline} reads the table {name}, and no range of its output can be computed again: "
        "{why}. Rows that are replaced in {name} could never be mended.",
        "Give it ranges (docs/repairs.md); or read the table as a Dimension.",
    )


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
    like_one_gone = reason(
        "{name} in {path} begins with all {stop:,} bytes of {of}, which is gone. It may be "
        "that file, renamed: an older Sluice noted no number that the disk has for it.",
        "Rename it back if it is. Or set copies='skip' in the spec, and what has come since is "
        "read; or 'read', and all of it is, as of another file.",
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
