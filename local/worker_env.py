"""`python -m local.worker_env FOLDER`: an environment for executors alone, of what Sluice's code
imports there, by the lock.

It has neither Sluice nor pyspark, which a worker brings itself.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from spark_jobs.contract.settings import REPO

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
)
"""pyspark's own needs of Arrow and of Python state; then what decoding and processors import in a
worker, and theirs.
"""
LOCK = REPO / "requirements" / "lock.txt"
_NAME = re.compile(r"(?P<name>[a-z0-9._-]+)==")


def requirements() -> str:
    """The lock's entries of what is needed, with their hashes."""
    entries = re.split(r"\n(?=[a-z0-9])", LOCK.read_text())
    wanted = [
        entry for entry in entries if (named := _NAME.match(entry)) and named["name"] in NEEDED
    ]
    assert {_NAME.match(entry)["name"] for entry in wanted} == set(NEEDED), (
        "the lock lacks something"
    )
    return "\n".join(wanted) + "\n"


def made(home: Path) -> Path:
    """The environment's Python; made below `home` if it is not there, under a name by the lock and
    this Python's version.
    """
    text = requirements()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = home / f"worker-{version}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if not (folder / "whole").exists():
        shutil.rmtree(folder, ignore_errors=True)
        home.mkdir(parents=True, exist_ok=True)
        listed = home / f"{folder.name}.txt"
        listed.write_text(text)
        uv = REPO / ".local" / "uv" / "bin" / "uv"
        _run(uv, "venv", "-q", "--python", sys.executable, folder)
        _run(
            uv,
            "pip",
            "sync",
            "-q",
            "--python",
            python,
            "--require-hashes",
            "--compile-bytecode",
            listed,
        )
        (folder / "whole").touch()
    return python


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


if __name__ == "__main__":
    sys.stdout.write(f"{made(Path(sys.argv[1]))}\n")
