"""Published: the events that consumers are told of, each fixed in events/<number>.json before
anybody is told of it.

The numbers go on through every reset, rewind and switch. Of two who would fix the same number, one
does, and both tell what it has fixed. So no lease is needed, and no two events overlap.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from spark_jobs.errors import CheckpointBroken
from spark_jobs.messages.event import Event
from spark_jobs.storage.object_store import put_new
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

    from spark_jobs.storage.root.paths import Paths

FIXED = re.compile(r"(\d{12})\.json")
KEPT = 1000
"""Events that stay: a listener may be so far behind another."""
MOST = 100
"""Events that are told at once."""


class Published(Stored):
    """How far consumers have been told, or are about to be; 0 and None before the first event."""

    number: int = 0
    """The event's; 0 also where an older Sluice wrote the file, without an event in it."""
    generation: str = ""
    """The checkpoint's then."""
    table_version: int | None = None
    batch: int = -1
    """The newest batch whose rows are in that version."""
    before_version: int | None = None
    """The version behind which the event begins."""
    before_batch: int = -1
    """The newest batch whose rows are in that one."""
    event: Event | None = None

    def fix(self, paths: Paths) -> None:
        """Write it, unless another has fixed this number."""
        put_new(paths.events / f"{self.number:012}.json", self.model_dump_json(indent=2))
        for number, path in _fixed(paths).items():
            if number <= self.number - KEPT:
                with suppress(FileNotFoundError):  # another removes it too
                    path.unlink()


def read_published(paths: Paths) -> Published:
    """The newest; one before any event without one.

    Raises CheckpointBroken if it does not parse, FormatNewer.
    """
    fixed = _fixed(paths)
    # An older Sluice had one file, beside the checkpoint, and no numbers.
    return _read(paths, fixed[max(fixed)] if fixed else paths.version / "published.json")


def _read(paths: Paths, path: UPath) -> Published:
    try:
        return Published.read(path) if path.exists() else Published()
    except ValueError:
        raise CheckpointBroken.announcement_unreadable(path=path, pipeline=paths.pipeline) from None


def behind(paths: Paths, number: int) -> tuple[Event, ...]:
    """The events behind `number`, which a listener was told last, in their order, at most MOST: a
    DAG and the command line may tell, each its own. Who was told of none begins with the first, or,
    where more than MOST were told, with the newest. Raises CheckpointBroken, FormatNewer.
    """
    fixed = _fixed(paths)
    if number == 0 and (newest := max(fixed, default=0)) > MOST:
        number = newest - 1
    following = sorted(each for each in fixed if each > number)[:MOST]
    found = [_read(paths, fixed[each]).event for each in following]
    return tuple(each for each in found if each is not None)


def told_newest_first(paths: Paths) -> Iterator[Event]:
    """The events that stay, read as they are asked for. Raises CheckpointBroken, FormatNewer."""
    for _, path in sorted(_fixed(paths).items(), reverse=True):
        if (event := _read(paths, path).event) is not None:
            yield event


def publisher(paths: Paths) -> str:
    """Who publishes what has passed, for people."""
    return f"The next run of its DAG publishes it, or `sluice publish {paths.pipeline}`"


def _fixed(paths: Paths) -> dict[int, UPath]:
    there = [*paths.events.iterdir()] if paths.events.exists() else []
    return {int(found[1]): each for each in there if (found := FIXED.fullmatch(each.name))}
