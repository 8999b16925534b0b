"""Settlers: what a run settles under the pipeline's lease before it reads a record, in this order.

A settler is a line here, and a function of a scene in its own room, which gives lines for people.
It is loaded where it is due: most runs have nothing to settle.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import SluiceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.noted_versions import Pinned
    from spark_jobs.settings.installation import Settings
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths

LOG = logging.getLogger(__name__)


class Scene(NamedTuple):
    """A run that has asked no broker, and started no Spark."""

    now: Present
    paths: Paths
    held: Held
    run_id: str


class SparkScene(NamedTuple):
    """One that knows what it is to read, with a session."""

    now: Present
    paths: Paths
    held: Held
    run_id: str
    settings: Settings
    identity: Identity
    pinned: Pinned
    spark: SparkSession


S = TypeVar("S", Scene, SparkScene)


class Settler(NamedTuple, Generic[S]):
    """One thing that a run may have to settle."""

    by: str
    """The function (scene) -> lines, for `pkgutil.resolve_name`. It may be repeated."""
    due: Callable[[S], bool]


def _changed(scene: Scene) -> bool:
    """The preflight says what is wrong where a file does not tell."""
    with suppress(SluiceError):
        return bool(standing(scene.now, scene.paths).changes)
    return False


FIRST: Final = (
    Settler[Scene](
        "spark_jobs.runs.resume.moved_root:moved_root", lambda at: at.now.spec.keeps_state
    ),
    Settler[Scene]("spark_jobs.runs.resume.anew:changed_spec", _changed),
)
"""Before the topic and the checkpoint are looked at."""
LAST: Final = (
    Settler[SparkScene](
        "spark_jobs.runs.resume.marking:newer_sides", lambda at: bool(at.now.spec.sides)
    ),
    Settler[SparkScene](
        "spark_jobs.excise.adopt:excisions_since", lambda at: (at.paths.root / "excised").exists()
    ),
)
"""Before the first record is read."""


def settle(settlers: Iterable[Settler[S]], scene: S) -> None:
    """Let each that is due do its work. Logs what was done."""
    for each in settlers:
        for line in resolve_name(each.by)(scene) if each.due(scene) else ():
            LOG.warning("%s", line)
