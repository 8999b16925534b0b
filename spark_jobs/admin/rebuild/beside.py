"""Beside: the place in which NEXT drains until the switch, told by rebuild.json above the places.

It has everything that a place has: checkpoint, table, leases and stagings. So a rebuild is a plain
drain that cannot touch the live place, resumes as any other, and is looked at with any command
(`sluice drain --next`). Its rows in the ops tables have its own generation.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.checkpoint.notes.rebuild_note import Begun, read_begun
from spark_jobs.errors import CheckpointBroken, LeaseLost, RebuildRefused
from spark_jobs.ops import ops_tables
from spark_jobs.registry.fingerprint.environment import is_of_older_form, version
from spark_jobs.registry.fingerprint.fields import Fingerprint, fingerprint
from spark_jobs.registry.fingerprint.topic import ABSENT, classification
from spark_jobs.source.sources import same_topics
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.root.live_place import FOLDER, Place, first_table, unused
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from spark_jobs.spec import Pipeline

WHO = "sluice rebuild --discard"
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
    found, made = fingerprint(following, version("pyspark")), classification(following)
    del found["spark"]
    required = {f"topic.fields.{name}.required": value for name, value in made.required.items()}
    own = {"state.version": following.state.version, "topic.max_ahead": str(made.max_ahead)}
    return found | own | required


def refuse_other(begun: Begun, following: Pipeline, topic_id: str) -> None:
    """Raise RebuildRefused if what is half done was begun with another NEXT, or another topic."""
    name, was, now = following.name, begun.fingerprint, logic_of(following)
    if was.get("logic") and is_of_older_form(was["logic"]):  # as a drain takes it (standing.py)
        was = was | {"logic": now.get("logic")}
    differing = [
        f"{name}: was {was.get(name, ABSENT)!r}, is {now.get(name, ABSENT)!r}"
        for name in sorted(was.keys() | now.keys())
        if was.get(name, ABSENT) != now.get(name, ABSENT)
    ]
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


def discard(paths: Paths) -> Callable[[], None] | None:
    """What removes the place of a rebuild, and its rows in the ops tables; None if none is half
    done. A torn note says no place: it is removed alone.

    The function raises LeaseHeld while NEXT drains, and LeaseLost if another has begun a rebuild
    meanwhile.
    """
    torn, begun = _note(paths)
    if not torn and begun is None:
        return None

    def remove() -> None:
        with ExitStack() as stack:
            held = None
            if begun and (place := paths.above / begun.folder).exists():
                # The place's own, which a switch takes too: it is refused, or it came before.
                held = stack.enter_context(lease(place / paths.lease.name, WHO))
            if _note(paths) != (torn, begun):
                raise LeaseLost.note_elsewhere(path=paths.rebuild)
            if begun is None:
                paths.rebuild.unlink(missing_ok=True)
                return
            if held:
                held.confirm()
            fact = read_live(paths)
            if fact is None or fact.folder != begun.folder:  # else it is switched to
                _remove(paths, begun)
            # Last: until then the command may be repeated.
            begun.end(paths, None)

    return remove


def _note(paths: Paths) -> tuple[bool, Begun | None]:
    """Whether the note is torn, and what it says."""
    try:
        return False, read_begun(paths)
    except CheckpointBroken:
        return True, None


def _remove(paths: Paths, begun: Begun) -> None:
    place, generations = paths.above / begun.folder, tuple[str, ...]()
    with suppress(CheckpointBroken, OSError, ValueError):  # then no row of it is known
        generations = Identity.read(place / paths.identity.name).generations
    for table in OF_GENERATIONS if generations else ():
        if ops_tables.exists(paths.root, table):
            rows = ops_tables.of_checkpoint(paths.pipeline, generations)
            ops_tables.remove(paths.root, table, rows)
    for folder in (place, paths.tables / begun.table, paths.root / "staging" / begun.table):
        remove_folder(folder)


COMPUTED = "what is computed"
JUDGED = {"on_lost_records", "close_after", "output_checks", "state_checks", "state_checks_off"}
"""Fields that change freely between drains, and that decide which rows are switched to."""

Shown = dict[str, str]
"""A thing in words -> what tells it from another one, as JSON has it; empty for none."""


def shown(live: Paths, following: Pipeline) -> Shown:
    """What is there now. `live` are the paths of the version that drains.

    Drains change nothing of it: the switch lets NEXT catch up with the live pipeline. A rewind, a
    reset, a switch and its way back change a generation.
    """
    side, begun, known = beside_paths(live, following), read_begun(live), read_identity(live)
    computed = read_identity(side) if Checkpoint(side.checkpoint).committed() else None
    judged = following.model_dump(mode="json", include=JUDGED)
    made = json.dumps([logic_of(following), judged], sort_keys=True, default=str)
    return {
        "the rebuild": begun.began.isoformat() if begun else "",
        "NEXT": hashlib.sha256(made.encode()).hexdigest()[:16],
        "the live table": known.generation if known else "",
        COMPUTED: computed.generation if computed else "",
    }


def refuse_changed(name: str, was: Shown, now: Shown) -> None:
    """Raise RebuildRefused if the answer was about something else. Where nothing was computed yet,
    it may be by now.
    """
    if differing := [each for each in now if was.get(each) not in (now[each], "")]:
        raise RebuildRefused.question_outdated(pipeline=name, differing=", ".join(differing))
