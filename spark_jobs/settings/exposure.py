"""Exposure: who besides its owner may read or change a file with a secret."""

from __future__ import annotations

import stat
from pathlib import Path


def exposure(path: Path) -> str:
    """Who besides the owner may change the file, or besides owner and group may read it, as text;
    empty where nobody.

    The group may read it: Kubernetes' fsGroup and systemd give a file to a service account in this
    way.
    """
    mode = path.stat().st_mode
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        who = "everybody on this machine" if mode & (stat.S_IROTH | stat.S_IWOTH) else "its group"
        may = "change" if mode & (stat.S_IWOTH | stat.S_IWGRP) else "read"
        return f"{who} may {may} it (mode {stat.S_IMODE(mode):04o})"
    return ""
