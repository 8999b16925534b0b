"""What people wrote: pipelines and their specs."""

from __future__ import annotations

from spark_jobs.errors.base import Quoted, SluiceError, reason


class SpecInvalid(SluiceError):
    """A pipeline's spec, or its logic.py, is invalid."""

    code, exit_status = "SPEC_INVALID", 10
    usual_remedy = "Correct the field that the line names."

    @reason(
        "Topic {topic!r}: format.{name} is no Avro schema: {error}.",
        "Correct it. It must be JSON.",
    )
    def no_avro_schema(self, topic: object, name: object, error: object) -> None: ...

    @reason(
        "Topic {topic!r}: field {field} is required, and the declared schema has no {where}.",
        "Correct the field's path, or declare it with required=False.",
    )
    def schema_lacks(self, topic: object, field: object, where: object) -> None: ...

    @reason(
        "Topic {topic!r}: field {field} is {given}, and the declared schema has {why} at {where}.",
        "Give the field a type and a format that such a value has, or correct its path.",
    )
    def schema_disagrees(
        self, topic: object, field: object, given: object, where: object, why: object
    ) -> None: ...

    @reason(
        "Topic {topic!r}: no {what} is named {absent!r}.",
        "Set the field's path to one of {names}.",
    )
    def column_absent(self, topic: object, what: object, absent: object, names: object) -> None: ...

    @reason(
        "Topic {topic!r}: format.descriptor is no FileDescriptorSet with the message {message}.",
        "Write it with: protoc --include_imports --descriptor_set_out=FILE.",
    )
    def no_descriptor(self, topic: object, message: object) -> None: ...

    @reason(
        "pipelines/{pipeline}/spec.py defines no SPEC = Pipeline(...).",
        "Define SPEC, as the spec.py of another pipeline does.",
    )
    def no_spec(self, pipeline: object) -> None: ...

    @reason(
        "pipelines/{pipeline}/spec.py has name={given!r}. The folder, the table and the DAG must "
        "have the same name.",
        "Set name={pipeline!r}, or rename the folder.",
    )
    def name_differs(self, pipeline: object, given: object) -> None: ...

    @reason(
        "{where} is of type {kind}. It must be a Pipeline.",
        "Write NEXT = SPEC.model_copy(update={{...}}), or a Pipeline(...) of its own.",
    )
    def next_no_pipeline(self, where: object, kind: object) -> None: ...

    @reason(
        "{where} needs a state.version of its own: the number says which of the two is live. Both "
        "have {version}.",
        "Add 'state': SPEC.state.model_copy(update={{'version': {free}}}).",
    )
    def next_same_version(self, where: object, version: object, free: object) -> None: ...

    @reason(
        "{where} differs from SPEC in state.version alone.",
        "Change what the rebuild is for, or remove NEXT.",
    )
    def next_same(self, where: object) -> None: ...

    @reason(
        "pipelines/{pipeline}: only archives have names that begin with {prefix}.",
        "Rename the folder.",
    )
    def name_reserved(self, pipeline: object, prefix: object) -> None: ...

    @reason(
        "Topic {topic!r} is declared several times, with different archives, event times or roots.",
        "Declare the topic once, and use it in all pipelines.",
    )
    def topic_declared_twice(self, topic: object) -> None: ...

    @reason(
        "{where}: {field} is {given!r}, and SPEC's is {right!r}. A rebuild replaces one table's "
        "content, from the same records.",
        "Use SPEC's value. For another topic or name, write another pipeline.",
    )
    def next_field_differs(
        self, where: object, field: object, given: object, right: object
    ) -> None: ...

    @reason(
        "pipelines/{pipeline}/spec.py cannot be imported: {kind}: {error}.",
        "Correct the file, then check it with `sluice validate`.",
    )
    def import_failed(self, pipeline: object, kind: object, error: object) -> None: ...

    @reason(
        "pipelines/{pipeline}/spec.py imports {module}, an older name of {now}.",
        "Import the same classes from {now}, then check the file with `sluice validate`.",
    )
    def import_renamed(self, pipeline: object, module: object, now: object) -> None: ...

    @reason(
        "{folder}/{file} line {line} imports {module}. There is no module {name}.",
        "Write the module, or correct the import.",
    )
    def module_absent(
        self, folder: object, file: object, line: object, module: object, name: object
    ) -> None: ...

    @reason(
        "{file}: {name}: {why}.",
        "Correct logic.py, or the name in spec.py.",
    )
    def function_unfit(self, file: object, name: object, why: object) -> None: ...

    @reason(
        "Spark cannot plan the query of {pipeline}: {said}.",
        "Correct the expression in spec.py, or the function in logic.py.",
    )
    def query_unplannable(self, pipeline: object, said: object) -> None: ...

    @reason(
        "within: column {column!r} is no state metric.",
        "Use one of {known}.",
    )
    def no_state_metric(self, column: object, known: object) -> None: ...

    @reason(
        "GroupState.keys: {name} has type {kind}. Sluice makes no buckets of it.",
        "Use a key of {known}, or form='row'.",
    )
    def key_unpackable(self, name: object, kind: object, known: object) -> None: ...

    @reason(
        "pipelines/{pipeline}/logic.py has no {name}: {error}.",
        "Write it, or correct the name in spec.py.",
    )
    def logic_absent(self, pipeline: object, name: object, error: object) -> None: ...

    @reason(
        "{pipeline}: a Transform before the first stateful step uses the record's raw bytes: "
        "{why}.",
        "{way}.",
    )
    def raw_bytes_early(self, pipeline: object, why: object, way: object) -> None: ...

    @reason(
        "{field} is {text!r}: {why}.",
        "Compute on the record's columns with Spark's own functions, or in logic.py.",
    )
    def expression_refused(self, field: object, text: object, why: object) -> None: ...

    @reason(
        "{what} returned {kind}, not a DataFrame.",
        "Return the DataFrame in logic.py.",
    )
    def no_dataframe(self, what: object, kind: object) -> None: ...

    @reason(
        "{pipeline}: a Transform before the first stateful step has {condition}. It may make "
        "more rows.",
        "Put it after the stateful step, or use only columns and conditions.",
    )
    def transform_makes_rows(self, pipeline: object, condition: object) -> None: ...

    @reason(
        "{what} gives a column {column!r}. Sluice adds columns with such names.",
        "Rename it: no name may be {own!r} or begin with {prefix!r}.",
    )
    def column_reserved(
        self, what: object, column: object, own: object, prefix: object
    ) -> None: ...

    @reason(
        "{what}: {error}",
        "Correct it in spec.py or logic.py.",
    )
    def transform_failed(self, what: object, error: object) -> None: ...

    @reason(
        "{pipeline}: a Transform before the first stateful step drops the column {name}. Late "
        "records are found by it.",
        "Keep it: SELECT *, or SELECT ..., kafka.",
    )
    def transform_loses_column(self, pipeline: object, name: object) -> None: ...

    @reason(
        "{pipeline}: Spark's plan lets late rows enter step {step}. Its optimizer has taken away "
        "the column {column}, by which Spark tells them.",
        "Keep {column} in the Transforms behind the step.",
    )
    def late_rows_enter(self, pipeline: object, step: object, column: object) -> None: ...

    @reason(
        "{what} names the column {name}. The rows before it have only {columns}.",
        "Name one of these, or let a Transform make it.",
    )
    def no_such_key(self, what: object, name: object, columns: object) -> None: ...

    @reason(
        "{what} compares {name}, a {kind}. Spark and Delta may compare such values differently.",
        "Use a column of an integer, decimal, string, date or timestamp.",
    )
    def incomparable(self, what: object, name: object, kind: object) -> None: ...

    @reason(
        "{what} adds a column {name}, and the rows before it have one.",
        "Rename that one in a Transform.",
    )
    def column_taken(self, what: object, name: object) -> None: ...

    @reason(
        "{what}: {why}.",
        "A Transform keeps no state.",
    )
    def transform_with_state(self, what: object, why: object) -> None: ...

    @reason("{file} is not valid Python: {error}.", "Correct it.")
    def not_python(self, file: object, error: object) -> None: ...

    @reason(
        "{file} has an expression that is nested too deeply for Python.",
        "Split it: an operator nests once for each of its operands.",
    )
    def nested_too_deeply(self, file: object) -> None: ...

    @reason("{subject}: {problems}")
    def fields_refused(self, subject: object, fields: object, problems: object) -> None: ...

    @reason(
        "The JSON Schema gives no fields: {pointer} {why}.",
        "{remedy}.",
    )
    def json_schema_refused(self, pointer: object, why: object, remedy: object) -> None: ...

    @reason("{why}", "Correct the spec, then check it with `sluice validate`.")
    def dag_refused(self, why: object) -> None: ...


