"""What people wrote: pipelines and their specs."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class SpecInvalid(SluiceError):
    """A pipeline's spec, or its logic.py, is invalid."""

    code, exit_status = "SPEC_INVALID", 10
    usual_remedy = "Correct the field that the line names."

    no_avro_schema = reason(
        "Topic {topic!r}: format.{name} is no Avro schema: {error}.", "Correct it. It must be JSON."
    )
    schema_lacks = reason(
        "Topic {topic!r}: field {field} is required, and the declared schema has no {where}.",
        "Correct the field's path, or declare it with required=False.",
    )
    schema_disagrees = reason(
        "Topic {topic!r}: field {field} is {given}, and the declared schema has {why} at {where}.",
        "Give the field a type and a format that such a value has, or correct its path.",
    )
    column_absent = reason(
        "Topic {topic!r}: no {what} is named {absent!r}.", "Set the field's path to one of {names}."
    )
    no_descriptor = reason(
        "Topic {topic!r}: format.descriptor is no FileDescriptorSet with the message {message}.",
        "Write it with: protoc --include_imports --descriptor_set_out=FILE.",
    )
    no_spec = reason(
        "pipelines/{pipeline}/spec.py defines no SPEC = Pipeline(...).",
        "Define SPEC, as the spec.py of another pipeline does.",
    )
    reads_itself = reason(
        "Pipeline {pipeline!r} reads its own table, or one that is made of it.",
        "Let Table(of=...) name a pipeline whose table is made before.",
    )
    name_differs = reason(
        "pipelines/{pipeline}/spec.py has name={given!r}. The folder, the table and the DAG must "
        "have the same name.",
        "Set name={pipeline!r}, or rename the folder.",
    )
    next_no_pipeline = reason(
        "{where} is of type {kind}. It must be a Pipeline.",
        "Write NEXT = SPEC.model_copy(update={{...}}), or a Pipeline(...) of its own.",
    )
    next_same_version = reason(
        "{where} needs a state.version of its own: the number says which of the two is live. Both "
        "have {version}.",
        "Add 'state': SPEC.state.model_copy(update={{'version': {free}}}).",
    )
    next_same = reason(
        "{where} differs from SPEC in state.version alone.",
        "Change what the rebuild is for, or remove NEXT.",
    )
    name_reserved = reason(
        "pipelines/{pipeline}: only archives have names that begin with {prefix}.",
        "Rename the folder.",
    )
    topic_declared_twice = reason(
        "Topic {topic!r} is declared several times, with different archives, event times or roots.",
        "Declare the topic once, and use it in all pipelines.",
    )
    next_field_differs = reason(
        "{where}: {field} is {given!r}, and SPEC's is {right!r}. A rebuild replaces one table's "
        "content, from the same records.",
        "Use SPEC's value. For another topic or name, write another pipeline.",
    )
    import_failed = reason(
        "pipelines/{pipeline}/spec.py cannot be imported: {kind}: {error}.",
        "Correct the file, then check it with `sluice validate`.",
    )
    import_renamed = reason(
        "pipelines/{pipeline}/spec.py imports {module}, an older name of {now}.",
        "Import the same classes from {now}, then check the file with `sluice validate`.",
    )
    function_unfit = reason("{file}: {name}: {why}.", "Correct logic.py, or the name in spec.py.")
    query_unplannable = reason(
        "Spark cannot plan the query of {pipeline}: {said}.",
        "Correct the expression in spec.py, or the function in logic.py.",
    )
    no_state_metric = reason("within: column {column!r} is no state metric.", "Use one of {known}.")
    looked_up_by_other_type = reason(
        "Lookup.on: {name} has type {kind}, and {key} of {dimension} is {type}.",
        "Declare the key as the table has it: Field(name={key!r}, type=...). Or change the "
        "column's type in a Transform before.",
    )
    sides_in_circle = reason(
        "{pipeline} looks up rows that depend on its own: {way}.",
        "Look them up in a table that is computed without it.",
    )
    key_unpackable = reason(
        "GroupState.keys: {name} has type {kind}. Sluice makes no buckets of it.",
        "Use a key of {known}, or form='row'.",
    )
    logic_absent = reason(
        "pipelines/{pipeline}/logic.py has no {name}: {error}.",
        "Write it, or correct the name in spec.py.",
    )
    raw_bytes_early = reason(
        "{pipeline}: a Transform before the first stateful step uses the record's raw bytes: "
        "{why}.",
        "{way}.",
    )
    expression_refused = reason(
        "{field} is {text!r}: {why}.",
        "Compute on the record's columns with Spark's own functions, or in logic.py.",
    )
    rule_unusable = reason(
        "{pipeline}: rule {rule!r} of topic {topic} is {sql!r}: {why}.",
        "Write a condition that a GOOD record fulfils, over its columns {columns}.",
    )
    no_dataframe = reason(
        "{what} returned {kind}, not a DataFrame.", "Return the DataFrame in logic.py."
    )
    transform_makes_rows = reason(
        "{pipeline}: a Transform before the first stateful step has {condition}. It may make "
        "more rows.",
        "Put it after the stateful step, or use only columns and conditions.",
    )
    column_reserved = reason(
        "{what} gives a column {column!r}. Sluice adds columns with such names.",
        "Rename it: no name may be {own!r} or begin with {prefix!r}.",
    )
    transform_failed = reason("{what}: {error}", "Correct it in spec.py or logic.py.")
    transform_loses_column = reason(
        "{pipeline}: a Transform before the first stateful step drops the column {name}. Late "
        "records are found by it.",
        "Keep it: SELECT *, or SELECT ..., kafka.",
    )
    late_rows_enter = reason(
        "{pipeline}: Spark's plan lets late rows enter step {step}. Its optimizer has taken away "
        "the column {column}, by which Spark tells them.",
        "Keep {column} in the Transforms behind the step.",
    )
    no_such_key = reason(
        "{what} names the column {name}. The rows before it have only {columns}.",
        "Name one of these, or let a Transform make it.",
    )
    incomparable = reason(
        "{what} compares {name}, a {kind}. Spark and Delta may compare such values differently.",
        "Use a column of an integer, decimal, string, date or timestamp.",
    )
    column_taken = reason(
        "{what} adds a column {name}, and the rows before it have one.",
        "Rename that one in a Transform.",
    )
    transform_with_state = reason("{what}: {why}.", "A Transform keeps no state.")
    not_python = reason("{file} is not valid Python: {error}.", "Correct it.")
    nested_too_deeply = reason(
        "{file} has an expression that is nested too deeply for Python.",
        "Split it: an operator nests once for each of its operands.",
    )
    fields_refused = reason("{subject}: {problems}", unsaid=("fields",))
    json_schema_refused = reason("The JSON Schema gives no fields: {pointer} {why}.", "{remedy}.")
    dag_refused = reason("{why}", "Correct the spec, then check it with `sluice validate`.")


class PipelineUnknown(SluiceError):
    """The pipelines' package has no folder with that name."""

    code, exit_status = "PIPELINE_UNKNOWN", 11
    usual_remedy = "Correct the name; the line has the closest name, or all names."

    folder_absent = reason(
        "There is no pipeline {pipeline!r}: {package} has no such folder.", "{hint}"
    )
    of_dags = reason(
        "dags(of=...) has arguments for {name!r}. There is no such pipeline.",
        "The pipelines are: {known}.",
    )
    archive_absent = reason(
        "No topic declares the archive {pipeline!r}.",
        "Declare it: Topic(..., archive=Archive()). The archives are: {archives}.",
    )
