"""What people wrote: pipelines and their specs."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class SpecInvalid(SluiceError):
    """A pipeline's spec, or its logic.py, is invalid."""

    code, exit_status = "SPEC_INVALID", 10
    usual_remedy = "Correct the field that the line names."

    @reason(
        "topic {topic!r}: format.{name} is no Avro schema: {error}.",
        "Correct it: it is JSON.",
    )
    def no_avro_schema(self, topic: object, name: object, error: object) -> None: ...

    @reason(
        "topic {topic!r}: field {field} is required, and the declared schema has no {where}.",
        "Correct the field's path, or declare it with required=False.",
    )
    def schema_lacks(self, topic: object, field: object, where: object) -> None: ...

    @reason(
        "topic {topic!r}: field {field} is {given}, and the declared schema has {why} at {where}.",
        "Give the field a type and a format that such a value has, or correct its path.",
    )
    def schema_disagrees(
        self, topic: object, field: object, given: object, where: object, why: object
    ) -> None: ...

    @reason(
        "topic {topic!r}: no {what} is named {absent!r}.",
        "Name one of {names}, by path= of the field.",
    )
    def column_absent(self, topic: object, what: object, absent: object, names: object) -> None: ...

    @reason(
        "topic {topic!r}: format.descriptor is no FileDescriptorSet with the message {message}.",
        "Write it with: protoc --include_imports --descriptor_set_out=FILE.",
    )
    def no_descriptor(self, topic: object, message: object) -> None: ...

    @reason(
        "pipelines/{pipeline}/spec.py defines no SPEC = Pipeline(...).",
        "Define SPEC, as the spec.py of another pipeline does.",
    )
    def no_spec(self, pipeline: object) -> None: ...

    @reason(
        "pipelines/{pipeline}/spec.py: name is {given!r}; the folder, the table and the DAG "
        "must have the same name.",
        "Set name={pipeline!r}, or rename the folder.",
    )
    def name_differs(self, pipeline: object, given: object) -> None: ...

    @reason(
        "{where} is {kind}, and no Pipeline.",
        "Write NEXT = SPEC.model_copy(update={{...}}), or a Pipeline(...) of its own.",
    )
    def next_no_pipeline(self, where: object, kind: object) -> None: ...

    @reason(
        "{where}: state.version is {version}, as SPEC's is: it tells which of the two drains, "
        "so it stays with the spec when you rename NEXT to SPEC.",
        "Add 'state': SPEC.state.model_copy(update={{'version': {free}}}).",
    )
    def next_same_version(self, where: object, version: object, free: object) -> None: ...

    @reason(
        "{where} differs from SPEC in nothing but state.version.",
        "Change what the rebuild is for, or remove NEXT.",
    )
    def next_same(self, where: object) -> None: ...

    @reason(
        "pipelines/{pipeline}: names that begin with {prefix} are those of archives.",
        "Rename the folder.",
    )
    def name_reserved(self, pipeline: object, prefix: object) -> None: ...

    @reason(
        "topic {topic!r} is declared several times, with different archives or event times.",
        "Declare the topic once, and let all pipelines use that.",
    )
    def topic_declared_twice(self, topic: object) -> None: ...

    @reason(
        "{where}: {field} is {given!r}, and SPEC's is {right!r}: a rebuild replaces the "
        "content of one table, from the same records.",
        "Leave it as it is in SPEC; another topic or name is another pipeline.",
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
        "{folder}/{file} line {line} imports {module}: there is no module {name}.",
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
        "within: column is {column!r}: it is not a state metric.",
        "Use one of {known}.",
    )
    def no_state_metric(self, column: object, known: object) -> None: ...

    @reason(
        "GroupState.keys: {name} is {kind}, by which Sluice makes no buckets.",
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
        "{pipeline}: a Transform before the first stateful step has {condition}, which may "
        "make more rows.",
        "Put it after the stateful step, or use only columns and conditions.",
    )
    def transform_makes_rows(self, pipeline: object, condition: object) -> None: ...

    @reason(
        "{what} gives a column {column!r}, and Sluice adds columns with such names.",
        "Name it otherwise: none may be {own!r} or begin with {prefix!r}.",
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
        "{pipeline}: a Transform before the first stateful step leaves out the column {name}.",
        "Keep it: SELECT *, or SELECT ..., kafka. Sluice identifies late records by it.",
    )
    def transform_loses_column(self, pipeline: object, name: object) -> None: ...

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

    @reason("the JSON Schema cannot be fields: {pointer} {why}.", "{remedy}.")
    def json_schema_refused(self, pointer: object, why: object, remedy: object) -> None: ...

    @reason("{why}", "Correct the spec, then check it with `sluice validate`.")
    def dag_refused(self, why: object) -> None: ...


class PipelineUnknown(SluiceError):
    """The pipelines' package has no folder with that name."""

    code, exit_status = "PIPELINE_UNKNOWN", 11
    usual_remedy = "Correct the name; the line has the closest name, or all names."

    @reason(
        "there is no pipeline {pipeline!r}: {package} has no such folder.",
        "{hint}",
    )
    def folder_absent(self, pipeline: object, package: object, hint: object) -> None: ...

    @reason(
        "no topic declares the archive {pipeline!r}.",
        "Declare it: Topic(..., archive=Archive()). The archives are: {archives}.",
    )
    def archive_absent(self, pipeline: object, archives: object) -> None: ...
