"""State: unreadable, moved."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class StateUnreadable(SluiceError):
    """The requested state does not exist: no such batch, step or key, or Spark has purged it."""

    code, exit_status = "STATE_UNREADABLE", 34
    usual_remedy = "Use one of the values that the line lists."

    vacuumed_meanwhile = reason(
        "VACUUM has removed files of version {version} of {path} since this command looked. "
        "Nothing was changed.",
        "Go back to a later batch: sluice rewind {pipeline}",
    )
    inside_rebuild = reason(
        "Batches 0 to {last} of {table} share version {version}, which a rebuild wrote. So there "
        "is no version after batch {batch}.",
        "Rewind to batch {last} or later. Or go back to the former logic: `sluice rebuild "
        "{pipeline} --back`.",
    )
    content_gone = reason(
        "Version {version} of {table}, its content after batch {batch}, is gone. VACUUM or a "
        "clean-up of its log removed files of it.",
        "Rewind to a later batch, or start again: sluice reset {pipeline}",
    )
    state_incomplete = reason(
        "The checkpoint of {pipeline} has no complete state after batch {batch}. It has that of "
        "batches {first} to {last}.",
        "Rewind to one of those, or start again: sluice reset {pipeline}",
    )
    state_of_no_batch = reason(
        "The checkpoint of {pipeline} has a complete state after no batch.",
        "If there is one, see what is damaged: sluice doctor {pipeline}. Or start again: sluice "
        "reset {pipeline}",
    )
    key_no_pair = reason(
        "--key is {argument!r}, which is not COLUMN=VALUE.", "Write for example --key carrier=AA."
    )
    key_twice = reason("--key names {column} twice.", "Name each column once.")
    key_type_unsupported = reason(
        "--key {column}: --key does not support the type {kind}.", "Name other columns of the key."
    )
    changes_without_key = reason(
        "--changes needs a key. The changes of all keys would be the whole state of each batch.",
        "Name a key: --key COLUMN=VALUE.",
    )
    keep_of_part = reason(
        "--keep keeps the state of all steps and keys for the views. A part would look like the "
        "whole.",
        "Leave out --key, --step and --changes, or leave out --keep.",
    )
    no_state_yet = reason(
        "{pipeline} has no state yet. {checkpoint} has no committed batch.",
        "Run `sluice drain {pipeline}` first.",
    )
    kept_unreadable = reason(
        "{path}, which `sluice state --keep` wrote, does not parse.",
        "Write it again: sluice state {pipeline} --keep",
    )
    checkpoint_moved = reason(
        "{checkpoint} was moved. Its notes still name the place before.",
        "Run `sluice drain {pipeline}` first: it corrects them.",
    )
    step_unfit = reason(
        "{pipeline} has no step {step} with state.", "Steps with state: {available}."
    )
    stateless = reason(
        "No step of {pipeline} keeps state.", "Name a pipeline with a stateful step."
    )
    batch_absent = reason("Batch {batch} is not committed.", "{available}")
    batch_purged = reason(
        "Spark has purged the state of batch {batch}. It keeps only the last states.", "{available}"
    )
    key_column_absent = reason("The key has no column {name}.", "Its columns are {key}.")
    too_many_rows = reason(
        "{rows:,} rows of step {step} have this key. Changes are shown for at most {most:,} rows.",
        "Name more columns of the key.",
    )
    key_value_unfit = reason(
        "--key {column} is {value!r}, which is not a {kind}.", "Write it as {example}."
    )
    key_columns_absent = reason("No step has the {columns}.", "Steps with state: {available}.")
    key_columns_not_of_step = reason(
        "Step {step} does not have the {columns}.", "Steps with state: {available}."
    )


class InitialStateMissing(SluiceError):
    """The Delta table with the initial state of a GroupState does not exist, or lacks a column."""

    code, exit_status = "INITIAL_STATE_MISSING", 35
    usual_remedy = "Write the table, or correct `initial_state` in the spec."

    initial_table_absent = reason(
        "GroupState.initial_state names {path}. There is no Delta table.",
        "Write it first, or remove initial_state from the spec.",
    )
    initial_key_absent = reason(
        "{path} lacks the key column {missing}. Its columns: {columns}.",
        "Write it with the GroupState's keys.",
    )


class RepartitionRefused(SluiceError):
    """`sluice repartition` cannot move this state, or what Spark wrote is not the same state."""

    code, exit_status = "REPARTITION_REFUSED", 96
    usual_remedy = "Do what the line says."

    state_differs = reason(
        "The state of {pipeline} in {wanted} stores differs from that in {number}: operator "
        "{step} has {after} and had {before}.",
        "Nothing is changed. Please report this: it is a defect of Spark or of Sluice.",
    )
    stores_out_of_range = reason(
        "{pipeline} cannot have {wanted:,} state stores for each step.",
        "Name a number from 1 to {most:,}: about as many as cores.",
    )
    stateless = reason(
        "{pipeline} keeps no state. There is nothing to move.",
        "Name a pipeline with a stateful step.",
    )
    no_state_yet = reason(
        "{pipeline} has no state yet. {checkpoint} has no committed batch.",
        "Set state.shuffle_partitions={wanted} in spec.py. The first batch takes it.",
    )
    rebuild_at_work = reason(
        "{pipeline}: a rebuild is at work since {began}. Its state has its own stores, and a "
        "switch would replace this one.",
        "Complete it (`sluice rebuild {pipeline} --execute`), or remove it (`--discard`).",
    )
    batch_uncommitted = reason(
        "Batch {newest} of {pipeline} began and was not committed. It has no state.",
        "Let a run complete it: sluice drain {pipeline}",
    )
    provider_unmovable = reason(
        "The state of {pipeline} is in {provider}, format {form}. Spark moves only RocksDB's, of "
        "format 2.",
        "Compute it again with another store: `sluice rebuild {pipeline}`, with NEXT in spec.py.",
    )
    inputs_apart = reason(
        "Step {step} of {pipeline} takes the inputs {inputs} apart. Spark has stores of each, and "
        "nobody has tried to move these.",
        "Compute it again with another number: `sluice rebuild {pipeline}`, with NEXT in spec.py.",
    )
    step_without_keys = reason(
        "Step {step} of {pipeline} has neither a window nor keys. Its one row is always in one "
        "store. Spark would move it where no batch looks.",
        "Keep the number. More stores would not help this step.",
    )
