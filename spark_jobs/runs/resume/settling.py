"""Settling: what a drain, or the command that moves state, does first about a moved root; and what
a drain does behind that, before it looks at the topic.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from spark_jobs.checkpoint.added_topics import with_new_topics
from spark_jobs.checkpoint.made_by import Present
from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.runs.resume.anew import begin_anew
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.paths import Paths

LOG = logging.getLogger(__name__)


class Settled(NamedTuple):
    """What a drain goes on with."""

    now: Present
    """The spec, with the topics that are new."""
    paths: Paths
    """Another place's, if the pipeline began anew."""


def settled(spec: Pipeline, settings: Settings, held: Held, run_id: str) -> Settled:
    """Under the pipeline's lease: the moved root, the new topics, the place that begins anew. Logs
    what was done.
    """
    paths = Paths(settings.root, spec)
    for line in settle(paths, held) if spec.keeps_state else ():
        LOG.warning("%s", line)
    now = Present(with_new_topics(spec, settings))
    for line in begin_anew(now, paths, held, run_id):
        LOG.warning("%s", line)
    return Settled(now, Paths(settings.root, now.spec))


def settle(paths: Paths, held: Held) -> tuple[str, ...]:
    """Let the checkpoint name its own files, under the pipeline's lease; lines of what was done."""
    if not follow(paths.checkpoint, held.confirm):
        return ()
    return (
        f"{paths.pipeline}: the root was moved to {paths.root}: the notes of its checkpoint name "
        "it now",
    )
