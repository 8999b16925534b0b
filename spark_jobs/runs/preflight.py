"""Preflight: what a run finds before it changes anything. Every kind of run begins with it; `plan` does nothing else.

It asks the broker and reads the checkpoint and the table's log, without a JVM, and writes nothing. A run takes its lease
first: without it, another run may change what was found here before it is used.
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.checkpoint.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.identity import DataLoss, Identity, data_loss, format_data_loss, spec_warnings, verify_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.fingerprint import in_force
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.sink import table
from spark_jobs.source.topic_state import TopicState, topic_state
from spark_jobs.target import Target


class Preflight(NamedTuple):
    """Spec, topic, checkpoint and table, found to belong to one another."""

    spec: Pipeline
    """The spec in force: where the checkpoint froze a field, with the checkpoint's value."""
    topic: TopicState
    identity: Identity
    """Of the checkpoint; of a new generation, and not written yet, where there is no checkpoint."""
    target: Target
    cursor: Cursor
    lost: DataLoss
    """Partition -> first and last offset that Kafka's retention removed unread, where the spec lets them go."""
    warnings: tuple[str, ...]
    """What of the spec differs from what the checkpoint was made with, and may: a line each."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint, read as it is now."""
        return Checkpoint(self.target.checkpoint)

    @property
    def lines(self) -> tuple[str, ...]:
        """What a person should know of it before the run begins."""
        if not self.lost:
            return self.warnings
        return (*self.warnings,
                f"on_lost_records='skip': goes on without what Kafka's retention removed unread: {format_data_loss(self.lost)}")


def preflight(spec: Pipeline, settings: Settings, paths: Paths) -> Preflight:
    """Look at topic, checkpoint and table, in this order, and refuse what does not fit.

    Raises KafkaUnreachable, KafkaRefused or TopicMissing; StateIncompatible, TopicRemade, CheckpointBroken, CheckpointForeign
    or RecordsGone; TableReplaced.
    """
    topic = topic_state(settings, spec.topic.name)
    warnings = spec_warnings(spec, paths)
    identity = verify_identity(spec, paths, topic)
    gone = data_loss(paths, topic)
    target, cursor = Target.live(paths, identity.owner(spec.name)), read_cursor(paths.cursor)
    table.refuse_replaced(target.table, identity.table_id, cursor.table_version)
    table.refuse_ahead(target.table, target.owner, Checkpoint(target.checkpoint))
    return Preflight(in_force(spec, identity.fingerprint), topic, identity, target, cursor, gone, warnings)
