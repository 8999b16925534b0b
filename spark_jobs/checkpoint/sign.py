"""Sign: whether who holds a lease gives a sign of life, for who only looks on.

It writes nothing: a server that may only read can ask. On an object store the put that renewed the
lease last is held against this machine's clock, which may differ from the store's: so it takes much
longer than a lease lasts until somebody counts as dead. Who is to take the lease asks `holder`.
"""

from __future__ import annotations

import fcntl
import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import obstore

from spark_jobs.checkpoint.file_system import refuse_local_locks
from spark_jobs.checkpoint.lease import is_local
from spark_jobs.checkpoint.object_lease import TTL_SECONDS
from spark_jobs.errors import SluiceError
from spark_jobs.storage.object_store import client
from spark_jobs.storage.root.path_forms import delta_path

if TYPE_CHECKING:
    from upath import UPath

SILENT: Final = timedelta(seconds=TTL_SECONDS)
DEAD: Final = 5 * SILENT
Life = Literal["alive", "silent", "gone"]
"""silent: it should have given one, and the clocks may differ, or nobody can tell."""


class Sign(NamedTuple):
    """Of who holds the lease, or held it last."""

    life: Life
    run_id: str = ""
    """Empty where nobody knows."""
    at: datetime | None = None
    """The last sign; None on a disk, whose lock tells now."""


GONE: Final = Sign("gone")


def sign(lease: UPath, now: datetime) -> Sign:
    """Of the lease at this path."""
    return _of_lock(lease) if is_local(lease) else _of_object(lease, now)


def _of_lock(path: UPath) -> Sign:
    try:
        with open(str(path), "rb") as file:  # noqa: PTH123 - flock needs a real descriptor
            try:
                refuse_local_locks(path.parent)
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                life: Life = "gone"
            except BlockingIOError:
                life = "alive"
            except (OSError, SluiceError):  # a file system that has no locks of other machines here
                life = "silent"
            return Sign(life, _run_id(file.read()))
    except FileNotFoundError:
        return GONE


def _of_object(path: UPath, now: datetime) -> Sign:
    store, prefix = client(delta_path(path.parent)), f"{path.name}."
    names = (each["path"] for each in obstore.list_with_delimiter(store)["objects"])
    fences = [name for name in names if name.startswith(prefix) and name[len(prefix) :].isdigit()]
    if not fences:
        return GONE
    try:
        answer = obstore.get(store, max(fences))
        content = bytes(answer.bytes())
        released = json.loads(content).get("released")
    except (FileNotFoundError, ValueError):  # another has taken it just now
        return Sign("silent")
    at = answer.meta["last_modified"]
    if released or now - at > DEAD:
        return Sign("gone", _run_id(content), at)
    return Sign("silent" if now - at > SILENT else "alive", _run_id(content), at)


def _run_id(content: bytes) -> str:
    try:
        return str(json.loads(content)["run_id"])
    except (ValueError, KeyError, TypeError):
        return ""
