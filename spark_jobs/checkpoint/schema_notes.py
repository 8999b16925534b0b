"""Schema notes: where a checkpoint says that the schemas of its state lie. After a move of the
root, and in a copy, the notes name another place than their own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spark_jobs.storage.root.files import write_whole
from spark_jobs.storage.root.path_forms import qualified

if TYPE_CHECKING:
    from upath import UPath


PATHS = "stateSchemaFilePaths"
STATE = "/state/"


def follow(checkpoint: UPath, confirm: Callable[[], None] = lambda: None) -> int:
    """Let the notes of a checkpoint name its own files; how many named others.

    The newest of a step's notes is written last: while it names this place, all do, and no other is
    read. So this may be cut off anywhere, and is repeated. Raises what `confirm` does.
    """
    return sum(_step(notes, checkpoint, confirm) for notes in _steps(checkpoint))


def elsewhere(checkpoint: UPath) -> bool:
    """Whether notes of the checkpoint name files of another place."""
    newest = (notes[-1].read_text() for notes in _steps(checkpoint))
    return any(_followed(text, checkpoint) is not None for text in newest)


def _steps(checkpoint: UPath) -> list[list[UPath]]:
    found: defaultdict[str, list[UPath]] = defaultdict(list)
    for note in checkpoint.glob("state/*/_metadata/v2/*"):
        if note.name.isdigit():
            found[str(note.parent)].append(note)
    return [sorted(notes, key=lambda note: int(note.name)) for notes in found.values()]


def _step(notes: list[UPath], checkpoint: UPath, confirm: Callable[[], None]) -> int:
    changed = 0
    if _followed(notes[-1].read_text(), checkpoint) is None:
        return 0
    for note in notes:
        text = _followed(note.read_text(), checkpoint)
        if text is not None:
            confirm()
            # Before the text: by the old checksum Hadoop would refuse the new text.
            note.with_name(f".{note.name}.crc").unlink(missing_ok=True)
            write_whole(note, text)
            changed += 1
    return changed


def _followed(text: str, checkpoint: UPath) -> str | None:
    """None if it has them. A damaged note stays as it is: Spark says what is wrong with it."""
    version, _, content = text.partition("\n")
    try:
        said = json.loads(content)
        stores: list[dict[str, Any]] = said["stateStoreInfo"]
        changed = [_move(store, checkpoint) for store in stores]
    except (ValueError, KeyError, TypeError):
        return None
    if not any(changed):
        return None
    return f"{version}\n{json.dumps(said, ensure_ascii=False, separators=(',', ':'))}"


def _move(store: dict[str, Any], checkpoint: UPath) -> bool:
    was = store[PATHS]
    store[PATHS] = [_here(path, checkpoint) for path in was]
    return bool(was != store[PATHS])


def _here(path: str, checkpoint: UPath) -> str:
    """The same file of this checkpoint.

    >>> from upath import UPath
    >>> _here("file:/old/root/v1/spark/state/0/_stateSchema/default/0_1", UPath("/new/v1/spark"))
    'file:/new/v1/spark/state/0/_stateSchema/default/0_1'
    """
    place, found, file = path.rpartition(STATE)
    mine = qualified(checkpoint)
    return f"{mine}{STATE}{file}" if found and place != mine else path
