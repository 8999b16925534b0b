"""Place: where a state version has all that is its own: a folder with its checkpoint, and a table.

`live.json` above the folders names the live place, and nothing else does. Each place that becomes
live has a copy of it in its folder: by the copy with the highest number a lost live.json is found
again. A change that has begun to make a place live counts as done: the next lease holder completes
it first (journal/).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.errors import CheckpointBroken, RootNotWritable
from spark_jobs.spec.archive import PREFIX
from spark_jobs.storage.root.files import refuse_newer
from spark_jobs.storage.root.store import translate_store_error

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline

LIVE: Final = "live.json"
JOURNAL: Final = "journal.json"
REBUILD: Final = "rebuild.json"
SPARK: Final = "spark"
"""The folder of a place's first Spark checkpoint. A rewind begins another one."""
STAMP: Final = "%Y%m%dT%H%M%S%f"
"""Of the time in its name."""
FORM: Final = 1
FOLDER: Final = re.compile(r"v(\d+)(?:\.\d+)?")
"""A place's folder, and none that a rewind has kept aside."""

Content = dict[str, Any]


class Place(NamedTuple):
    """Names of folders."""

    folder: str
    """Of the checkpoint, above which the pipeline's lease is."""
    table: str
    beside: bool = False
    """Whether a rebuild drains into it: then lease and journal are its own too."""


def first_table(pipeline: Pipeline) -> str:
    """The name of a pipeline's first table; of an archive it is the topic's, or of a topic of a
    named cluster the archive's without its prefix.
    """
    if not pipeline.is_archive:
        return pipeline.name
    topic = pipeline.topic
    return pipeline.name.removeprefix(PREFIX) if topic.cluster else topic.name


def place_of(above: UPath, version: int, table: str) -> Place:
    """The place of a state version: the live one, or the one of a rebuild that is under way, or a
    pipeline's only place.

    `above` is the folder of the pipeline's checkpoints, `table` its first table. Raises
    CheckpointBroken or FormatNewer.
    """
    first = f"v{version}"
    named = named_live(above)
    if named is not None and named["version"] == version:
        # An older Sluice named neither: all its versions have one table.
        return Place(named.get("folder") or first, named.get("table") or table)
    begun = rebuilt(above)
    if begun is not None and begun["version"] == version:
        return Place(begun["folder"], begun["table"], beside=True)
    return Place(first, table if named is None else f"{table}.{first}")


def live_version(above: UPath) -> int | None:
    """The state version that drains; None if nothing says so: SPEC's. Raises as `place_of`."""
    if (named := named_live(above)) is not None:
        return int(named["version"])
    begun = rebuilt(above)
    return None if begun is None else int(begun["replaces"])


def rebuilt(above: UPath) -> Content | None:
    """What rebuild.json says while a rebuild is under way. Raises as `read`."""
    begun = read(above / REBUILD)
    return None if begun is None or begun.get("ended") else begun


def named_live(above: UPath) -> Content | None:
    """What live.json says, or will say when the change is completed that has begun; None for a
    pipeline that has had one place only.
    """
    return _coming(above / JOURNAL) or read(above / LIVE) or highest_copy(above)


def read(path: UPath) -> Content | None:
    """The file's content, with a known state version; None without a file. Raises CheckpointBroken
    or FormatNewer.
    """
    content = _content(path)
    if content is None:
        return None
    found = _parsed(content)
    if not isinstance(found, dict) or not isinstance(found.get("version"), int):
        if path.name == REBUILD:
            raise CheckpointBroken.rebuild_unreadable(note=path, pipeline=path.parent.name)
        raise CheckpointBroken.live_unreadable(
            path=path, folder=path.parent, file=LIVE, pipeline=path.parent.name
        )
    refuse_newer(found.get("format_version", FORM), FORM, str(path))
    return found


def spark_folder(identity: UPath) -> str:
    """The name of the folder with Spark's checkpoint, which identity.json beside it has."""
    found = _parsed(_content(identity) or b"")
    named = found.get(SPARK) if isinstance(found, dict) else None
    return named if isinstance(named, str) else SPARK


def unused(above: UPath, tables: UPath, version: int, table: str) -> Place:
    """A place for this state version that nothing has used. `table` is the first one's name."""
    number = 1
    while True:
        folder = f"v{version}" if number == 1 else f"v{version}.{number}"
        place = Place(folder, f"{table}.{folder}")
        if not (above / place.folder).exists() and not (tables / place.table).exists():
            return place
        number += 1


def _coming(journal: UPath) -> Content | None:
    """A note that does not parse is told by who reads the journal (checkpoint/notes/begun.py)."""
    note = _parsed(_content(journal) or b"")
    facts = note.get("facts") if isinstance(note, dict) else None
    found = facts.get("live") if isinstance(facts, dict) else None
    return found if isinstance(found, dict) and isinstance(found.get("version"), int) else None


def highest_copy(above: UPath) -> Content | None:
    """The copy with the highest number; of two that have it, the later: a change that was given up
    may have left its own.
    """
    try:
        folders = [each for each in above.iterdir() if FOLDER.fullmatch(each.name)]
    except (FileNotFoundError, NotADirectoryError):
        return None
    found = [copy for folder in folders if (copy := read(folder / LIVE)) is not None]
    return max(found, key=_turn, default=None)


def _turn(copy: Content) -> tuple[int, str]:
    return int(copy.get("number", 0)), str(copy.get("since", ""))


def _content(path: UPath) -> bytes | None:
    try:
        # Asked for its content at once: an object store says in the answer to that alone why it
        # refuses, and that it is busy.
        return bytes(path.fs.cat_file(path.path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        if refused := translate_store_error(error):
            raise refused from None
        raise RootNotWritable.not_readable(path=path, error=error.strerror or error) from error


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None
