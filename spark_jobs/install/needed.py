"""Needed: what the machine must have before an environment can be made."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Final

from spark_jobs.errors import InstallFailed
from spark_jobs.values.pinned.python import BASE, isolated

PYTHONS: Final = ("3.11", "3.12", "3.13")
JAVAS: Final = ("17", "21")


def python(named: str | None) -> str:
    """The interpreter of the environment: `named`, or the one of this process's environment.

    Raises InstallFailed.
    """
    chosen = named or str(BASE)
    found = _said(isolated(chosen, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"))
    if found not in PYTHONS:
        raise InstallFailed.python_unfit(
            python=chosen, found=found or "no Python", wanted=", ".join(PYTHONS)
        )
    return chosen


def maven() -> str:
    """Raises InstallFailed without one."""
    found = shutil.which("mvn")
    if found is None:
        raise InstallFailed.maven_absent()
    return found


def java() -> str | None:
    """JAVA_HOME's, or the path's where that is not set; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")


def java_version() -> str:
    """Its major version; empty without one."""
    path = java()
    said = _said([path, "-version"]) if path else ""
    found = re.search(r'version "(\d+)', said)
    return found[1] if found else ""


def require_java() -> None:
    """Raises InstallFailed without a Java that Spark runs on."""
    if (found := java_version()) not in JAVAS:
        raise InstallFailed.java_unfit(found=found or "none", wanted=" or ".join(JAVAS))


def _said(words: list[str]) -> str:
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.decode(errors="replace").strip()
