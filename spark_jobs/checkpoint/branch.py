"""Branch: another folder of a place with Spark's checkpoint, a copy of the live one up to a batch.

A rewind and a repartition begin one, and let identity.json name it last. So nobody removes an entry
by whose name another may come late: what comes late falls into a dead folder.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.pins import up_to
from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.storage.folders import copy
from spark_jobs.storage.root.live_place import SPARK, STAMP

if TYPE_CHECKING:
    from upath import UPath


def name_one() -> str:
    """The name of a folder that begins now."""
    return f"{SPARK}-{datetime.now(UTC):{STAMP}}"


def branch(old: UPath, new: UPath, batch: int, confirm: Callable[[], None]) -> None:
    """Let `new` have what Spark has noted and stored in `old` up to the batch. It may be done
    again. Raises what `confirm` does.
    """
    copy(old, new, confirm, lambda path: up_to(batch, path))
    follow(new, confirm)
