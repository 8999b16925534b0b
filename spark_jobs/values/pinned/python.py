"""Python: the command lines by which Sluice starts an interpreter. Neither looks for modules in the
working folder or beside the script, whose file names others may choose.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

BASE: Final = Path(getattr(sys, "_base_executable", sys.executable))
"""The interpreter from which this process's environment was made."""


def own() -> Path:
    """This process's interpreter."""
    return Path(sys.executable)


def searching(python: Path | str, *words: str) -> list[str]:
    """It finds packages as this process does, also in PYTHONPATH."""
    return [str(python), "-P", *words]


def isolated(python: Path | str, *words: str) -> list[str]:
    """It finds the packages of its own environment alone, and reads no variable of Python's."""
    return [str(python), "-I", *words]
