"""Pipelines changed: those that a difference of git touches: their folders, and the modules of the
project that their spec.py and logic.py import. Needs no Spark.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from spark_jobs.errors import CaseInvalid
from spark_jobs.registry import find as registry
from spark_jobs.registry.git_variables import plain


def touched(pipelines: Iterable[str], ref: str) -> list[str]:
    """Those that differ from the commit, in what is committed, in what is not, and in new files.
    Raises CaseInvalid, or SpecInvalid where an imported module is missing.
    """
    names = list(pipelines)
    if not names:
        return []
    changed = _changed(registry.logic_path(names[0]).parents[1], ref)
    return [name for name in names if _is_touched(name, changed)]


def _is_touched(name: str, changed: set[Path]) -> bool:
    folder = registry.logic_path(name).parent.resolve()
    imported = {path.resolve() for path in registry.files(name)}
    return any(path.is_relative_to(folder) or path in imported for path in changed)


def _changed(folder: Path, ref: str) -> set[Path]:
    def lines(*words: str) -> list[str]:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            check=False,
            env=plain(),
        )
        if done.returncode:
            error = (done.stderr.strip().splitlines() or ["no answer"])[0]
            raise CaseInvalid.unknown_ref(ref=ref, error=error)
        return [line for line in done.stdout.split("\0") if line]

    try:
        top = Path(lines("rev-parse", "--show-toplevel")[0].rstrip("\n")).resolve()
    except FileNotFoundError:
        raise CaseInvalid.unknown_ref(ref=ref, error="there is no git") from None
    known = lines(
        "diff", "--name-only", "--no-renames", "--no-relative", "-z", "--end-of-options", ref, "--"
    )
    new = lines("-C", str(top), "ls-files", "--others", "--exclude-standard", "-z")
    every = (path for path in (*known, *new) if not path.endswith(".pyc"))
    return {(top / path).resolve() for path in every}
