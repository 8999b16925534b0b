"""Contents: what a root keeps of files beside streams, of which batches have read earlier contents
(side/of_file.py).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spark_jobs.repair.find.plan import PLAN
from spark_jobs.side.dimension import KEPT
from spark_jobs.storage.folders import files_before
from spark_jobs.storage.pin import INPUTS
from spark_jobs.storage.root.paths import CHECKPOINTS

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from upath import UPath


def unread(root: UPath, before: datetime) -> list[UPath | Path]:
    """Those that no batch has which Spark remembers, nor a repair that is staged, and that nobody
    has kept since `before`. Nothing where a note is torn: it may name any.
    """
    if not (found := files_before(root / KEPT, before)):
        return []
    named = set[str]()
    for note in (
        *(root / CHECKPOINTS).glob(f"*/*/*/{INPUTS}/[0-9]*"),
        *(root / "staging").glob(f"*/*/{PLAN}"),
    ):
        try:
            inputs = json.loads(note.read_bytes()).get("inputs", {})
            named |= {pin["table_id"] for pin in inputs.values()}
        except FileNotFoundError:  # forgotten meanwhile
            continue
        except (ValueError, TypeError, KeyError, AttributeError):
            return []
    return [path for path in found if path.stem not in named]