class SampleUnusable(SluiceError):
    """`sluice new` or `sluice preview` cannot use the sample."""

    code, exit_status = "SAMPLE_UNUSABLE", 19
    usual_remedy = "Name another topic or file."

    @reason("There are no records in {source}.", "Publish some, or name a file: `--file`.")
    def no_records(self, source: object) -> None: ...

    @reason("{path} cannot be read: {error}.")
    def unreadable(self, path: object, error: object) -> None: ...

    @reason(
        "{path} is {what}. A file has one record a line.", "Make such a file: `{command} > FILE`."
    )
    def no_lines(self, path: object, what: object, command: object) -> None: ...

    @reason(
        "{found} of {sampled} values are JSON objects, and the others are no rows of CSV. A spec "
        "is drafted of these, and of a registry's Avro.",
        "Declare the topic yourself, with its format: docs/records.md.",
    )
    def no_json(self, found: object, sampled: object) -> None: ...

    @reason(
        "Most of {sampled} values begin with the id of a schema, and no registry is declared that "
        "has it.",
        "Name it in the file of SLUICE_KAFKA_CONFIG: schema.registry.url.",
    )
    def by_registry(self, sampled: object) -> None: ...

    @reason(
        "The registry's schema of the newest record is of type {kind}. A spec is drafted of Avro "
        "and Protobuf.",
        "Declare the topic yourself: docs/records.md.",
    )
    def other_schema(self, kind: object) -> None: ...

    @reason(
        "{records} of {sampled} records would be malformed: {reason}.",
        "Declare the topic yourself: docs/records.md.",
    )
    def mostly_malformed(self, records: object, sampled: object, reason: Quoted) -> None: ...

    @reason(
        "{pipeline} reads several topics, or is an archive. A preview reads one topic.",
        "Run it into a root of its own: SLUICE_ROOT.",
    )
    def no_preview(self, pipeline: object) -> None: ...

    @reason("No record of {sampled} has a field.")
    def no_fields(self, sampled: object) -> None: ...

    @reason(
        "{name} has two underscores in a row, as the DAGs and archives of other pipelines have.",
        "Choose a name without them.",
    )
    def name_of_another(self, name: object) -> None: ...

    @reason(
        "{name!r} is no pipeline's name: a folder, a table and a DAG get it. They have lower-case "
        "letters, digits and underscores, a letter first, at most 63.",
        "Name it so, and its topic beside it: --topic {topic}.",
    )
    def no_name(self, name: object, topic: object) -> None: ...

    @reason(
        "{folder} can be no package of pipelines: Python cannot import it by the name {name!r}.",
        "Name a folder like `pipelines`: letters, digits and _, and none of Python's own modules.",
    )
    def no_package(self, folder: object, name: object) -> None: ...

    @reason(
        "{folder} is there already. Nothing is overwritten.",
        "Choose another name, or remove the folder.",
    )
    def folder_there(self, folder: object) -> None: ...


