"""State: of a changed spec, unreadable, moved."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.errors.base import SluiceError, reason


class StateIncompatible(SluiceError):
    """The spec changed: Spark cannot resume the state, or would compute wrong results from it."""

    code, exit_status = "STATE_INCOMPATIBLE", 31
    usual_remedy = "Revert the change, or start over from Kafka: `sluice reset`."

    @reason(
        "the state at {folder} was made by another spec: {differences}.",
        "{revert};{declare} or {reset}.",
    )
    def spec_changed(
        self, folder: object, differences: object, revert: object, declare: object, reset: object
    ) -> None: ...

    @reason(
        "{pipeline}: {text}.",
        "{usual_remedy}",
    )
    def types_changed(self, pipeline: object, text: object, usual_remedy: object) -> None: ...

    @reason(
        "batch {batch} of {pipeline} was written with the old {what}, and its state is not "
        "stored yet.",
        "Put the old {what} back, run once (sluice drain {pipeline}), and change it then.",
    )
    def batch_half_done(self, batch: object, pipeline: object, what: object) -> None: ...

    @reason(
        "the corrected expressions of {pipeline} need a state of other types: {changes}.",
        "Write an expression of the same type, with the same aggregate functions; or start "
        "again from Kafka: `sluice reset {pipeline}`.",
    )
    def corrected_type_differs(self, pipeline: object, changes: object) -> None: ...

    @reason(
        "the state at {folder} was made by other steps: {differences}.",
        "Revert spec.py. See what may be done about the change: sluice plan {pipeline}",
    )
    def steps_changed(self, folder: object, differences: object, pipeline: object) -> None: ...

    @reason(
        "the state at {folder} was written with a different spec: {differences}.",
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
        "a rebuild put batches 0 to {last} into {table} in one commit, version {version}: it "
        "has no content after batch {batch}.",
        "Rewind to batch {last} or a later one; or go back to the logic before: `sluice "
        "rebuild {pipeline} --back`.",
    )
    def inside_rebuild(
        self, last: object, table: object, version: object, batch: object, pipeline: object
    ) -> None: ...

    @reason(
        "version {version} of {table}, its content after batch {batch}, is gone: VACUUM or a "
        "clean-up of its log has removed files of it.",
        "Rewind to a later batch, or start again: sluice reset {pipeline}",
    )
    def content_gone(
        self, version: object, table: object, batch: object, pipeline: object
    ) -> None: ...

    @reason(
        "the checkpoint of {pipeline} does not have the complete state after batch {batch}; it "
        "has that of {available}.",
        "Rewind to one of those, or start again: sluice reset {pipeline}",
    )
    def state_incomplete(self, pipeline: object, batch: object, available: object) -> None: ...

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
        "--changes needs a key: the changes of all keys would be the whole state of each batch.",
        "Name a key: --key COLUMN=VALUE.",
    )
    def changes_without_key(self) -> None: ...

    @reason(
        "--keep keeps the state of all steps and keys for the views; a part would look like "
        "the whole.",
        "Leave out --key, --step and --changes, or leave out --keep.",
    )
    def keep_of_part(self) -> None: ...

    @reason(
        "{pipeline} has no state yet: no batch is committed in {checkpoint}.",
        "Run `sluice drain {pipeline}` first.",
    )
    def no_state_yet(self, pipeline: object, checkpoint: object) -> None: ...

    @reason(
        "{checkpoint} was moved, and its notes still name the place before.",
        "Run `sluice drain {pipeline}`: it corrects them first.",
    )
    def checkpoint_moved(self, checkpoint: object, pipeline: object) -> None: ...

    @reason(
        "step {step} of {pipeline} {problem}.",
        "Steps with state: {available}.",
    )
    def step_unfit(
        self, step: object, pipeline: object, problem: object, available: object
    ) -> None: ...

    @reason(
        "no step of {pipeline} keeps state.",
        "Name a pipeline with a stateful step.",
    )
    def stateless(self, pipeline: object) -> None: ...

    @reason(
        "batch {batch} is not committed.",
        "{available}",
    )
    def batch_absent(self, batch: object, available: object) -> None: ...

    @reason(
        "the state of batch {batch} is purged: Spark keeps only the last states.",
        "{available}",
    )
    def batch_purged(self, batch: object, available: object) -> None: ...

    @reason(
        "the key has no column {name}.",
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

    @reason("no step has the {columns}.", "Steps with state: {available}.")
    def key_columns_absent(self, columns: object, available: object) -> None: ...

    @reason("step {step} does not have the {columns}.", "Steps with state: {available}.")
    def key_columns_not_of_step(self, step: int, columns: object, available: object) -> None: ...


class InitialStateMissing(SluiceError):
    """The Delta table with the initial state of a GroupState does not exist, or lacks a column."""

    code, exit_status = "INITIAL_STATE_MISSING", 35
    usual_remedy = "Write the table, or correct `initial_state` in the spec."

    @reason(
        "there is no Delta table at {path}, which GroupState.initial_state names.",
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
        "the state of {pipeline} in {wanted} stores is not what it is in {number}: operator "
        "{step} has {after} and had {before}.",
        "Nothing is changed. This is a defect of Spark or of Sluice: please report it.",
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
        "{pipeline} keeps no state: there is nothing to move.",
    )
    def stateless(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline} has no state yet: no batch is committed in {checkpoint}.",
        "Set state.shuffle_partitions={wanted} in spec.py: the first batch takes it.",
    )
    def no_state_yet(self, pipeline: object, checkpoint: object, wanted: object) -> None: ...

    @reason(
        "{pipeline}: a rebuild is at work since {began}. The state that it makes has stores of "
        "its own, and a switch would put it in the place of this one.",
        "Complete it (`sluice rebuild {pipeline} --execute`), or remove it (`--discard`).",
    )
    def rebuild_at_work(self, pipeline: object, began: datetime) -> None: ...

    @reason(
        "batch {newest} of {pipeline} was begun and not committed: its state is not there.",
        "Let a run complete it: sluice drain {pipeline}",
    )
    def batch_uncommitted(self, newest: object, pipeline: object) -> None: ...

    @reason(
        "the state of {pipeline} is in {provider}, format {form}: Spark moves only RocksDB's, "
        "of format 2.",
        "Compute it anew with another store: `sluice rebuild {pipeline}`, with NEXT in spec.py.",
    )
    def provider_unmovable(self, pipeline: object, provider: object, form: object) -> None: ...

    @reason(
        "step {step} of {pipeline} has neither a window nor keys: its one row is in one store "
        "whatever the number, and Spark would move it to where no batch looks for it.",
        "Leave the number as it is: more stores would not help this step.",
    )
    def step_without_keys(self, step: object, pipeline: object) -> None: ...
