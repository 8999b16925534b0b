"""Same table: whether it is the table that the checkpoint wrote, with no batch more, and can take
what the spec writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken
from spark_jobs.errors import TableReplaced
from spark_jobs.spec.output_mode import mode_facts

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.table.port import Table


def refuse_unable(table: Table, spec: Pipeline) -> None:
    """Raise TableLacks if batches of this spec need more than the table can."""
    mode = mode_facts(spec.output_mode)
    if spec.keyed:
        table.require("merge", f"a table that follows a key ({type(spec.keyed).__name__})")
    if mode.writes_last_of_key:
        table.require("merge", f"output_mode={spec.output_mode!r}")
    if mode.replaces_table:
        table.require("replace", f"output_mode={spec.output_mode!r}")


def refuse_replaced(table: Table, pipeline: str, known_id: str) -> None:
    """Raise TableReplaced if this is not the table that the checkpoint wrote. `known_id` is that
    one's, empty before the first run.
    """
    if not known_id:
        return
    again = f"or start again from Kafka: `sluice reset {pipeline}`."
    if not table.exists():
        raise TableReplaced.dropped(path=table.path, again=again)
    if table.identifier() != known_id:
        raise TableReplaced.created_anew(path=table.path, again=again)


def refuse_ahead(table: Table, owner: str, checkpoint: Checkpoint) -> None:
    """Raise CheckpointBroken if the table has a batch that is not in the checkpoint. The `owner` is
    pipeline/generation.

    Spark would plan that batch again with other offsets, and the sink would skip its rows as
    already written.
    """
    done = table.newest_batch(owner)
    newest = max(checkpoint.planned(), default=-1)
    if done > newest:
        raise checkpoint_broken(
            f"{table.path} has batch {done}, and {checkpoint.folder / 'offsets'} ends at {newest}",
            owner.partition("/")[0],
        )