class PipelineUnknown(SluiceError):
    """The pipelines' package has no folder with that name."""

    code, exit_status = "PIPELINE_UNKNOWN", 11
    usual_remedy = "Correct the name; the line has the closest name, or all names."

    @reason(
        "There is no pipeline {pipeline!r}: {package} has no such folder.",
        "{hint}",
    )
    def folder_absent(self, pipeline: object, package: object, hint: object) -> None: ...

    @reason(
        "dags(of=...) has arguments for {name!r}. There is no such pipeline.",
        "The pipelines are: {known}.",
    )
    def of_dags(self, name: object, known: object) -> None: ...

    @reason(
        "No topic declares the archive {pipeline!r}.",
        "Declare it: Topic(..., archive=Archive()). The archives are: {archives}.",
    )
    def archive_absent(self, pipeline: object, archives: object) -> None: ...


class ContractBroken(SluiceError):
    """`sluice validate --against`: a change breaks stored state, a table, its consumers, or
    producers of its topic.
    """

    code, exit_status = "CONTRACT_BROKEN", 61
    usual_remedy = "Do what the table says; or, if it is meant, name whom with `--accept`."

    @reason(
        "Since {ref} ({commit}) {changes} change(s) break {whom} of {pipelines}.",
    )
    def broken(
        self, ref: object, commit: object, changes: object, whom: object, pipelines: object
    ) -> None: ...


class CommitUnreadable(SluiceError):
    """The commit of `sluice validate --against` cannot be read, or its pipelines not be loaded."""

    code, exit_status = "COMMIT_UNREADABLE", 62
    usual_remedy = "Name a commit of the pipelines' repository."

    @reason(
        "The pipelines in {folder} are in no repository of git: {error}.",
        "Run it in the clone that has the pipelines.",
    )
    def no_repository(self, folder: object, error: object) -> None: ...

    @reason(
        "git cannot give {ref}: {error}.",
        "Name a commit that is there. In CI fetch it first: `git fetch origin main`, then "
        "`--against FETCH_HEAD`.",
    )
    def unknown(self, ref: object, error: object) -> None: ...

    @reason(
        "{ref} has no folder {folder}, but {file}, of a pipeline that is in the folder now.",
        "Name a commit that has the folder, or look at the changes yourself: a checkpoint goes by "
        "the pipeline's name.",
    )
    def elsewhere(self, ref: object, folder: object, file: object) -> None: ...

    @reason(
        "git ignores {folder}, where the pipelines are: {ref} cannot have them.",
        "Load them from the clone's own folder: set `SLUICE_PIPELINES` and `PYTHONPATH`.",
    )
    def ignored(self, ref: object, folder: object) -> None: ...

    @reason("The pipelines of {ref} cannot be loaded: {error}.")
    def not_loaded(self, ref: object, error: object) -> None: ...
