"""That a repair which is refused starts no JVM and loads no Spark: the command lines themselves, in
one process that finds programs in place of Java which only note that they were started.

The topic is said, as in test_refused_repair.py. The last command is not refused: it shows that a
start would be noted.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import REPO
from spark_jobs.spec.analysis.ranged import unranged
from tests.harness.ran import python
from tests.unit.checkpoints import plan_batch
from tests.unit.repaired import SPEC, Root, hours
from tests.unit.test_coverage import root
from tests.unit.test_switch import Rebuilt

__all__ = ["root"]  # the fixture

PROCESS = """
import json, sys
from pathlib import Path
from typer.testing import CliRunner
from spark_jobs.cli import app
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.source import sources
from tests.harness.sources import Said

said, noted = json.load(sys.stdin), Path(sys.argv[1])
for words, variables, (topic, earliest) in said:
    state = SourceState(topic, Positions({0: earliest}), Positions({0: 10}))
    sources.kafka = lambda *_: Said(lambda: state)
    done = CliRunner().invoke(app, words, env=variables)
    told = done.exit_code, done.stderr, noted.exists(), "pyspark" in sys.modules
    print(json.dumps(told))
"""
SPECS = """
from spark_jobs.spec import State
from tests.unit.specs import deduplicate, pipeline

SPEC = pipeline()
NEXT = pipeline(state=State(version=2), steps=(deduplicate(),))
"""
UNRANGED = "tests.pipelines"
"""The package of pipelines of which some have no ranges."""


class Told(NamedTuple):
    """What a command has said, and what had happened in the process when it ended."""

    status: int
    error: str
    started: bool
    """Whether Java was."""
    loaded: bool
    """Whether pyspark was."""


class Given(NamedTuple):
    """A command, and what it finds."""

    words: tuple[str, ...]
    root: Path
    package: str = "requests"
    topic: tuple[str, int] = ("topic-1", 0)
    """Its id, and its first offset."""

    @property
    def variables(self) -> dict[str, str]:
        return {"SLUICE_ROOT": str(self.root), "SLUICE_PIPELINES": self.package}


def range_of(first: int) -> tuple[str, ...]:
    """The options for this hour."""
    span = hours(first)
    return "--from", f"{span.start:%FT%RZ}", "--to", f"{span.end:%FT%RZ}", "--execute"


BACKFILL = "backfill", SPEC.name, *range_of(2)


def commands(folder: Path, root: Root, cut_off: Path) -> dict[str, Given]:
    """What is wrong -> a command that is refused for it."""
    drained = Path(root.settings.root)
    unaccounted = Root(folder / "unaccounted")
    unaccounted.drain(0, 1)
    plan_batch(unaccounted.folder, 2, {0: 2}, topic="sales")
    behind = Path(unaccounted.settings.root)
    open_yet = "verify", SPEC.name, *range_of(8)
    backwards = "backfill", SPEC.name, "--from", "2026-03-02", "--to", "2026-03-01"
    return {
        "RANGE_INVALID it is not after from": Given(backwards, drained),
        "RANGE_INVALID most_records is 4": Given((*BACKFILL, "--most-records", "4"), drained),
        "RANGE_OPEN no drain has committed": Given(BACKFILL, folder / "new"),
        "RANGE_OPEN drains still write rows": Given(open_yet, drained),
        "ACCOUNT_BEHIND batch 2 is not": Given(("repair", SPEC.name, "--execute"), behind),
        "TOPIC_REMADE id is topic-2": Given(BACKFILL, drained, topic=("topic-2", 0)),
        "RECORDS_UNREACHABLE 3 of the 5": Given(BACKFILL, drained, topic=("topic-1", 3)),
        "CHECKPOINT_BROKEN an older Sluice was cut off": Given(
            ("replay", SPEC.name, "--execute"), cut_off
        ),
    }


def without_ranges(at: Path, patch: pytest.MonkeyPatch) -> dict[str, Given]:
    """A backfill of each shipped form without ranges, of which nothing has run."""
    with patch.context() as active:
        active.setenv("SLUICE_PIPELINES", UNRANGED)
        names = [spec.name for spec in map(registry.load, registry.names()) if unranged(spec)]
    day = "--from", "2013-02-03", "--to", "2013-02-04", "--execute"
    return {
        f"RANGE_UNSUPPORTED {name}: no range": Given(("backfill", name, *day), at, UNRANGED)
        for name in names
    }


def ask(folder: Path, given: Sequence[Given]) -> list[Told]:
    """Give the commands, one after the other, in one process."""
    programs, jars, noted = folder / "bin", folder / "jars", folder / "started"
    for made in (programs, jars, folder / "requests" / SPEC.name):
        made.mkdir(parents=True)
    for name in ("java", "spark-submit"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> '{noted}'\nexit 1\n")
        (programs / name).chmod(0o755)
    (jars / "delta-spark_2.13.jar").touch()
    for package in (folder / "requests", folder / "requests" / SPEC.name):
        (package / "__init__.py").touch()
    (folder / "requests" / SPEC.name / "spec.py").write_text(SPECS)
    said = [(each.words, each.variables, each.topic) for each in given]
    done = python(
        PROCESS,
        str(noted),
        env={
            **os.environ,
            "PATH": os.pathsep.join((str(programs), os.environ["PATH"])),
            "JAVA_HOME": str(folder),
            "SLUICE_JARS": str(jars),
            "SLUICE_KAFKA": "127.0.0.1:1",
            "PYTHONPATH": os.pathsep.join((str(REPO), str(folder))),
        },
        input=json.dumps(said),
    )
    return [Told(*json.loads(line)) for line in done.stdout.splitlines() if line.startswith("[")]


def test_a_refused_repair_starts_no_java_and_loads_no_spark(tmp_path, root, monkeypatch):
    rebuilt = Rebuilt(tmp_path / "rebuilt")
    (rebuilt.paths().above / "switching.json").write_text("{}")
    refused = commands(tmp_path, root, Path(rebuilt.root))
    refused |= without_ranges(tmp_path / "new", monkeypatch)
    assert len(refused) > 12, "the forms without ranges are not among them"
    last = Given((*BACKFILL, "--yes"), Path(root.settings.root))
    *told, control = ask(tmp_path, [*refused.values(), last])
    for why, each in zip(refused, told, strict=True):
        code, _, words = why.partition(" ")
        assert each.status > 1, why
        assert each.error.startswith(f"{code} "), each.error
        assert words in each.error
        assert code != "RANGE_UNSUPPORTED" or "`sluice re" in each.error, "no way out"
        assert (each.started, each.loaded) == (False, False), why
    assert control.started, control.error
