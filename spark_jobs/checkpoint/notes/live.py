"""Live: which place of a pipeline drains, in live.json above the places (root/live_place.py).

A switch of a rebuild, its way back and a reset write it. The spec that drains is the one in
spec.py, SPEC or NEXT, whose state version is the live one: so neither the switch nor the renaming
of NEXT must come first.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.errors import CheckpointBroken, VersionNotLive
from spark_jobs.spec.inputs import BETWEEN
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.live_place import LIVE, Place, highest_copy, named_live, rebuilt
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline


def with_known_topics(spec: Pipeline, root: str, live: Pipeline | None = None) -> Pipeline:
    """The spec with the topics of its checkpoint, in their order; before the first run of a
    rebuild, with `live`'s.
    """
    if spec.more_topics is None:
        return spec
    for each in filter(None, (spec, live)):
        # As text: who reads an identity whole asks first which spec is live.
        path = Paths(root, each).identity
        with suppress(FileNotFoundError, ValueError, KeyError):  # who reads it whole says so
            names = json.loads(path.read_text())["fingerprint"]["topic.name"]
            return spec.with_topics(names.split(BETWEEN))
    return spec


GRACE = timedelta(days=7)
"""How long a place is kept that was live: that is how long one can go back to it."""


class Dead(BaseModel):
    """A place that was live. `sluice maintain` removes it after days of grace."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    folder: str
    table: str
    since: datetime


class Replaced(BaseModel):
    """The place that was live before a switch, to which one can go back while it is there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: int
    """The state version."""
    generation: str
    folder: str = ""
    """Empty where an older Sluice switched: both versions have one table."""
    table: str = ""


class Live(Stored):
    """The content of live.json, and of its copies."""

    version: int
    """The state version that drains."""
    since: datetime
    folder: str = ""
    """Of its checkpoint, and below it of its table; empty where an older Sluice switched."""
    table: str = ""
    number: int = 0
    """One more than the place before has: of the copies, the highest is the live one's."""
    before: Replaced | None = None
    """What a switch replaced; None behind the way back, and behind a reset."""
    dead: tuple[Dead, ...] = ()

    def place(self, first: str) -> Place:
        """What drains. `first` is the name of the pipeline's first table."""
        return Place(self.folder or f"v{self.version}", self.table or first)

    def write_whole(self, above: UPath, held: Held | None) -> None:
        """Make the place live, after its copy is in its folder. May be repeated. Raises
        LeaseLost.
        """
        (above / self.folder).mkdir(parents=True, exist_ok=True)
        for path in (above / self.folder / LIVE, above / LIVE):
            self.over(path).put(path, held)


def read_live(paths: Paths) -> Live | None:
    """What live.json says; None for a pipeline that has had one place only. Raises
    CheckpointBroken, FormatNewer.
    """
    found = named_live(paths.above)
    try:
        return None if found is None else Live.model_validate(found)
    except ValueError:
        raise checkpoint_broken(f"{paths.live} does not parse", paths.pipeline) from None


def following(paths: Paths, version: int, place: Place, before: Replaced | None = None) -> Live:
    """What live.json is to say when this place takes the turn of the one that drains now; without a
    live.json that is the one of `paths`.
    """
    now, fact = datetime.now(UTC), read_live(paths)
    copy = highest_copy(paths.above) or {}
    known: tuple[Dead, ...] = ()
    left = paths.place
    if fact:
        known, left = fact.dead, fact.place(paths.pipeline)
    gone = Dead(folder=left.folder, table=left.table, since=now)
    return Live(
        version=version,
        since=now,
        folder=place.folder,
        table=place.table,
        number=max(fact.number if fact else 0, copy.get("number", 0)) + 1,
        before=before,
        dead=(*(each for each in known if each.folder not in {place.folder, gone.folder}), gone),
    )


def refuse_not_live(paths: Paths) -> None:
    """Raise VersionNotLive for paths of another place than now: a switch or a reset
    came after they were made. And what `refuse_dead` does.
    """
    if paths.place_now() != paths.place:
        raise _moved(paths)
    refuse_dead(paths)


def refuse_older_switch(paths: Paths) -> None:
    """Raise CheckpointBroken for the note that a switch had before there was a journal."""
    note = paths.above / "switching.json"
    if note.exists():
        raise CheckpointBroken.older_switch(note=note, pipeline=paths.pipeline)


def refuse_dead(paths: Paths) -> None:
    """Raise VersionNotLive for paths of a place that is neither live nor a rebuild's. Raises
    CheckpointBroken for what an older Sluice has left half done.
    """
    refuse_older_switch(paths)
    fact = read_live(paths)
    if fact is None:
        return
    if paths.place.beside:
        begun = rebuilt(paths.above)
        if begun is None or begun["folder"] != paths.place.folder:
            raise _moved(paths)
    elif fact.place("").folder != paths.place.folder:
        raise _moved(paths)


def _moved(paths: Paths) -> VersionNotLive:
    fact = read_live(paths)
    live = (
        f"state version {fact.version}, in {paths.above / fact.place('').folder}, "
        f"is live since {fact.since:%F %H:%M:%S} UTC"
        if fact
        else "another place is live"
    )
    return VersionNotLive.switched_meanwhile(folder=paths.version, live=live)
