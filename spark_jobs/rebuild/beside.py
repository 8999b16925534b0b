"""Beside: the place in which NEXT drains until the switch, told by rebuild.json above the places.

It has everything that a place has: checkpoint, table, leases and stagings. So a rebuild is a plain
drain that cannot touch the live place, resumes as any other, and is looked at with any command
(`SLUICE_NEXT=on sluice show runs`). Its rows in the ops tables have its own generation.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.checkpoint.notes.rebuild import Begun, read_begun
from spark_jobs.errors import CheckpointBroken, LeaseLost, RebuildRefused
from spark_jobs.fingerprint.classification import classification
from spark_jobs.fingerprint.fields import Fingerprint, fingerprint
from spark_jobs.fingerprint.packages import version
from spark_jobs.fingerprint.record_form import ABSENT
from spark_jobs.ops import ops_tables
from spark_jobs.root.live_place import FOLDER, Place, first_table, unused
from spark_jobs.root.paths import Paths
from spark_jobs.source.union import same_topics
from spark_jobs.storage.folders import remove_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held


OF_GENERATIONS = ("batches", "quarantine", "late", "slices", "checks", "repairs", "merged")
"""The ops tables whose rows have a generation."""


def beside_paths(paths: Paths, following: Pipeline) -> Paths:
    """The paths of NEXT's place, as it is or would be. `paths` are the draining place's.

    A rebuild of another NEXT is refused by its digest, not here.
    """
    begun = read_begun(paths)
    place = begun.place if begun else _next_place(paths, following)
    return Paths(str(paths.root), following, place)


def _next_place(paths: Paths, following: Pipeline) -> Place:
    number = following.state.version
    return unused(paths.above, paths.tables, number, first_table(following))._replace(beside=True)


def begin(paths: Paths, following: Pipeline, topic_id: str, who: str) -> None:
    """Let NEXT drain beside: `paths` are the draining place's.

    Raises RebuildRefused if another has begun a rebuild since somebody looked.
    """
    place, live = _next_place(paths, following), FOLDER.fullmatch(paths.place.folder)
    assert live is not None  # a place has such a name
    begun = Begun(
        version=following.state.version,
        replaces=int(live[1]),
        folder=place.folder,
        table=place.table,
        fingerprint=logic_of(following),
        topic_id=topic_id,
        began=datetime.now(UTC),
        who=who,
    )
    begun.begin(paths)
    Paths(str(paths.root), following, place).ensure_writable()


def logic_of(following: Pipeline) -> Fingerprint:
    """Field of NEXT -> its value, of all on which the rows depend but Spark's version."""
    found = fingerprint(following, version("pyspark")) | {"state.version": following.state.version}
    del found["spark"]
    return found | _classified(following)


def _classified(following: Pipeline) -> Fingerprint:
    made = classification(following)
    required = {f"topic.fields.{name}.required": value for name, value in made.required.items()}
    return {"topic.max_ahead": str(made.max_ahead), **required}


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
        raise RebuildRefused.next_changed(
            pipeline=name,
            who=begun.who,
            began=begun.began,
            differences="; ".join(differing),
            begin_anew=begin_anew,
        )
    if not same_topics(begun.topic_id, topic_id):
        raise RebuildRefused.topic_remade(
            pipeline=name,
            topic=following.inputs.name,
            began=begun.began,
            begin_anew=begin_anew,
        )


def is_begun(paths: Paths) -> bool:
    """Whether a rebuild is there, or what an older Sluice had beside, or a note that is torn."""
    try:
        return read_begun(paths) is not None or older_root(paths).exists()
    except CheckpointBroken:
        return True


def discard(paths: Paths) -> Callable[[], None]:
    """What removes the place of a rebuild, and what an older Sluice had beside.

    Raises RebuildRefused while it is drained; what it returns LeaseHeld, and LeaseLost if another
    has begun one meanwhile.
    """
    _unheld(paths)
    begun = _begun(paths)

    def remove() -> None:
        held_place: Held | None = None
        with ExitStack() as held:
            # The place's own, which a switch takes too: it is refused, or it came before, and what
            # it made live is not among the folders below.
            for place in _folders(paths)[:1]:
                if place.exists():
                    own = lease(place / paths.lease.name, "sluice rebuild --discard")
                    held_place = held.enter_context(own)
            if _begun(paths) != begun:
                raise LeaseLost.note_elsewhere(path=paths.rebuild)
            if held_place:
                held_place.confirm()
            _remove(paths, begun)

    return remove


def _begun(paths: Paths) -> Begun | None:
    return None if _is_torn(paths) else read_begun(paths)


def _is_torn(paths: Paths) -> bool:
    try:
        read_begun(paths)
    except CheckpointBroken:
        return True
    return False


def _remove(paths: Paths, begun: Begun | None) -> None:
    rows = _rows(paths)
    for table in OF_GENERATIONS:
        if rows and ops_tables.exists(paths.root, table):
            ops_tables.remove(paths.root, table, rows)
    for folder in (*_folders(paths), older_root(paths)):
        remove_folder(folder)
    # Last: until then the command may be repeated.
    if begun:
        begun.end(paths, None)
    elif _is_torn(paths):
        paths.rebuild.unlink(missing_ok=True)


def older_root(paths: Paths) -> UPath:
    """Where an older Sluice rebuilt: a root of its own."""
    return paths.root / "rebuilds" / paths.pipeline


def _unheld(paths: Paths) -> None:
    for folder in (*_folders(paths), older_root(paths) / "checkpoints" / paths.pipeline):
        if held := holder(folder / "lease"):
            raise RebuildRefused.held(folder=folder, holder=held)


def _rows(paths: Paths) -> str:
    with suppress(CheckpointBroken, OSError, ValueError):  # then none is known
        if (begun := read_begun(paths)) and _folders(paths):
            known = Identity.read(paths.above / begun.folder / paths.identity.name)
            of_it = ops_tables.among("generation", known.generations)
            return f"{ops_tables.equals({'pipeline': paths.pipeline})} AND {of_it}"
    return ""


def _folders(paths: Paths) -> tuple[UPath, ...]:
    begun, fact = _begun(paths), read_live(paths)
    if begun is None or (fact is not None and begun.folder == fact.folder):  # it is switched to
        return ()
    staged = paths.root / "staging" / begun.table
    return (paths.above / begun.folder, paths.tables / begun.table, staged)
