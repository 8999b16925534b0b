"""Tries texts of a file, one after the other: from each line of JSON a line that says whether it
lives.

    python run.py FILE TESTS... < mutants > fates

The libraries are imported once, and a fork tries each text. The first text is the file's own: it
shows the tests that call a function, which come first where that is changed.
"""

import json
import os
import sys
import time
from pathlib import Path
from resource import RLIMIT_CPU, setrlimit
from shutil import rmtree
from signal import SIGKILL
from tempfile import mkdtemp

import confluent_kafka  # noqa: F401 - for the forks
import deltalake  # noqa: F401
import duckdb  # noqa: F401
import msgspec  # noqa: F401
import numpy as np  # noqa: F401
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet  # noqa: F401
import pydantic  # noqa: F401
import pyspark.sql.types  # noqa: F401
import pytest
import typer.testing  # noqa: F401
import upath  # noqa: F401

from local.mutants.reached import Calls, First, function_of

SECONDS = 60
"""Of a processor, for the tests of a text. One that ends no loop is dead by them."""
WAITS = 20
"""Times so long by the clock: the machine may be busy."""


def lives(words: list[str], plugin: object, seconds: int = SECONDS) -> bool:
    """Whether the tests pass in time, in a process of their own."""
    if child := os.fork():
        until = time.monotonic() + WAITS * seconds
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
            time.sleep(0.01)
        if not ended[0]:
            os.killpg(child, SIGKILL)
            ended = os.waitpid(child, 0)
        return ended[1] == 0
    os.setsid()
    setrlimit(RLIMIT_CPU, (seconds, seconds))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    usual = ["-q", "-x", "-p", "no:cacheprovider"]
    os._exit(int(pytest.main([*usual, *words], plugins=[plugin])))


def main(file: Path, words: list[str]) -> None:
    temporary = os.environ["TMPDIR"] = mkdtemp(dir=Path.cwd())
    source, told = file.read_text(), Path("reached.json")
    tests: dict[str, list[str]] = {}
    for number, line in enumerate(sys.stdin):
        mutant = json.loads(line)
        file.write_text(mutant.get("text", source))
        # Bytecode of another text of the same second and size is no longer this one's.
        os.utime(file, (number, number))
        if number:
            plugin: object = First(tests.get(function_of(source, mutant["line"]), ()))
            lived = lives(words, plugin)
        else:
            lived = lives(words, Calls(file, told), WAITS * SECONDS)
            tests = json.loads(told.read_text()) if lived else {}
        print(json.dumps(mutant | {"lives": lived}), flush=True)  # noqa: T201
        for left in Path(temporary).iterdir():
            rmtree(left) if left.is_dir() else left.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
