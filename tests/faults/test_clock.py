"""A machine whose clock is an hour off, and right again: nothing is lost, doubled or late for it."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from tests.harness.process import Running
from tests.harness.scene import Scene

AN_HOUR = 3600


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """A library that, preloaded, puts the wall clock of a process off: of the JVM, of the driver, of the workers."""
    if sys.platform != "linux":
        pytest.skip("it stands on what Linux and glibc call things")
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock.c")
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no C compiler")
    return library


@pytest.fixture
def drained(shim, tmp_path):
    """Drains a scene with the clock so many seconds off."""
    def drain(scene: Scene, run_id: str, seconds: int) -> Running:
        began = time.time() + seconds
        running = Running(scene, tmp_path, run_id, LD_PRELOAD=str(shim), SLUICE_CLOCK_SECONDS=str(seconds))
        assert running.end() == 0, running.said
        ended = time.time() + seconds
        clock_ms = running.checkpoint.batch(running.checkpoint.committed()[-1]).clock_ms
        assert began <= clock_ms / 1000 <= ended, "the JVM has another clock"
        return running
    return drain


def test_event_time_does_not_go_by_it(own_kafka, tmp_path, drained):
    off = (AN_HOUR, -AN_HOUR, 0)
    scene = Scene(own_kafka[0], tmp_path, "aircraft_rotations", events=3000, deliveries=len(off), topic="flights")
    for seconds in off:
        scene.deliver()
        drained(scene, f"off-by-{seconds}", seconds)
        scene.assert_exact()


def test_an_alarm_of_the_clock_comes_once_also_where_the_clock_goes_back(own_kafka, tmp_path, drained, monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.faults.pipelines")
    gates = import_module("tests.faults.pipelines.silent_gates.spec").SPEC
    scene = Scene(own_kafka[0], tmp_path, gates, events=400, deliveries=2, topic="flights")
    for round_, (heard, due) in enumerate([(0, AN_HOUR), (-AN_HOUR, 0)], 1):  # the second alarm is set to a time that was
        scene.deliver()
        drained(scene, f"heard-{round_}", heard)
        drained(scene, f"due-{round_}", due)
        fired = [operator["timers_fired"] for row in scene.ops("batches") for operator in row["operators"] or []]
        assert sum(fired) == len(scene.table()) == 3 * round_, "an alarm for each airport"
        good = sum(kind in {"good", "duplicate"} for kind in scene.ledger.column("kind").to_pylist())
        assert sum(row["events"] for row in scene.table()) == good
        assert sum(row["unaccounted"] for row in scene.ops("batches")) == 0
