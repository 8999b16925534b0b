"""Found: what the next drain would find. It writes nothing, and loads no spec."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.source.positions import Positions
from spark_jobs.source.topic_state import topic_names, topic_state
from spark_jobs.spec.inputs import BETWEEN
from spark_jobs.storage.root.live_place import live_version, place_of, spark_folder
from spark_jobs.storage.root.paths import checkpoints

if TYPE_CHECKING:
    from upath import UPath

    from sluice_airflow.triggers.watched import Watched
    from spark_jobs.settings.installation import Settings


class Waiting(NamedTuple):
    """Of one pipeline's live checkpoint and its topics."""

    done: Positions
    """Up to where batches are committed."""
    new: int
    """Offsets behind these."""
    busy: bool
    """Whether somebody holds the pipeline's lease."""


def waiting(pipeline: str, watched: Watched, settings: Settings) -> Waiting:
    """Raises what a plan does where Kafka, the root or the checkpoint cannot be read."""
    above = checkpoints(settings.root, pipeline)
    live = live_version(above)
    version = watched.version if live is None else live
    identity = above / place_of(above, version, pipeline).folder / "identity.json"
    checkpoint = Checkpoint(identity.parent / spark_folder(identity))
    done = checkpoint.done()
    topics = [
        topic_state(settings, name, watched.starting(name))
        for name in _topics(watched, identity, settings)
    ]
    first = Positions.of_all(topic.begins for topic in topics) | done
    new = first.count(Positions.of_all(topic.latest for topic in topics))
    return Waiting(done, new, busy=holder(above / "lease") is not None)


def _topics(watched: Watched, identity: UPath, settings: Settings) -> list[str]:
    """By their numbers: those that the checkpoint has, what is listed besides, and new ones, as
    with_new_topics has them.
    """
    listed = [*watched.topics]
    if watched.more is None:
        return listed
    known = list[str]()
    with suppress(FileNotFoundError, ValueError, KeyError):
        known = json.loads(identity.read_text())["fingerprint"]["topic.name"].split(BETWEEN)
    pattern = re.compile(watched.more["pattern"])
    kept = [name for name in known if name in watched.topics or pattern.fullmatch(name)]
    new = sorted(filter(pattern.fullmatch, topic_names(settings, listed[0])))
    return [*dict.fromkeys([*kept, *listed, *new])]
