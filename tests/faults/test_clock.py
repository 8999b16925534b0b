"""A machine whose clock is an hour off, and right again: nothing lost, doubled or late."""

import json
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.messages.report import Report
from spark_jobs.settings.installation import REPO
from tests.harness.long_form import long_form
from tests.harness.process import PATIENCE_SECONDS, PIPELINES
from tests.harness.ran import ran
from tests.harness.scene import Scene
from tests.harness.session import surroundings
from tests.harness.turns import alike

AN_HOUR = 3600
NOT_TESTED = (
    "not tested is that a drain whose clock is off, and one whose clock goes back, lose "
    "and double nothing"
)

pytestmark = alike("a fault of the machine")


@pytest.fixture(scope="module")
def shim(tmp_path_factory) -> Path:
    """A library that, preloaded, puts a process's wall clock off: JVM's, driver's, workers'."""
    if sys.platform != "linux":
        pytest.skip(f"it stands on what Linux and glibc call things: {NOT_TESTED}")
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock.c")
    try:
        ran("cc", "-shared", "-fPIC", "-O2", "-o", library, source, check=True)
    except FileNotFoundError:
        pytest.skip(f"there is no C compiler: {NOT_TESTED}")
    return library


class Elsewhere:
    """A process with a clock of its own, and the file that says how far off."""

    def __init__(self, process: subprocess.Popen[str], clock: Path, said: Path) -> None:
        self._process = process
        self._clock = clock
        self._said = said

    def drain(self, scene: Scene, run_id: str, seconds: int) -> None:
        """With the clock so many seconds off."""
        with self._clock.open("r+b", buffering=0) as file:  # in place: the process has it mapped
            file.write(struct.pack("q", seconds))
        began = time.time() + seconds
        wanted = {
            "pipeline": scene.spec.name,
            "topic": scene.topic,
            "root": scene.settings.root,
            "run_id": run_id,
        }
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], PATIENCE_SECONDS)[0], (
            f"no end in time: {self._said.read_text()}"
        )
        answer = self._process.stdout.readline()
        assert answer, self._said.read_text()
        report = Report.model_validate_json(answer)
        ended = time.time() + seconds
        assert report.problem is None, report.problem
        assert began <= report.started_at.timestamp() <= report.ended_at.timestamp() <= ended, (
            "the driver has another clock"
        )
        checkpoint = Checkpoint(scene.paths.checkpoint)
        clock_ms = checkpoint.batch(checkpoint.committed()[-1]).clock_ms
        assert began <= clock_ms / 1000 <= ended, "the JVM has another clock"


@pytest.fixture(scope="module")
def elsewhere(shim, kafka, tmp_path_factory) -> Iterator[Elsewhere]:
    """One process for all drains here; the clock is moved between them."""
    folder = tmp_path_factory.mktemp("elsewhere")
    clock = folder / "clock"
    said = folder / "said"
    clock.write_bytes(struct.pack("q", 0))
    with surroundings(kafka), said.open("w") as log:
        env = {
            **os.environ,
            "SLUICE_PIPELINES": PIPELINES,
            "LD_PRELOAD": str(shim),
            "SLUICE_CLOCK_FILE": str(clock),
        }
        words = [sys.executable, "-m", "tests.harness.drains"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
        process = subprocess.Popen(words, cwd=REPO, env=env, text=True, **pipes)
    try:
        yield Elsewhere(process, clock, said)
    finally:
        process.stdin.close()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@long_form
def test_event_time_does_not_go_by_it(kafka, tmp_path, elsewhere):
    off = (AN_HOUR, -AN_HOUR, 0)
    scene = Scene(kafka, tmp_path, "aircraft_rotations", events=1500, deliveries=len(off))
    for seconds in off:
        scene.deliver()
        elsewhere.drain(scene, f"off-by-{seconds}", seconds)
        scene.assert_exact()


@long_form
def test_an_alarm_of_the_clock_comes_once_also_where_that_goes_back(kafka, tmp_path, elsewhere):
    gates = import_module(f"{PIPELINES}.silent_gates.spec").SPEC
    scene = Scene(kafka, tmp_path, gates, events=400, deliveries=2)
    for round_, (heard, due) in enumerate(
        [(0, AN_HOUR), (-AN_HOUR, 0)], 1
    ):  # the second alarm is set to a time that was
        scene.deliver()
        elsewhere.drain(scene, f"heard-{round_}", heard)
        elsewhere.drain(scene, f"due-{round_}", due)
        fired = [
            operator["timers_fired"]
            for row in scene.ops("batches")
            for operator in row["operators"] or []
        ]
        assert sum(fired) == len(scene.table()) == 3 * round_, "an alarm for each airport"
        good = sum(
            kind in {"good", "duplicate"} for kind in scene.ledger.column("kind").to_pylist()
        )
        assert sum(row["events"] for row in scene.table()) == good
        assert sum(row["unaccounted"] or 0 for row in scene.ops("batches")) == 0
