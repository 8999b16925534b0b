"""What people write beside a spec: samples, cases, contracts, commits."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


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


class SampleUnusable(SluiceError):
    """`sluice new` or `sluice preview` cannot use the sample."""

    code, exit_status = "SAMPLE_UNUSABLE", 19
    usual_remedy = "Name another topic or file."

    no_records = reason(
        "There are no records in {source}.", "Publish some, or name a file: `--file`."
    )
    unreadable = reason("{path} cannot be read: {error}.")
    no_lines = reason(
        "{path} is {what}. A file has one record a line.", "Make such a file: `{command} > FILE`."
    )
    no_json = reason(
        "{found} of {sampled} values are JSON objects, and the others are no rows of CSV. A spec "
        "is drafted of these, and of a registry's Avro.",
        "Declare the topic yourself, with its format: docs/records.md.",
    )
    several_in_one = reason(
        "{found} of {sampled} values have several JSON objects, in a list or in lines. The account "
        "is per record of Kafka, and such a value is malformed.",
        "Let the producer send each object in a record of its own.",
    )
    by_registry = reason(
        "Most of {sampled} values begin with the id of a schema, and no registry is declared that "
        "has it.",
        "Name it in the file of SLUICE_KAFKA_CONFIG: schema.registry.url.",
    )
    other_schema = reason(
        "The registry's schema of the newest record is of type {kind}. A spec is drafted of Avro "
        "and Protobuf.",
        "Declare the topic yourself: docs/records.md.",
    )
    mostly_malformed = reason(
        "{records} of {sampled} records would be malformed: {reason}.",
        "Declare the topic yourself: docs/records.md.",
        quoted=("reason",),
    )
    no_preview = reason(
        "{pipeline} reads several topics, or is an archive. A preview reads one topic.",
        "Run it into a root of its own: SLUICE_ROOT.",
    )
    no_fields = reason("No record of {sampled} has a field.")
    name_of_another = reason(
        "{name} has two underscores in a row, as the DAGs and archives of other pipelines have.",
        "Choose a name without them.",
    )
    no_name = reason(
        "{name!r} is no pipeline's name: a folder, a table and a DAG get it. They have lower-case "
        "letters, digits and underscores, a letter first, at most 63.",
        "Name it so, and its topic beside it: --topic {topic}.",
    )
    no_package = reason(
        "{folder} can be no package of pipelines: Python cannot import it by the name {name!r}.",
        "Name a folder like `pipelines`: letters, digits and _, and none of Python's own modules.",
    )
    folder_there = reason(
        "{folder} is there already. Nothing is overwritten.",
        "Choose another name, or remove the folder.",
    )


class ContractBroken(SluiceError):
    """`sluice validate --against`: a change breaks stored state, a table, its consumers, or
    producers of its topic.
    """

    code, exit_status = "CONTRACT_BROKEN", 61
    usual_remedy = "Do what the table says; or, if it is meant, name whom with `--accept`."

    broken = reason("Since {ref} ({commit}) {changes} change(s) break {whom} of {pipelines}.")


class CommitUnreadable(SluiceError):
    """The commit of `sluice validate --against` cannot be read, or its pipelines not be loaded."""

    code, exit_status = "COMMIT_UNREADABLE", 62
    usual_remedy = "Name a commit of the pipelines' repository."

    no_repository = reason(
        "The pipelines in {folder} are in no repository of git: {error}.",
        "Run it in the clone that has the pipelines.",
    )
    unknown = reason(
        "git cannot give {ref}: {error}.",
        "Name a commit that is there. In CI fetch it first: `git fetch origin main`, then "
        "`--against FETCH_HEAD`.",
    )
    elsewhere = reason(
        "{ref} has no folder {folder}, but {file}, of a pipeline that is in the folder now.",
        "Name a commit that has the folder, or look at the changes yourself: a checkpoint goes by "
        "the pipeline's name.",
    )
    ignored = reason(
        "git ignores {folder}, where the pipelines are: {ref} cannot have them.",
        "Load them from the clone's own folder: set `SLUICE_PIPELINES` and `PYTHONPATH`.",
    )
    not_loaded = reason("The pipelines of {ref} cannot be loaded: {error}.")
