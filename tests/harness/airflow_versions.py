"""Airflow in the versions that docs/deploy.md says are tested: this environment's packages, with
Airflow's own in another version.

It shows what the plugin calls of that Airflow, and of the provider with its operators. What Airflow
calls of others may differ there: they are of the lock.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from spark_jobs.settings.installation import REPO

HERE = Path(sysconfig.get_path("purelib"))
UV = REPO / ".local" / "uv" / "bin" / "uv"
OWN = re.compile(
    r"airflow$|apache_airflow(_core|_task_sdk|_providers_standard)?-[\d.]+\.dist-info$"
    r"|__editable__|sluice-"
)
"""Entries of site-packages that are Airflow's, or lead to Sluice's wheel."""


def documented() -> list[str]:
    """Of the table of versions, the column of what is tested."""
    page = (REPO / "docs" / "deploy.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith("| Airflow, ")]
    airflow, _, _ = row.split("|")[2].partition("Spark provider")
    return re.findall(r"\d+\.\d+\.\d+", airflow)


def python_of(version: str) -> Path:
    """The Python of an environment with this Airflow; made below .local if it is not there."""
    standard = _standard_of(version)
    folder = REPO / ".local" / "airflow" / f"{version}-{standard}-{HERE.stat().st_mtime_ns}"
    if not (folder / "whole").exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        venv.create(folder, symlinks=True)
        [site] = folder.glob("lib/python3*/site-packages")
        for entry in HERE.iterdir():
            if not OWN.match(entry.name):
                (site / entry.name).symlink_to(entry)
        major, rest = version.split(".", 1)
        sdk = f"{int(major) - 2}.{rest}"
        asked = (
            f"apache-airflow-core=={version}",
            f"apache-airflow-task-sdk=={sdk}",
            f"apache-airflow-providers-standard=={standard}",
        )
        words = [UV, "pip", "install", "-q", "--no-deps", "--target", site, "--python"]
        subprocess.run([*words, sys.executable, *asked], check=True)
        for entry in (HERE / "airflow" / "providers").iterdir():
            if not (site / "airflow" / "providers" / entry.name).exists():
                (site / "airflow" / "providers" / entry.name).symlink_to(entry)
        (folder / "whole").touch()
    return folder / "bin" / "python"


def _standard_of(version: str) -> str:
    """The version of the standard provider that a plain pip has beside it."""
    constraints = REPO / "requirements" / f"constraints-{version}.txt"
    [found] = re.findall(
        r"^apache-airflow-providers-standard==(\S+)", constraints.read_text(), re.MULTILINE
    )
    return str(found)
