"""`make mutants FILE=... TESTS=...`: what no test sees of a file of Python, or of the JVM's
decoder; without FILE the table's files by their unit tests.

MOST mutants of a file are tried, drawn by SEED. For packages whose tests need no Spark.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_jobs.settings.installation import REPO
from tests.harness.patience import VARIABLE as SLOWNESS

HERE = Path(__file__).parent
NO_SHRINKING = "SLUICE_MUTANT"
"""Hypothesis need not search for the least case that fails (tests/unit/conftest.py)."""
PYTHON = REPO / ".local" / "mutants" / "bin" / "python"
MOST, SEED = (os.environ.get(name, usual) for name, usual in (("MOST", "60"), ("SEED", "56")))
TABLE = {
    "audit/balance": "balance join",
    "audit/record_counts": "balance",
    "steps/keyed/merge": "versions latest fold versions_of_a_repair",
    "repair/swap": "keyed_swap killed_swap swap",
    "checkpoint/log": "checkpoint several_topics integrity table progress_log plan repartition",
    "runs/preflight": "plan table transaction_ends restored",
    "admin/doctor": "doctor repartition cursor_repair topic_archive restored",
    "decode/json/decoder": "json_decoder raised record_forms",
    "journal/runner": "journal killed_swap rewind",
    "runs/publish/publication": "publication accept days published_stream",
    "source/kafka": "kafka",
}
"""File below spark_jobs -> its tests, of tests/unit."""


def main(file: str, tests: str) -> None:
    """Exits with 1 if the tests fail without a change."""
    told = []
    for each, of in [(file, tests)] if file else [_named(*each) for each in TABLE.items()]:
        all_, tried, alive = fates(each, of.split())
        print(*alive, sep="\n")  # noqa: T201 - the answer
        dead = tried - len(alive)
        told.append(f"| `{each}` | {all_} | {tried} | {dead} | {len(alive)} |")
        print(told[-1], flush=True)  # noqa: T201
    head = ("| file | mutants | tried | dead | alive |", "| --- | --- | --- | --- | --- |")
    print(*head, *told, sep="\n")  # noqa: T201


def _named(file: str, tests: str) -> tuple[str, str]:
    paths = (f"tests/unit/test_{name}.py" for name in tests.split())
    return f"spark_jobs/{file}.py", " ".join(paths)


def fates(file: str, tests: list[str]) -> tuple[int, int, list[str]]:
    """How many mutants there are, how many were tried, and what those that live change."""
    if file.endswith(".java"):
        return _of_java(REPO / file, tests)
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        _copy_tracked_files(copy)
        made = subprocess.run(
            [PYTHON, HERE / "make.py", file, MOST, SEED], cwd=copy, capture_output=True, check=True
        )
        variables = {"PYTHONPATH": f"{copy}:{copy / 'plugins'}", "PATH": "/usr/bin:/bin"}
        variables |= {SLOWNESS: "3", NO_SHRINKING: "1"}  # or each fork measures it
        ran = subprocess.run(
            [sys.executable, HERE / "run.py", file, *tests],
            cwd=copy, env=variables, input=made.stdout, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
    whole, *mutants = map(json.loads, ran.stdout.splitlines())
    if not whole["lives"]:
        sys.exit(f"{' '.join(tests)} fails before anything was changed")
    alive = [_diff(whole["source"], each) for each in mutants if each["lives"]]
    return whole["all"], len(mutants), alive


def _of_java(file: Path, tests: list[str]) -> tuple[int, int, list[str]]:
    from local.mutants import in_jvm  # noqa: PLC0415 - Python's have their tests in forks

    os.environ[NO_SHRINKING] = "1"
    all_, tried, alive = in_jvm.fates(file, tests, int(MOST), SEED)
    source = file.read_text()
    return all_, len(tried), [_diff(source, {"name": "java", "text": text}) for text in alive]


def _diff(source: str, mutant: dict[str, str]) -> str:
    """By a line of what it is, and those that it changes."""
    texts = (source.splitlines(), mutant["text"].splitlines())
    return "\n".join([mutant["name"], *[*difflib.unified_diff(*texts, lineterm="", n=1)][2:]])


def _copy_tracked_files(to: Path) -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPO, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (REPO / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, to / name)


if __name__ == "__main__":
    main(*sys.argv[1:3])
