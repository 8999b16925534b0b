"""Control group: the folders that say what a container lets its processes have.

What the machine has free says nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def folders(
    controller: str, proc: Path = PROC, groups: Path = GROUPS
) -> Iterator[tuple[Path, bool]]:
    """Of each group of this controller: the process's own, and all above it. With each whether its
    files are those of version 1. Source: cgroups(7).
    """
    with suppress(OSError):
        for line in proc.read_text(encoding="utf-8").splitlines():
            _, controllers, own = line.split(":", 2)
            named = controllers.split(",")
            if "" not in named and controller not in named:
                continue
            first = controller in named
            top = groups / controller if first else groups
            group = top / own.lstrip("/")
            # In a container the path may be the machine's, where the container has its own at top.
            for folder in (group, *group.parents):
                if folder.is_relative_to(top):
                    yield folder, first


def processors(proc: Path = PROC, groups: Path = GROUPS) -> float:
    """How many processors' time this process and its group may take; infinite without a limit."""
    found = (_quota(folder, first) for folder, first in folders("cpu", proc, groups))
    return min(found, default=math.inf)


def _quota(folder: Path, first: bool) -> float:
    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if first else ("cpu.max",)
    with suppress(OSError, ValueError):  # "max" is no number
        text = " ".join((folder / name).read_text(encoding="ascii") for name in names)
        most, period = map(int, text.split())
        return most / period if most > 0 else math.inf
    return math.inf
