"""Who a checkpoint is: its generation, the topic that it was made from, and the fingerprint of the spec that its state obeys."""

from __future__ import annotations

import json
import uuid
from importlib.metadata import version
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint import Checkpoint
from spark_jobs.contract.errors import RecordsGone, StateIncompatible, TopicRemade
from spark_jobs.contract.fingerprint import changes, fingerprint
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.spec import Pipeline
from spark_jobs.kafka import TopicState

if TYPE_CHECKING:
    from upath import UPath


class Identity(BaseModel):
    """The content of identity.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    generation: str
    """New with every new checkpoint: batch ids start at 0 again, so nothing may be keyed by them alone."""
    topic_id: str
    fingerprint: dict[str, object]

    def write(self, path: UPath) -> None:
        """Whole or not at all."""
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(json.dumps(self.model_dump(), indent=2, sort_keys=True))
        partial.rename(path)


def stored(paths: Paths) -> Identity | None:
    """The identity beside the checkpoint; None where there is no checkpoint yet."""
    return Identity.model_validate_json(paths.identity.read_text()) if paths.identity.exists() else None


def settle(spec: Pipeline, paths: Paths, topic: TopicState) -> Identity:
    """The identity that this spec and this topic must have, held against the stored one.

    Raises StateIncompatible, TopicRemade or RecordsGone. Writes nothing.
    """
    wanted = fingerprint(spec, version("pyspark"))
    known = stored(paths)
    if known is None:
        return Identity(generation=uuid.uuid4().hex[:12], topic_id=topic.id, fingerprint=wanted)
    differences = changes(known.fingerprint, wanted)
    if differences:
        raise StateIncompatible(
            f"the state at {paths.version} was made by another spec: {'; '.join(differences)}.",
            f"Revert the spec, or set state.version to {spec.state.version + 1} to start a new state beside the old one.",
        )
    if known.topic_id != topic.id:
        raise TopicRemade(
            f"topic {spec.topic.name!r} has id {topic.id}, but this checkpoint was made from {known.topic_id}: "
            "the topic was deleted and created anew, and its offsets mean other records.",
            f"Set state.version to {spec.state.version + 1} to read the new topic from its beginning.",
        )
    _refuse_lost(paths, topic)
    return known


def _refuse_lost(paths: Paths, topic: TopicState) -> None:
    checkpoint = Checkpoint(paths.checkpoint)
    planned = checkpoint.committed()
    if not planned:
        return
    lost = {p: (at, topic.earliest.get(p, 0)) for p, at in checkpoint.batch(planned[-1]).end.items()
            if topic.earliest.get(p, 0) > at}
    if lost:
        detail = ", ".join(f"partition {p}: {first - at} records ({at} to {first - 1})" for p, (at, first) in lost.items())
        raise RecordsGone(f"Kafka's retention removed records that were never read: {detail}.",
                          "Lengthen the topic's retention; to go on without them, start a new state.version.")
