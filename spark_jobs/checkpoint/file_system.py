"""File system: whether a lock on one of its files holds for every machine that mounts it.

The lease on a disk is an flock. On a network file system that keeps locks to itself, two machines
would each have the lease, and both would write one checkpoint.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import RootRefused
from spark_jobs.settings.installation import one_host

if TYPE_CHECKING:
    from upath import UPath

MOUNTS = Path("/proc/self/mountinfo")
"""Of Linux (proc(5)). Where it is not there, nothing is refused."""
LOCAL = {
    *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "nilfs2", "jfs"),
    *("reiserfs", "reiser4", "vfat", "msdos", "exfat", "ntfs", "ntfs3", "hfs", "hfsplus", "apfs"),
    *("ubifs", "fuseblk", "tmpfs", "ramfs", "rootfs", "overlay", "aufs", "fuse.fuse-overlayfs"),
    *("ecryptfs", "shiftfs", "lxfs", "wslfs"),
}
"""Types that one machine mounts: of a disk, of memory, and layers over these (a container's, an
encrypted home, the first WSL's).
"""
CLUSTER = {"ceph", "gfs2", "ocfs2"}
"""Types whose locks hold on every machine, unless `localflocks` keeps them to one (gfs2, ocfs2)."""


class Mount(NamedTuple):
    """One line of mountinfo."""

    place: str
    kind: str
    options: frozenset[str]

    @property
    def locks_for_all(self) -> bool:
        """Whether an flock is known to hold on every machine that can mount it (flock(2), nfs(5);
        Lustre's mount option). A type that is not known here may keep its locks to one machine.
        """
        if self.kind == "nfs":
            return "local_lock=none" in self.options
        if self.kind == "lustre":
            return "flock" in self.options
        return self.kind in LOCAL or (self.kind in CLUSTER and "localflocks" not in self.options)


def refuse_local_locks(path: UPath) -> None:
    """Raise RootRefused if a lock at `path` may hold on this machine alone."""
    found = mount_of(Path(str(path)))
    if found is None or found.locks_for_all or one_host():
        return
    raise RootRefused.locks_unsure(path=path, kind=found.kind, place=found.place)


def mount_of(path: Path) -> Mount | None:
    """The mount that holds the path: the longest whose place is above it; None if unknown."""
    try:
        lines = MOUNTS.read_text().splitlines()
    except OSError:
        return None
    real = str(path.resolve())
    above = [
        mount
        for mount in map(_mount, lines)
        if real == mount.place or real.startswith(mount.place.rstrip("/") + "/")
    ]
    # Of two at one place the later one is on top.
    return max(reversed(above), key=lambda mount: len(mount.place), default=None)


def _mount(line: str) -> Mount:
    """From `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`."""
    fields, _, rest = line.partition(" - ")
    parts, of_kind = fields.split(), rest.split()
    place = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), parts[4])
    options = frozenset(",".join((parts[5], *of_kind[2:])).split(","))
    return Mount(place, "nfs" if of_kind[0] in {"nfs", "nfs4"} else of_kind[0], options)
