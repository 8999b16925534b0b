"""`make mutants`: break the product at one place after the other, in a copy, and expect a red test
for each.

A mutant that lives, whose test stays green, is a promise that nothing holds. First all these tests
run in a copy that is whole: one that is red there says nothing of its mutant. `WANTED=text` picks
those whose sentence, file or test has the text.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from spark_jobs.contract.settings import REPO
from tests.mutants import (
    account,
    after_drain,
    archive,
    bench,
    buckets,
    code,
    commands,
    decode,
    documents,
    faults,
    lineage,
    maintain,
    operators,
    properties,
    rebuild,
    repairs,
    repartition,
    replays,
    rewind,
    sessions,
    slices,
    store,
    together,
    told,
    warm,
    web,
)
from tests.mutants.mutant import Mutant

MUTANTS = (
    *commands.MUTANTS,
    *decode.MUTANTS,
    *code.MUTANTS,
    *account.MUTANTS,
    *archive.MUTANTS,
    *bench.MUTANTS,
    *buckets.MUTANTS,
    *operators.MUTANTS,
    *properties.MUTANTS,
    *repairs.MUTANTS,
    *faults.MUTANTS,
    *lineage.MUTANTS,
    *store.MUTANTS,
    *maintain.MUTANTS,
    *repartition.MUTANTS,
    *rewind.MUTANTS,
    *sessions.MUTANTS,
    *replays.MUTANTS,
    *rebuild.MUTANTS,
    *slices.MUTANTS,
    *told.MUTANTS,
    *together.MUTANTS,
    *warm.MUTANTS,
    *web.MUTANTS,
    *documents.MUTANTS,
    *after_drain.MUTANTS,
)
SHARED = (".venv", "jars")
"""Not copied: what `make setup` has fetched."""
TESTS_FAILED = 1
"""pytest's exit status where tests ran and failed; anything else is no verdict."""
PATIENCE_SECONDS = 900
RED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+::.+?)(?: - .*)?$", re.MULTILINE)


def main() -> int:
    """0 where every mutant was seen."""
    parser = argparse.ArgumentParser(prog="tests.mutants", description=__doc__)
    parser.add_argument(
        "wanted", nargs="?", default="", help="a text in the sentence or the file of a mutant"
    )
    wanted = parser.parse_args().wanted
    chosen = [
        mutant
        for mutant in MUTANTS
        if wanted in mutant.breaks or wanted in mutant.file or wanted in mutant.test
    ]
    say(f"{len(chosen)} mutants; first their tests in a copy that is whole")
    red = red_without(dict.fromkeys(mutant.test for mutant in chosen))
    alive = 0
    for number, mutant in enumerate(chosen, 1):
        began = time.monotonic()
        verdict = (
            "NO VERDICT, its test is red in a copy that is whole"
            if mutant.test in red
            else tried(mutant)
        )
        alive += verdict != "seen"
        say(
            f"{number}/{len(chosen)} {verdict}: {mutant.breaks} ({mutant.file}; {time.monotonic() - began:.0f} s)"
        )
    say(f"{len(chosen) - alive} of {len(chosen)} mutants seen")
    return 1 if alive or not chosen else 0


def red_without(tests: Iterable[str]) -> set[str]:
    """Those that fail though nothing is broken, or do not run at all."""
    wanted = list(tests)
    with copied() as copy:
        status, said = run(
            copy,
            [*wanted, "-n", "2", "--no-loadscope-reorder", "-rfE"],
            len(wanted) * PATIENCE_SECONDS,
        )
    failed = RED.findall(said)
    if status not in {0, TESTS_FAILED} or (status and not failed):
        raise SystemExit(f"the tests do not run in a copy:\n{said[-3000:]}")
    return {
        test
        for test in wanted
        for name in failed
        if name == test or name.startswith((f"{test}[", f"{test}::"))
    }


def tried(mutant: Mutant) -> str:
    """`seen`, or what came instead."""
    with copied() as copy:
        path = copy / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            return f"NOT MADE, its text stands {text.count(mutant.old)} times"
        path.write_text(text.replace(mutant.old, mutant.new))
        status, said = run(copy, ["-x", mutant.test], PATIENCE_SECONDS)
    if status is None:
        return f"NO END within {PATIENCE_SECONDS} s"
    if status == TESTS_FAILED and " error" not in said.splitlines()[-1]:
        return "seen"
    return "ALIVE" if status == 0 else f"NO VERDICT: {' '.join(said.splitlines()[-3:])}"


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the repository, that goes with the block."""
    with TemporaryDirectory(prefix="sluice-mutant-") as folder:
        copy = Path(folder) / "sluice"
        shutil.copytree(
            REPO,
            copy,
            ignore=shutil.ignore_patterns(*SHARED, ".git", ".local", "__pycache__", ".*_cache"),
        )
        for name in SHARED:
            (copy / name).symlink_to(REPO / name)
        yield copy


def run(copy: Path, words: list[str], seconds: float) -> tuple[int | None, str]:
    """pytest's exit status there, None where it came to no end, and what it said.

    Nothing that it started is left.
    """
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(copy), str(copy / "plugins"))),
        "SLUICE_SHRINK_SECONDS": "0",  # that it fails is enough
        "SLUICE_LONG": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={copy.parent / 'tmp'}",
        *words,
    ]
    try:
        done = subprocess.run(
            command, cwd=copy, env=env, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as late:
        return None, str(late.stdout)
    finally:
        for process in psutil.process_iter():  # brokers and Airflow are no children of pytest
            with suppress(psutil.Error):
                if any(str(copy.parent) in word for word in process.cmdline()):
                    process.kill()
    return done.returncode, done.stdout


def say(line: str) -> None:
    """To whoever watches."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
