"""Places: every write of an actor is a place to die, to wait, to sleep, to let another actor go on,
or to lose the answer: then it is done, and fails.

Python tells its audit hooks of each file that is opened for writing, renamed or removed, so no
write of the product can be forgotten. Only those below the roots count: what Python or a library
writes elsewhere, once a process, would make a schedule another one than the same alone. delta-rs and obstore write without Python: their calls that
write are wrapped. To die behind a write is to die before the next one.

A dead actor writes nothing more, whatever its `finally` would tidy up: SIGKILL leaves no time.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import deltalake
import obstore
from deltalake.exceptions import DeltaError
from deltalake.table import TableAlterer, TableMerger, TableOptimizer

from spark_jobs.checkpoint.object_lease import ObjectLease
from spark_jobs.storage.root.store import SCHEME

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink"})
NAMES = frozenset({"os.link", "os.symlink"})
"""Of these the second path is written."""
CALLS: tuple[tuple[Any, str], ...] = (
    (deltalake, "write_deltalake"),
    (deltalake.DeltaTable, "create"),
    (deltalake.DeltaTable, "restore"),
    (deltalake.DeltaTable, "delete"),
    (deltalake.DeltaTable, "vacuum"),
    (deltalake.DeltaTable, "create_checkpoint"),
    (deltalake.DeltaTable, "cleanup_metadata"),
    (deltalake.DeltaTable, "create_write_transaction"),
    (TableAlterer, "set_table_properties"),
    (TableMerger, "execute"),
    (TableOptimizer, "compact"),
    (obstore, "put"),
    (obstore, "delete"),
    (ObjectLease, "confirm"),
)
"""What of delta-rs and obstore writes: one write each. A look at the lease is a place too."""
LOST = "the answer of this write was lost"

FOLDER = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else os.environ.get("TMPDIR", "/tmp"))
"""Where all roots are: in memory, if the machine lets."""
ROOTS = "sluice-simulation-"
"""How their folders begin there."""
Arrive = Callable[[str], bool]
"""Whether the answer of the write is to be lost."""
_acting = threading.local()
_hooked = False


@contextmanager
def acting(arrive: Arrive) -> Iterator[None]:
    """Within the block, `arrive` is called before each write of this thread, with what it is."""
    _acting.arrive = arrive
    try:
        yield
    finally:
        _acting.arrive = None


@contextmanager
def watched() -> Iterator[None]:
    """Within the block the writes of actors are seen."""
    _hook_python()
    before = [(of, name, of.__dict__[name]) for of, name in CALLS]
    for of, name, original in before:
        setattr(of, name, _told(of, name, original))
    try:
        yield
    finally:
        for of, name, original in before:
            setattr(of, name, original)


@contextmanager
def one_write(what: str, error: type[Exception] = OSError) -> Iterator[None]:
    """The block is one write, whatever files it opens."""
    lost, arrive = arrived(what), getattr(_acting, "arrive", None)
    _acting.arrive = None
    try:
        yield
    finally:
        _acting.arrive = arrive
    if lost:
        raise error(LOST)


def _told(of: Any, name: str, original: Any) -> Any:
    """The same call, as one write."""
    wrapped = isinstance(original, classmethod | staticmethod)
    call = original.__func__ if wrapped else original

    def told(*args: Any, **more: Any) -> Any:
        if of is ObjectLease:
            arrived(name)
            return call(*args, **more)
        if name == "create" and not str(args[0]).startswith((SCHEME, f"{FOLDER}/{ROOTS}")):
            return call(*args, **more)  # an ops table without rows, once a process
        what = f"delta {name}"
        if of is obstore:
            mode = more.get("mode")
            kind = name if mode is None else "create" if mode == "create" else "update"
            what = f"{kind} {args[1]}"
        with one_write(what, OSError if of is obstore else DeltaError):
            return call(*args, **more)

    return type(original)(told) if wrapped else told


def _hook_python() -> None:
    """Once: an audit hook stays for the life of the process."""
    global _hooked  # noqa: PLW0603 - one a process
    if not _hooked:
        sys.addaudithook(_heard)
        _hooked = True


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if getattr(_acting, "arrive", None) is None:
        return
    writes = event == "open" and isinstance(args[2], int) and args[2] & WRITES
    if not (event in CHANGES or writes):
        return
    path = os.fsdecode(args[event in NAMES])
    if _is_of_a_root(path, -1 if event == "open" else args[-1]):
        arrived(f"{event} {os.path.basename(path)}")  # noqa: PTH119 - a hook makes no objects


def _is_of_a_root(path: str, folder: int) -> bool:
    """`folder` is the descriptor to which the path is relative, or -1."""
    if not path.startswith("/") and folder >= 0:
        path = str(Path(f"/proc/self/fd/{folder}").readlink())
    return path.startswith(f"{FOLDER}/{ROOTS}")


def arrived(what: str) -> bool:
    """An actor stands before a write. Whether its answer is to be lost."""
    arrive: Arrive | None = getattr(_acting, "arrive", None)
    return arrive(what) if arrive is not None else False
