"""Places: every write of an actor is a place to die, to wait, or to let another actor go on.

Python tells its audit hooks of each file that is opened for writing, renamed or removed, so no
write of the product can be forgotten. delta-rs writes without Python: its calls that commit are
wrapped. To die behind a write is to die before the next one.

A dead actor writes nothing more, whatever its `finally` would tidy up: SIGKILL leaves no time.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import deltalake
import obstore
from deltalake.table import TableAlterer, TableMerger, TableOptimizer

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink"})
COMMITS: tuple[tuple[Any, str], ...] = (
    (obstore, "put"),
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
)
"""What of delta-rs commits, and each put of an object: one write each."""

Arrive = Callable[[str], None]
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
    before = [(of, name, of.__dict__[name]) for of, name in COMMITS]
    for of, name, original in before:
        setattr(of, name, _told(name, original))
    try:
        yield
    finally:
        for of, name, original in before:
            setattr(of, name, original)


def _told(name: str, original: Any) -> Any:
    """The same call, which arrives first."""
    call = original.__func__ if isinstance(original, classmethod) else original

    def told(*args: Any, **more: Any) -> Any:
        _arrive(f"delta {name}")
        return call(*args, **more)

    return classmethod(told) if isinstance(original, classmethod) else told


def _hook_python() -> None:
    """Once: an audit hook stays for the life of the process."""
    global _hooked  # noqa: PLW0603 - one a process
    if not _hooked:
        sys.addaudithook(_heard)
        _hooked = True


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if getattr(_acting, "arrive", None) is None:
        return
    if event in CHANGES or (event == "open" and isinstance(args[2], int) and args[2] & WRITES):
        _arrive(f"{event} {os.path.basename(os.fspath(args[0]))}")  # noqa: PTH119 - a hook makes no objects


def _arrive(what: str) -> None:
    arrive: Arrive | None = getattr(_acting, "arrive", None)
    if arrive is not None:
        arrive(what)
