"""Preflight: verifies spec, topic, checkpoint and table before a run changes anything.

Every run and `plan` begin with it.

It asks the broker and reads the checkpoint and the table's log, without a JVM, and writes nothing.
The table must be the one that the checkpoint wrote, with no batch more, and take what the spec
writes. A run takes its lease first. Without the lease, another run may change these before the
result is used.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.identity import Identity, Present
from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.standing import DataLoss, data_loss, format_data_loss, standing
from spark_jobs.errors import TableReplaced
from spark_jobs.messages.part import held_back_lines
from spark_jobs.registry.fingerprint.fields import with_expressions
from spark_jobs.registry.fingerprint.topic import with_classification
from spark_jobs.settings.installation import Settings
from spark_jobs.source.port import End, Ends, Source, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import Target, table_of

if TYPE_CHECKING:
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


RESTORED: Final = "spark_jobs.sink.restored:refusal"
"""What tells a RESTORE's doings. Loaded by name: most tables have none."""


def refuse_restored(paths: Paths, since: int | None) -> None:
    """Raise TableReplaced if a RESTORE after the version `since`, that passed last, did something
    to what Sluice has written.
    """
    known = -1 if since is None else since
    if not history.restores_since(table_of(paths), known):
        return
    refused: TableReplaced | None = resolve_name(RESTORED)(paths, known)
    if refused is not None:
        raise refused


CLOCKS_DIFFER = timedelta(seconds=5)
"""How far a broker's clock may be ahead of this machine's before it is told."""


class Preflight(NamedTuple):
    """Spec, topic, checkpoint and table that belong to each other."""

    topic: SourceState
    identity: Identity
    """Identity of the checkpoint. Without a checkpoint: of a new generation, not written yet."""
    target: Target
    cursor: Cursor
    lost: DataLoss
    """Partition -> first and last offset that retention removed before they were read, and that the
    spec allows to skip.
    """
    made: Identity
    """What the checkpoint's newest batch was made by."""
    warnings: tuple[str, ...]
    """One line for each allowed difference between the spec and the spec that the checkpoint was
    created with.
    """
    told: tuple[str, ...] = ()
    """One line for each thing of this installation that a person should know."""
    shown: Callable[[int], str] = str
    """How a partition is told."""

    def earlier(self, ours: Pipeline) -> Pipeline:
        """The spec in force, with the expressions of the newest batch, and with what its records
        were classified with: others than in `ours` where a correction is declared
        (compatible_expressions), or max_ahead, required or the fields of the topic have changed.
        """
        earlier, was = with_expressions(ours, self.made.fingerprint), self.made.classification
        return with_classification(earlier, was, other_code=self.other_code) if was else earlier

    @property
    def other_code(self) -> bool:
        """Whether logic.py, or what it imports, is other than that batch was made by."""
        return self.identity.other_code_than(self.made)

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint. It is read at each access."""
        return Checkpoint(self.target.checkpoint)

    @property
    def lines(self) -> tuple[str, ...]:
        """What to tell a person before the run begins: one line each."""
        if not self.lost:
            return (*self.warnings, *self.told)
        return (
            *self.warnings,
            *self.told,
            "Skipping records deleted by retention (on_lost_records='skip'): "
            f"{format_data_loss(self.lost, self.shown)}",
        )


def preflight(now: Present, source: Source, paths: Paths, settings: Settings) -> Preflight:
    """Verify topic, checkpoint and table, in this order.

    Raises TableLacks; KafkaUnreachable, KafkaRefused or TopicMissing; StateIncompatible,
    TopicRemade, OffsetsWentBack, CheckpointBroken, CheckpointForeign or RecordsGone; TableReplaced;
    TableChanged.
    """
    refuse_unable(table_of(paths), now.spec)
    topic, shown = source.state(), now.declared.inputs.shown
    held = standing(now, paths)
    identity = held.identity(topic)
    gone = data_loss(paths, now.declared.inputs, topic)
    target = Target.live(paths, identity.owner(paths.pipeline))
    cursor = read_cursor(paths.cursor)
    refuse_replaced(target.table, paths.pipeline, identity.table_id)
    target.table.refuse_layout(now.spec)
    refuse_restored(paths, cursor.judged_table_version)
    refuse_ahead(target.table, target.owner, Checkpoint(target.checkpoint))
    made = held.made if held.made and Checkpoint(target.checkpoint).planned() else identity
    told = (
        *_slow_clock(topic, datetime.now(UTC)),
        *_long_replay(identity, settings),
        *topic.told,
        *held_back_lines({shown(p): waits for p, waits in sorted(topic.held.items())}),
    )
    return Preflight(topic, identity, target, cursor, gone, made, held.warnings, told, shown)


def cut(found: Preflight, ends: Ends | None, settings: Settings) -> tuple[Preflight, End | None]:
    """The same with where the run ends as its topic's `latest`, and that end. Writes nothing."""
    if ends is None:
        return found, None
    planned = found.checkpoint.planned()
    done = found.checkpoint.batch(planned[-1]).end if planned else Positions()
    made = ends.cut(found.topic, done, settings)
    held = {found.shown(p): waits for p, waits in sorted(made.held.items())}
    topic = found.topic._replace(latest=made.latest, held={**found.topic.held, **made.held})
    told = (*found.told, *held_back_lines(held), *made.lines)
    return found._replace(topic=topic, told=told), made.end


def _slow_clock(topic: SourceState, now: datetime) -> tuple[str, ...]:
    """A clock that is ahead shows nowhere: nobody knows how old the newest record is."""
    if topic.appended is None or topic.appended <= now + CLOCKS_DIFFER:
        return ()
    return (
        f"the newest record came at {topic.appended:%F %H:%M:%S} by the broker's clock "
        f"(LogAppendTime), and here it is {now:%F %H:%M:%S}: this machine's clock is slow, or the "
        "topic had CreateTime then. Records whose event time is more than max_ahead later than "
        "this machine's clock are premature. Correct the clock",
    )


def _long_replay(identity: Identity, settings: Settings) -> tuple[str, ...]:
    if identity.fingerprint["state.provider"] != "hdfs" or settings.local:
        return ()
    return (
        "provider='hdfs' on a cluster: only Spark's maintenance, in executors that live for more "
        "than a minute, writes snapshots of such state. With shorter runs each run replays every "
        "change since the last snapshot, and no file of them is removed. Use provider='rocksdb'",
    )
