"""`python -m local.worker_env FOLDER`: an environment for executors alone, of what Sluice's code
imports there: the packages of this one, which the lock pins.

It has neither Sluice nor pyspark, which a worker brings itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import distribution, version
from pathlib import Path

NEEDED = (
    "annotated-types",
    "msgspec",
    "numpy",
    "pandas",
    "protobuf",
    "pyarrow",
    "pydantic",
    "pydantic-core",
    "python-dateutil",
    "pytz",
    "six",
    "typing-extensions",
    "typing-inspection",
    "tzdata",
    "zstandard",
)
"""pyspark's own needs of Arrow and of Python state; then what decoding and processors import in a
worker, and theirs.
"""
HERE = Path(sysconfig.get_path("purelib"))


def made(home: Path) -> Path:
    """The environment's Python; made below `home` if it is not there, under a name by this Python's
    version and the packages' versions.
    """
    number = f"{sys.version_info.major}.{sys.version_info.minor}"
    versions = "\n".join(f"{name}=={version(name)}" for name in NEEDED)
    folder = home / f"worker-{number}-{hashlib.sha256(versions.encode()).hexdigest()[:12]}"
    if not (folder / "whole").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, symlinks=True)
        there = folder / "lib" / f"python{number}" / "site-packages"
        for name in NEEDED:
            for file in _files(name):
                (target := there / file).parent.mkdir(parents=True, exist_ok=True)
                _linked(HERE / file, target)
        (folder / "whole").touch()
    return folder / "bin" / "python"


def _files(name: str) -> Iterator[Path]:
    """A package's files within site-packages, with their bytecode, which takes 15 s to make."""
    files = distribution(name).files
    assert files, f"nobody knows the files of {name}: it has no RECORD"
    for file in files:
        if ".." not in file.parts:
            yield Path(file)
            kept = Path(
                file.parent, "__pycache__", f"{file.stem}.{sys.implementation.cache_tag}.pyc"
            )
            if file.suffix == ".py" and (HERE / kept).exists():
                yield kept


def _linked(source: Path, target: Path) -> None:
    """The same file where both are on one file system, else a copy of it."""
    with suppress(FileExistsError):  # a list of files that has the bytecode too
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:
            shutil.copy2(source, target)


if __name__ == "__main__":
    sys.stdout.write(f"{made(Path(sys.argv[1]))}\n")
