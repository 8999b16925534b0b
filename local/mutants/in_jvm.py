"""Tries changes of the JVM's decoder by the tests that hold it against Python's.

Each is a package of its own, all compiled at once, and one JVM has them all. A change that does not
compile is none; one that ends no loop is dead.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest

from local import files_jar
from local.mutants import java
from tests.harness.jvm_decoding import PROGRAM, JvmDecoding, compiled

SOURCES = files_jar.SOURCES / "sluice" / "decode"
TESTS = ["tests/unit/test_jvm_decoder.py"]
SECONDS = 40
"""Of an answer by the clock: the machine may be busy."""
MORE = 3
"""Times as many are drawn as are asked for, since some do not compile."""


def fates(file: Path, tests: list[str], most: int, seed: str) -> tuple[int, list[str], list[str]]:
    """How many changes the text has, those that were tried, and those of them that live.

    Raises SystemExit for a file of another package, or where the tests fail without a change.
    """
    if file.parent != SOURCES:
        raise SystemExit(f"{file} is none of {SOURCES}: of Java these alone have mutants")
    texts = java.changed(file.read_text())
    drawn = random.Random(seed).sample(texts, min(MORE * most, len(texts)))
    with TemporaryDirectory() as folder:
        classes = Path(folder) / "classes"
        own = [*SOURCES.glob("*.java"), PROGRAM]
        for n, text in enumerate(drawn):
            for each in own:
                _put(Path(folder) / f"m{n}", each, text if each == file else each.read_text())
        said = compiled(classes, [*own, *Path(folder).glob("m*")], "-proceedOnError").stdout
        refused = {int(n) for n in re.findall(r"ERROR in \S+/m(\d+)/", said)}
        left = [n for n in range(len(drawn)) if n not in refused][:most]
        with _Kept(classes, tests or TESTS) as kept:
            kept.require()
            alive = [n for n in left if kept.lives(f"m{n}")]
            kept.require()
    return len(texts), [drawn[n] for n in left], [drawn[n] for n in alive]


def _put(folder: Path, file: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / file.name).write_text(
        text.replace("package sluice.decode;", f"package {folder.name};")
    )


class _Kept:
    """One JVM for the tests of all of them."""

    def __init__(self, classes: Path, tests: list[str]) -> None:
        self._classes, self._tests = classes, tests
        self._decoding = JvmDecoding.__new__(JvmDecoding)
        self._decoding.start(classes)

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._decoding.__exit__()

    def require(self) -> None:
        """Ends where the tests fail without a change: each change would be dead."""
        if not self.lives("sluice.decode"):
            raise SystemExit(f"{' '.join(self._tests)} fails without a change")

    def lives(self, package: str) -> bool:
        """Whether the tests pass with the decoder of this package."""
        kept = self._decoding
        if kept.ended:
            kept.start(self._classes)
        kept.package, kept.seconds = package, SECONDS
        with (
            patch.object(JvmDecoding, "__init__", lambda self, _: vars(self).update(vars(kept))),
            patch.object(JvmDecoding, "__exit__", lambda *_: None),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            return pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", *self._tests]) == 0
