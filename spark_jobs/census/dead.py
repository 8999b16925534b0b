"""Dead: the folders of places that are live no more, by what live.json says."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from spark_jobs.storage.root.live_place import LIVE
from spark_jobs.storage.root.paths import CHECKPOINTS

if TYPE_CHECKING:
    from upath import UPath


def dead_folders(root: UPath) -> set[str]:
    """By their paths below the root: checkpoint and table of each."""
    found = set[str]()
    above = root / CHECKPOINTS
    for pipeline in above.iterdir() if above.is_dir() else ():
        with suppress(OSError, ValueError):  # torn, or none: then nothing is known to be dead
            for each in json.loads((pipeline / LIVE).read_text()).get("dead", ()):
                found.add(f"{CHECKPOINTS}/{pipeline.name}/{each['folder']}")
                found |= {f"{kind}/{each['table']}" for kind in ("tables", "archive", "staging")}
    return found
