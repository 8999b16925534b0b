"""A drain, or a repair's stage, as Airflow's task starts it: spark-submit and its processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.launch.processes import kill_tree, tree
from spark_jobs.launch.scratch import Scratch
from spark_jobs.launch.submit import application, command, environment
from spark_jobs.messages.job import Drain, Stage
from spark_jobs.messages.report import Report, read_report
from spark_jobs.settings.installation import Settings
from tests.harness.patience import patient
from tests.harness.pipelines import variables_of
from tests.harness.scene import Scene

PATIENCE_SECONDS = patient(240)
POLL_SECONDS = 0.05
"""A look at a root in an object store, or at all processes, keeps a core busy for that long."""
LOOK_SECONDS = 0.2
"""Between two looks for the first batch, of which a campaign tells the time."""
PIPELINES = "tests.harness.pipelines"
"""The shipped pipelines, each as the scene has it that starts the process."""


_STARTED: list[Running] = []


@contextmanager
def none_left() -> Iterator[None]:
    """No drain outlives the block, of a test that failed for example; least of all a held one."""
    try:
        yield
    finally:
        while _STARTED:
            _STARTED.pop().abandon()


def lives(pid: int) -> bool:
    """Whether it does something yet; an ended orphan may stay in the table of processes."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


class Running:
    """One drain, started; all that waits here says for what; `let_go` ends a failpoint's wait."""

    KILLED: tuple[int, ...] = (-signal.SIGKILL, 128 + signal.SIGKILL)
    """spark-submit's exit status where it was killed, and where its driver was."""

    def __init__(self, scene, folder, run_id, failpoints="", *, repair_id="", **variables) -> None:
        """With a `repair_id` it is the stage of that repair, not a drain."""
        self._report = folder / f"{run_id}.json"
        self._log = (folder / f"{run_id}.log").open("w")
        self._waiting = folder / f"{run_id}.waiting"
        self._waiting.mkdir()
        self.checkpoint = Checkpoint(scene.paths.checkpoint)
        self._before = set(self.checkpoint.planned()), set(self.checkpoint.committed())
        self.started_at = self._looks_at = time.monotonic()
        self.first_batch_at: float | None = None
        """When the first new batch was committed, in seconds of the monotonic clock."""
        tests = {
            "SLUICE_PIPELINES": PIPELINES,
            **variables_of(scene.spec),
            "SLUICE_FAILPOINTS": failpoints,
            "SLUICE_FAILPOINTS_WAITING": str(self._waiting),
        }
        settings, name = self._settings(scene), scene.spec.name
        given = {**os.environ, **environment(settings), **tests, **variables}
        made = Scratch(given)
        self.process = subprocess.Popen(
            self._command(settings, name, run_id, repair_id),
            start_new_session=True,
            env={**given, **made.variables},
            pass_fds=made.locks,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        made.let_go()
        _STARTED.append(self)

    @staticmethod
    def _settings(scene: Scene) -> Settings:
        return scene.settings

    def _command(self, settings: Settings, name: str, run_id: str, repair_id: str) -> list[str]:
        run = {"pipeline": name, "report": str(self._report), "run_id": run_id}
        if repair_id:
            return command(settings, Stage(kind="repair", repair_id=repair_id, **run))
        return command(settings, Drain(**run))

    def wait_for(self, moment: Callable[[], bool], what: str) -> None:
        """Until the moment has come, or the drain has ended."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not moment() and self.process.poll() is None:
            assert time.monotonic() < deadline, (
                f"{what}: not within {PATIENCE_SECONDS} s; see {self._log.name}"
            )
            self._look_for_first_batch()
            time.sleep(POLL_SECONDS)

    def _look_for_first_batch(self) -> None:
        if self.first_batch_at is None and (now := time.monotonic()) > self._looks_at:
            self._looks_at = now + LOOK_SECONDS
            if set(self.checkpoint.committed()) - self._before[1]:
                self.first_batch_at = now

    @staticmethod
    def wait_until(moment: Callable[[], bool], what: str, pause: float = POLL_SECONDS) -> None:
        """Until the moment has come, though the drain has ended; `pause` seconds between looks."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not moment():
            assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
            time.sleep(pause)

    def has_planned(self) -> bool:
        """Whether a batch was begun that was not there when the drain started."""
        return bool(set(self.checkpoint.planned()) - self._before[0])

    def hold(self, place: str) -> None:
        """Until its failpoint holds it there; it is alive then, and does nothing."""
        self.wait_for((self._waiting / place).exists, f"failpoint {place}")
        assert self.is_held(place), f"it ended before it came to {place}: {self.said[-2000:]}"

    def is_held(self, place: str) -> bool:
        """Whether it is alive, and its failpoint holds it there."""
        return self.process.poll() is None and (self._waiting / place).exists()

    def let_go(self, place: str) -> None:
        """Let it go on from there."""
        (self._waiting / place).unlink()

    def longest_batch_seconds(self) -> float:
        """From the plan of a batch to its commit, by the times of their files."""
        logs = Path(str(self.checkpoint.folder))
        mine = set(self.checkpoint.committed()) - self._before[1]
        return max(
            (logs / "commits" / str(b)).stat().st_mtime
            - (logs / "offsets" / str(b)).stat().st_mtime
            for b in mine
        )

    def end(self) -> int:
        """Its exit status, once it has ended."""
        self.wait_for(lambda: False, "the end of a drain")
        self._log.close()
        return self.process.wait()

    @staticmethod
    def was_killed(status: int) -> bool:
        """Whether it was, by this exit status, and had not ended before."""
        return status != 0

    def abandon(self) -> None:
        """End it, if it has not ended, and leave nothing open."""
        self.kill()
        for (
            process
        ) in psutil.process_iter():  # a driver whose submitter was killed is in no tree any more
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                if (
                    os.getpgid(process.pid) == self.process.pid
                    and application() in process.cmdline()
                ):
                    process.kill()
        self.process.wait()
        self._log.close()

    def kill(self) -> None:
        """SIGKILL to all of it at once, if it is alive."""
        if self.process.poll() is None:
            kill_tree(self.process.pid)

    def processes(self, kind: str) -> Iterator[psutil.Process]:
        """Its `jvm`, its `driver` (Python), or its `workers` (Python)."""
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                words = process.cmdline()
                python = bool(words) and "python" in words[0]
                is_driver = python and application() in words
                is_worker = python and any(
                    each in word
                    for word in words
                    for each in ("pyspark.daemon", "pyspark.worker", "python_daemon")
                )
                is_jvm = bool(words) and words[0].endswith("java")
                if {"jvm": is_jvm, "driver": is_driver, "workers": is_worker}[kind]:
                    yield process

    @property
    def report(self) -> Report | None:
        """What it left; None where it was killed before."""
        return read_report(self._report) if self._report.exists() else None

    @property
    def said(self) -> str:
        """All that it printed."""
        return Path(self._log.name).read_text()

    def _tree(self) -> list[psutil.Process]:
        return tree(self.process.pid) if self.process.poll() is None else []
