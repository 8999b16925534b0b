"""`make mutants`: break the product at one place after the other, in a copy, and expect a red test for each.

A mutant that lives, whose test stays green, is a promise that nothing holds. `WANTED=text` picks those whose sentence, file or
test has the text.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_jobs.contract.settings import REPO
from tests.mutants import account, commands, faults, operators, properties, store
from tests.mutants.mutant import Mutant

MUTANTS = (*commands.MUTANTS, *account.MUTANTS, *operators.MUTANTS, *properties.MUTANTS, *faults.MUTANTS, *store.MUTANTS)
SHARED = (".venv", "jars")
"""Not copied: what `make setup` has fetched."""
TESTS_FAILED = 1
"""pytest's exit status where tests ran and failed; anything else is no verdict."""
PATIENCE_SECONDS = 900


def main() -> int:
    """0 where every mutant was seen."""
    parser = argparse.ArgumentParser(prog="tests.mutants", description=__doc__)
    parser.add_argument("wanted", nargs="?", default="", help="a text in the sentence or the file of a mutant")
    wanted = parser.parse_args().wanted
    chosen = [mutant for mutant in MUTANTS if wanted in mutant.breaks or wanted in mutant.file or wanted in mutant.test]
    alive = 0
    for number, mutant in enumerate(chosen, 1):
        began = time.monotonic()
        verdict = tried(mutant)
        alive += verdict != "seen"
        say(f"{number}/{len(chosen)} {verdict}: {mutant.breaks} ({mutant.file}; {time.monotonic() - began:.0f} s)")
    say(f"{len(chosen) - alive} of {len(chosen)} mutants seen")
    return 1 if alive or not chosen else 0


def tried(mutant: Mutant) -> str:
    """`seen`, or what came instead."""
    with TemporaryDirectory(prefix="sluice-mutant-") as folder:
        copy = Path(folder) / "sluice"
        shutil.copytree(REPO, copy, ignore=shutil.ignore_patterns(*SHARED, ".git", ".local", "__pycache__", ".*_cache"))
        for name in SHARED:
            (copy / name).symlink_to(REPO / name)
        path = copy / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            return f"NOT MADE, its text stands {text.count(mutant.old)} times"
        path.write_text(text.replace(mutant.old, mutant.new))
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutant.test]
        env = {
            **os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(copy / "plugins"))),
            "SLUICE_SHRINK_SECONDS": "0",  # that it fails is enough
        }
        try:
            done = subprocess.run(
                words, cwd=copy, env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"NO END within {PATIENCE_SECONDS} s"
        if done.returncode == TESTS_FAILED and " error" not in done.stdout.splitlines()[-1]:
            return "seen"
        return "ALIVE" if done.returncode == 0 else f"NO VERDICT: {' '.join(done.stdout.splitlines()[-3:])}"


def say(line: str) -> None:
    """To whoever watches."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
