"""`make mutants FILE=... TESTS=...`: change one file at one place after the other by cosmic-ray,
and list the changes that no test sees.

For packages whose tests need no Spark. cosmic-ray writes each change into the file itself, so it
works in a copy of the tracked files.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_jobs.settings.installation import REPO

TOOLS = REPO / ".local" / "mutants" / "bin"
SECONDS_A_TEST = 60
ONLY_IN_ANNOTATIONS = r'exclude-operators = ["core/ReplaceBinaryOperator_BitOr_.*"]'
"""`int | None` is text that nothing evaluates."""


def main(file: str, tests: str) -> None:
    """Print what survived, in percent too. Exits with 1 if the tests fail without a change."""
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        _copy_tracked_files(copy)
        config, session = copy / "mutants.toml", copy / "mutants.sqlite"
        config.write_text(_config(file, tests))
        if _run("cosmic-ray", "baseline", config, folder=copy):
            sys.exit(f"{tests} fails before anything was changed")
        _run("cosmic-ray", "init", config, session, folder=copy)
        _run("cr-filter-operators", session, config, folder=copy)
        _run("cosmic-ray", "exec", config, session, folder=copy)
        _run("cr-report", session, "--surviving-only", "--show-diff", folder=copy)


def _copy_tracked_files(to: Path) -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPO, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (REPO / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, to / name)


def _config(file: str, tests: str) -> str:
    command = f"{sys.executable} -m pytest -q -x -p no:cacheprovider {tests}"
    return "\n".join(
        (
            "[cosmic-ray]",
            f'module-path = "{file}"',
            f"timeout = {SECONDS_A_TEST}",
            "excluded-modules = []",
            f'test-command = "{command}"',
            "[cosmic-ray.distributor]",
            'name = "local"',
            "[cosmic-ray.filters.operators-filter]",
            ONLY_IN_ANNOTATIONS,
        )
    )


def _run(tool: str, *words: object, folder: Path) -> int:
    paths = {"PYTHONPATH": f"{folder}:{folder / 'plugins'}", "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [str(TOOLS / tool), *map(str, words)], cwd=folder, env=paths, check=False
    ).returncode


if __name__ == "__main__":
    main(*sys.argv[1:3])
