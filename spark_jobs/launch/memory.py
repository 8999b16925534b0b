"""Memory: how much a new process can have, of the machine and of each control group that limits
this process; and how much a run needs.

A container's limit is its control group's: what the machine has free says nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from spark_jobs.settings.installation import Settings

PROC, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
BESIDE_HEAP_MB = 1024
"""Of a run, beside the JVM's heap: what the JVM has outside it, the driver's Python and workers."""
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_KILOBYTES = {"k": 1, "": 1024, "m": 1024, "g": 1024**2, "t": 1024**3}
"""Of Spark's units of memory; a number without one is in MiB."""


class _Form(NamedTuple):
    """Where a version of control groups says what."""

    folder: str
    most: str
    used: str
    cached: str
    """The line of memory.stat with what is given back to processes that need it."""


_FORMS = {
    "": _Form("", "memory.max", "memory.current", "inactive_file"),
    "memory": _Form(
        "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
    ),
}
"""Controller of a line of /proc/self/cgroup -> version 2 and 1. Source: cgroups(7)."""


def needed_mb(settings: Settings) -> int:
    """Megabytes that a run may come to need. Raises ValueError for a size that is none."""
    found = _SIZE.fullmatch(settings.driver_memory)
    if found is None:
        raise ValueError(f"SLUICE_DRIVER_MEMORY={settings.driver_memory} is no size as 2g is")
    return int(found[1]) * _KILOBYTES[found[2].lower()] // 1024 + BESIDE_HEAP_MB


def free_mb(proc: Path = PROC, groups: Path = GROUPS) -> int:
    """Megabytes that a new process can have without taking them from another."""
    machine = psutil.virtual_memory().available
    return int(min([machine, *_left_in_groups(proc, groups)]) // 2**20)


def _left_in_groups(proc: Path, groups: Path) -> Iterator[int]:
    """Bytes left in each group that has a limit: the process's own, and all above it."""
    with suppress(OSError):
        for line in proc.read_text(encoding="utf-8").splitlines():
            _, controllers, own = line.split(":", 2)
            form = next((_FORMS[each] for each in controllers.split(",") if each in _FORMS), None)
            if form is None:
                continue
            top = groups / form.folder
            group = top / own.lstrip("/")
            # In a container the path may be the machine's, where the container has its own at top.
            for folder in (group, *group.parents):
                if folder.is_relative_to(top) and (left := _left(folder, form)) is not None:
                    yield left


def _left(folder: Path, form: _Form) -> int | None:
    """Bytes; None without a limit."""
    with suppress(OSError, ValueError):  # "max" is no number
        most = int((folder / form.most).read_text(encoding="ascii"))
        used = int((folder / form.used).read_text(encoding="ascii"))
        stat = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        cached = next((int(each.split()[1]) for each in stat if each.split()[0] == form.cached), 0)
        return max(0, most - used + cached)
    return None
