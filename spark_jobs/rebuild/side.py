"""Side: the root of its own in which NEXT drains, `<root>/rebuilds/<pipeline>`.

It has everything that a root has: checkpoint, table, leases, ops tables and reports. So a rebuild
is a plain drain that cannot touch the live pipeline, resumes as any other, and is looked at with
any command (`SLUICE_ROOT=<root>/rebuilds/<pipeline> sluice show runs`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.live import Live
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import RebuildRefused
from spark_jobs.fingerprint.classification import classification
from spark_jobs.fingerprint.fields import ABSENT, Fingerprint, fingerprint
from spark_jobs.root.paths import BEGUN, Paths
from spark_jobs.storage.folders import remove_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from upath import UPath

    from spark_jobs.spec import Pipeline


class Begun(Stored):
    """The content of rebuild.json in the side root: what is rebuilt, and since when."""

    version: int
    """The state version."""
    fingerprint: dict[str, object]
    """Of NEXT, and what its records are classified with: see logic_of."""
    topic_id: str
    began: datetime
    who: str


def side_paths(paths: Paths, following: Pipeline) -> Paths:
    """The paths within the side root of the pipeline of `paths`."""
    return Paths(str(paths.rebuild), following)


def read_begun(paths: Paths) -> Begun | None:
    """What is rebuilt; None if nothing is. Raises CheckpointBroken if it does not parse."""
    note = _note(paths)
    try:
        return Begun.read(note) if note.exists() else None
    except ValueError:
        raise checkpoint_broken(f"{note} does not parse", paths.table.name) from None


def begin(paths: Paths, following: Pipeline, topic_id: str, who: str) -> None:
    """Make the side root, in which NEXT's state version is the live one."""
    side, now = side_paths(paths, following), datetime.now(UTC)
    side.ensure_writable()
    Live(version=following.state.version, since=now, table_version=0, batch=-1).write(side.live)
    Begun(
        version=following.state.version,
        fingerprint=logic_of(following),
        topic_id=topic_id,
        began=now,
        who=who,
    ).write(_note(paths))


def logic_of(following: Pipeline) -> Fingerprint:
    """Field of NEXT -> its value, of all on which the rows depend but Spark's version."""
    found = fingerprint(following, version("pyspark")) | {"state.version": following.state.version}
    del found["spark"]
    return found | _classified(following)


def _classified(following: Pipeline) -> Fingerprint:
    made = classification(following)
    required = {f"topic.fields.{name}.required": value for name, value in made.required.items()}
    facts = {
        f"topic.fields.{name}.{fact}": value
        for name, of in made.facts.items()
        for fact, value in of.items()
        if fact != "path"  # which the fingerprint has
    }
    dropped = {"topic.tombstones": "dropped"} if made.tombstones == "dropped" else {}
    return {"topic.max_ahead": str(made.max_ahead), **required, **facts, **dropped}


def refuse_other(begun: Begun, following: Pipeline, topic_id: str) -> None:
    """Raise RebuildRefused if what is half done was begun with another NEXT, or another topic."""
    now = logic_of(following)
    was = begun.fingerprint | {"state.version": begun.version}
    if "topic.max_ahead" not in was:  # an older Sluice began it
        now = {name: value for name, value in now.items() if name not in _classified(following)}
    differing = [
        f"{name}: was {was.get(name, ABSENT)!r}, is {now.get(name, ABSENT)!r}"
        for name in sorted(was.keys() | now.keys())
        if name != "spark" and was.get(name, ABSENT) != now.get(name, ABSENT)
    ]
    name = following.name
    begin_anew = f"begin anew: `sluice rebuild {name} --discard --execute`"
    if differing:
        raise RebuildRefused(
            f"{name}: a rebuild is half done, which {begun.who} began on {begun.began:%F %H:%M} "
            f"UTC with another NEXT: {'; '.join(differing)}.",
            f"Take the change of NEXT back to go on with it; or {begin_anew}.",
        )
    if begun.topic_id != topic_id:
        raise RebuildRefused(
            f"{name}: topic {following.topic.name!r} was deleted and created again since the "
            f"rebuild began on {begun.began:%F %H:%M} UTC, so its offsets mean other records.",
            f"To rebuild from the new topic, {begin_anew}.",
        )


def discard(paths: Paths) -> Callable[[], None]:
    """What removes the side root.

    Raises RebuildRefused while it is drained.
    """
    lease = paths.rebuild / "checkpoints" / paths.table.name / "lease"
    if held := holder(lease):
        raise RebuildRefused(
            f"{paths.rebuild} is being written by {held}.", "Wait until it ends, or stop it."
        )
    return lambda: remove_folder(paths.rebuild)


def _note(paths: Paths) -> UPath:
    return paths.rebuild / BEGUN
