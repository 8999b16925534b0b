"""Settled: what a drain, or the command that moves state, settles first: a moved root, topics that
are new, and a changed spec of a pipeline that has accepted nothing yet (anew.py).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pkgutil import resolve_name
from typing import Final, NamedTuple

from spark_jobs.checkpoint.added_topics import with_new_topics
from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import SluiceError
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.paths import Paths

ANEW: Final = "spark_jobs.runs.resume.anew:begin_anew"
"""What settles a changed spec. Loaded by name: most runs have the spec of the run before."""
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
    for line in resolve_name(ANEW)(now, paths, held, run_id) if _changed(now, paths) else ():
        LOG.warning("%s", line)
    return Settled(now, Paths(settings.root, now.spec))


def _changed(now: Present, paths: Paths) -> bool:
    """The preflight says what is wrong where a file does not tell."""
    with suppress(SluiceError):
        return bool(standing(now, paths).changes)
    return False


def settle(paths: Paths, held: Held) -> tuple[str, ...]:
    """Let the checkpoint name its own files, under the pipeline's lease; lines of what was done."""
    if not follow(paths.checkpoint, held.confirm):
        return ()
    return (
        f"{paths.pipeline}: the root was moved to {paths.root}: the notes of its checkpoint name "
        "it now",
    )
