"""State: of a changed spec, unreadable, moved."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.errors.base import SluiceError, reason


class StateIncompatible(SluiceError):
    """The spec changed: Spark cannot resume the state, or would compute wrong results from it."""

    code, exit_status = "STATE_INCOMPATIBLE", 31
    usual_remedy = "Revert the change, or start over from Kafka: `sluice reset`."

    @reason(
        "The state at {folder} was made by another spec: {differences}.",
        "{revert};{declare} or {reset}.",
    )
    def spec_changed(
        self, folder: object, differences: object, revert: object, declare: object, reset: object
    ) -> None: ...

    @reason(
        "{pipeline}: {text}.",
    )
    def types_changed(self, pipeline: object, text: object) -> None: ...

    @reason(
        "Batch {batch} of {pipeline} was written with the old {what}. Its state is not stored yet.",
        "Put the old {what} back and run once: sluice drain {pipeline}. Then change it.",
    )
    def batch_half_done(self, batch: object, pipeline: object, what: object) -> None: ...

    @reason(
        "The corrected expressions of {pipeline} need a state of other types: {changes}.",
        "Write an expression of the same type, with the same aggregate functions. Or start again "
        "from Kafka: `sluice reset {pipeline}`.",
    )
    def corrected_type_differs(self, pipeline: object, changes: object) -> None: ...

    @reason(
        "The state at {folder} was made by other steps: {differences}.",
        "Revert spec.py. See what is possible: sluice plan {pipeline}",
    )
    def steps_changed(self, folder: object, differences: object, pipeline: object) -> None: ...

    @reason(
        "The state at {folder} was written with a different spec: {differences}.",
        "Revert the spec to read this state.",
    )
    def written_by_other_spec(self, folder: object, differences: object) -> None: ...


class StateUnreadable(SluiceError):
    """The requested state does not exist: no such batch, step or key, or Spark has purged it."""

    code, exit_status = "STATE_UNREADABLE", 34
    usual_remedy = "Use one of the values that the line lists."

    @reason(
        "VACUUM has removed files of version {version} of {path} since this command looked. "
        "Nothing was changed.",
        "Go back to a later batch: sluice rewind {pipeline}",
    )
    def vacuumed_meanwhile(self, version: object, path: object, pipeline: object) -> None: ...

    @reason(
        "Batches 0 to {last} of {table} share version {version}, which a rebuild wrote. So there "
        "is no version after batch {batch}.",
        "Rewind to batch {last} or later. Or go back to the former logic: `sluice rebuild "
        "{pipeline} --back`.",
    )
    def inside_rebuild(
        self, last: object, table: object, version: object, batch: object, pipeline: object
    ) -> None: ...

    @reason(
        "Version {version} of {table}, its content after batch {batch}, is gone. VACUUM or a "
        "clean-up of its log removed files of it.",
        "Rewind to a later batch, or start again: sluice reset {pipeline}",
    )
    def content_gone(
        self, version: object, table: object, batch: object, pipeline: object
    ) -> None: ...

    @reason(
        "The checkpoint of {pipeline} has no complete state after batch {batch}. It has that of "
        "batches {first} to {last}.",
        "Rewind to one of those, or start again: sluice reset {pipeline}",
    )
    def state_incomplete(
        self, pipeline: object, batch: object, first: object, last: object
    ) -> None: ...

    @reason(
        "The checkpoint of {pipeline} has a complete state after no batch.",
        "If there is one, see what is damaged: sluice doctor {pipeline}. Or start again: sluice "
        "reset {pipeline}",
    )
    def state_of_no_batch(self, pipeline: object) -> None: ...

    @reason(
        "--key is {argument!r}, which is not COLUMN=VALUE.",
        "Write for example --key carrier=AA.",
    )
    def key_no_pair(self, argument: object) -> None: ...

    @reason(
        "--key names {column} twice.",
        "Name each column once.",
    )
    def key_twice(self, column: object) -> None: ...

    @reason(
        "--key {column}: --key does not support the type {kind}.",
        "Name other columns of the key.",
    )
    def key_type_unsupported(self, column: object, kind: object) -> None: ...

    @reason(
        "--changes needs a key. The changes of all keys would be the whole state of each batch.",
        "Name a key: --key COLUMN=VALUE.",
    )
    def changes_without_key(self) -> None: ...

    @reason(
        "--keep keeps the state of all steps and keys for the views. A part would look like the "
        "whole.",
        "Leave out --key, --step and --changes, or leave out --keep.",
    )
    def keep_of_part(self) -> None: ...

    @reason(
        "{pipeline} has no state yet. {checkpoint} has no committed batch.",
        "Run `sluice drain {pipeline}` first.",
    )
    def no_state_yet(self, pipeline: object, checkpoint: object) -> None: ...

    @reason(
        "{path}, which `sluice state --keep` wrote, does not parse.",
        "Write it again: sluice state {pipeline} --keep",
    )
    def kept_unreadable(self, path: object, pipeline: object) -> None: ...

    @reason(
        "{checkpoint} was moved. Its notes still name the place before.",
        "Run `sluice drain {pipeline}` first: it corrects them.",
    )
    def checkpoint_moved(self, checkpoint: object, pipeline: object) -> None: ...

    @reason(
        "{pipeline} has no step {step} with state.",
        "Steps with state: {available}.",
    )
    def step_unfit(self, step: object, pipeline: object, available: object) -> None: ...

    @reason(
        "No step of {pipeline} keeps state.",
        "Name a pipeline with a stateful step.",
    )
    def stateless(self, pipeline: object) -> None: ...

    @reason(
        "Batch {batch} is not committed.",
        "{available}",
    )
    def batch_absent(self, batch: object, available: object) -> None: ...

    @reason(
        "Spark has purged the state of batch {batch}. It keeps only the last states.",
        "{available}",
    )
    def batch_purged(self, batch: object, available: object) -> None: ...

    @reason(
        "The key has no column {name}.",
        "Its columns are {key}.",
    )
    def key_column_absent(self, name: object, key: object) -> None: ...

    @reason(
        "{rows:,} rows of step {step} have this key. Changes are shown for at most {most:,} rows.",
        "Name more columns of the key.",
    )
    def too_many_rows(self, rows: int, step: object, most: int) -> None: ...

    @reason("--key {column} is {value!r}, which is not a {kind}.", "Write it as {example}.")
    def key_value_unfit(
        self, column: object, value: object, kind: object, example: object
    ) -> None: ...

    @reason(
        "No step has the {columns}.",
        "Steps with state: {available}.",
    )
    def key_columns_absent(self, columns: object, available: object) -> None: ...

    @reason(
        "Step {step} does not have the {columns}.",
        "Steps with state: {available}.",
    )
    def key_columns_not_of_step(self, step: int, columns: object, available: object) -> None: ...


class InitialStateMissing(SluiceError):
    """The Delta table with the initial state of a GroupState does not exist, or lacks a column."""

    code, exit_status = "INITIAL_STATE_MISSING", 35
    usual_remedy = "Write the table, or correct `initial_state` in the spec."

    @reason(
        "GroupState.initial_state names {path}. There is no Delta table.",
        "Write it first, or remove initial_state from the spec.",
    )
    def initial_table_absent(self, path: object) -> None: ...

    @reason(
        "{path} lacks the key column {missing}. Its columns: {columns}.",
        "Write it with the GroupState's keys.",
    )
    def initial_key_absent(self, path: object, missing: object, columns: object) -> None: ...


class RepartitionRefused(SluiceError):
    """`sluice repartition` cannot move this state, or what Spark wrote is not the same state."""

    code, exit_status = "REPARTITION_REFUSED", 96
    usual_remedy = "Do what the line says."

    @reason(
        "The state of {pipeline} in {wanted} stores differs from that in {number}: operator "
        "{step} has {after} and had {before}.",
        "Nothing is changed. Please report this: it is a defect of Spark or of Sluice.",
    )
    def state_differs(
        self,
        pipeline: object,
        wanted: object,
        number: object,
        step: object,
        after: object,
        before: object,
    ) -> None: ...

    @reason(
        "{pipeline} cannot have {wanted:,} state stores for each step.",
        "Name a number from 1 to {most:,}: about as many as cores.",
    )
    def stores_out_of_range(self, pipeline: object, wanted: int, most: int) -> None: ...

    @reason(
        "{pipeline} keeps no state. There is nothing to move.",
        "Name a pipeline with a stateful step.",
    )
    def stateless(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline} has no state yet. {checkpoint} has no committed batch.",
        "Set state.shuffle_partitions={wanted} in spec.py. The first batch takes it.",
    )
    def no_state_yet(self, pipeline: object, checkpoint: object, wanted: object) -> None: ...

    @reason(
        "{pipeline}: a rebuild is at work since {began}. Its state has its own stores, and a "
        "switch would replace this one.",
        "Complete it (`sluice rebuild {pipeline} --execute`), or remove it (`--discard`).",
    )
    def rebuild_at_work(self, pipeline: object, began: datetime) -> None: ...

    @reason(
        "Batch {newest} of {pipeline} began and was not committed. It has no state.",
        "Let a run complete it: sluice drain {pipeline}",
    )
    def batch_uncommitted(self, newest: object, pipeline: object) -> None: ...

    @reason(
        "The state of {pipeline} is in {provider}, format {form}. Spark moves only RocksDB's, of "
        "format 2.",
        "Compute it again with another store: `sluice rebuild {pipeline}`, with NEXT in spec.py.",
    )
    def provider_unmovable(self, pipeline: object, provider: object, form: object) -> None: ...

    @reason(
        "Step {step} of {pipeline} has neither a window nor keys. Its one row is always in one "
        "store. Spark would move it where no batch looks.",
        "Keep the number. More stores would not help this step.",
    )
    def step_without_keys(self, step: object, pipeline: object) -> None: ...
