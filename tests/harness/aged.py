"""Files and logs of Delta tables that look as if they had been written days ago."""

import os
import re
from datetime import timedelta
from pathlib import Path

_TIMES = re.compile(r'("(?:timestamp|deletionTimestamp|modificationTime|createdTime)":)(\d{13})')


def age(folder: Path, days: float) -> None:
    """Everything that is there now gets that much older: commits, removals, and files."""
    back = timedelta(days=days).total_seconds()
    for path in [*folder.rglob("*")]:
        if path.suffix == ".crc" and path.parent.name == "_delta_log":
            path.unlink()  # of what is changed here
        if path.suffix == ".json" and path.parent.name == "_delta_log":
            path.write_text(
                _TIMES.sub(
                    lambda found: f"{found[1]}{int(found[2]) - int(back * 1000)}", path.read_text()
                )
            )
    for path in folder.rglob("*"):
        if path.is_file():
            written = path.stat().st_mtime - back
            os.utime(path, (written, written))
