"""What a drain would do, found out without a JVM: Airflow's first task, and `sluice plan`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint import Checkpoint
from spark_jobs.contract.duration import interval
from spark_jobs.contract.errors import LeaseHeld
from spark_jobs.contract.fingerprint import in_force
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.cursor import read_cursor
from spark_jobs.identity import in_words, lost, settle, warned
from spark_jobs.kafka import TopicState, newest_record, topic_state
from spark_jobs.lease import holder
from spark_jobs.stages import no_data_batch, table
from spark_jobs.store import require_writable


class Plan(BaseModel):
    """What there is to do. `reasons` is empty when a run would do nothing."""

    model_config = ConfigDict(frozen=True)

    pipeline: str
    new_offsets: int
    reasons: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def idle(self) -> bool:
        return not self.reasons


def plan(spec: Pipeline, settings: Settings) -> Plan:
    """Raises the SluiceError that the drain would end with: no lease, changed spec, no Kafka, no topic, lost records."""
    paths = Paths(settings.root, spec)
    require_writable(paths)
    held = holder(paths.lease)
    if held:
        raise LeaseHeld(f"{paths.lease.parent} is being written by {held}.", "Wait for it to end, or stop it.")
    topic = topic_state(settings, spec.topic.name)
    said = warned(spec, paths)
    identity, gone = settle(spec, paths, topic), lost(paths, topic)
    said += (f"without what Kafka's retention removed unread: {in_words(gone)}",) if gone else ()
    table.refuse_replaced(paths.table, identity.table_id, read_cursor(paths.cursor).table_version)
    table.refuse_ahead(paths.table, identity.owner(spec.name), Checkpoint(paths.checkpoint))
    spec = in_force(spec, identity.fingerprint)
    checkpoint = Checkpoint(paths.checkpoint)
    committed = checkpoint.committed()
    done = checkpoint.batch(committed[-1]).end if committed else topic.earliest
    new = {partition: latest - done.get(partition, 0) for partition, latest in topic.latest.items()}
    reasons = _reasons(paths, checkpoint, sum(new.values())) or _due(spec, settings, paths, topic)
    return Plan(
        pipeline=spec.name, new_offsets=sum(new.values()), reasons=reasons,
        lines=(
            f"{spec.name}: topic {spec.topic.name} on {settings.kafka}, generation {identity.generation}, "
            f"state version {spec.state.version}",
            f"watermark delay {interval(spec.watermark_delay or timedelta())}, "
            f"{spec.state.shuffle_partitions} shuffle partitions, state in {spec.state.provider}",
            *said,
            *(f"partition {p}: next {done.get(p, 0)}, end {topic.latest[p]}, {new[p]} new" for p in sorted(new)),
            *(reasons or ("nothing to do: every offset is drained and accounted for",)),
        ),
    )


def _due(spec: Pipeline, settings: Settings, paths: Paths, topic: TopicState) -> tuple[str, ...]:
    """Why a run without new offsets has something to do: what is due leaves the state."""
    checkpoint = Checkpoint(paths.checkpoint)
    newest = newest_record(settings, spec.topic.name, topic.latest) if spec.close_after else None
    clock = no_data_batch.Clock(datetime.now(UTC), newest, read_cursor(paths.cursor).state.rows)
    due = no_data_batch.due(spec, checkpoint, clock)
    return (f"a batch without data: {due.reason}",) if due else ()


def _reasons(paths: Paths, checkpoint: Checkpoint, new_offsets: int) -> tuple[str, ...]:
    reasons = [f"{new_offsets} new offsets to read"] if new_offsets else []
    planned, committed = checkpoint.planned(), checkpoint.committed()
    cursor = read_cursor(paths.cursor)
    if planned and planned[-1:] != committed[-1:]:
        reasons.append(f"batch {planned[-1]} was begun and not committed: it will be run again")
    elif committed and cursor.judged < committed[-1]:
        which = f"batches {cursor.judged + 1} to {committed[-1]}"
        reasons.append(f"{which} have not passed the checks yet: they will be accounted for and judged")
    return tuple(reasons)
