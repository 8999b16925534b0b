"""A drain through a warm worker: client, worker's JVM, driver, Python workers."""

from __future__ import annotations

import contextlib
import signal
import sys

import psutil

from spark_jobs.errors import ReportMissing
from spark_jobs.launch.processes import tree
from spark_jobs.launch.warm.fits import shown
from spark_jobs.launch.warm.link import Shown
from spark_jobs.launch.warm.place import log_path, socket_path, socket_paths
from spark_jobs.settings.installation import Settings
from tests.harness.process import Running, lives
from tests.harness.scene import Scene

LOOK_SECONDS = 0.2
"""Between two looks at all processes of the machine."""


class Workers:
    """The workers of one root. Called as Running is, it starts a drain."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.socket = socket_path(root)
        self.drains: dict[int, int] = {}
        """Process of a worker -> drains that it has done, as it last said."""
        self.used = False
        """Whether there is one that has done a drain, and that nobody has killed since."""
        self.reused_and_killed = 0
        """Kills of a worker, or of its client, that had done a drain before."""

    def __call__(self, scene, folder, run_id, failpoints="") -> WarmRunning:
        return WarmRunning(self, scene, folder, run_id, failpoints)

    @property
    def lines(self) -> list[str]:
        """What a campaign says of them."""
        reused = sum(drains > 1 for drains in self.drains.values())
        return [
            f"  {len(self.drains)} workers ended a drain, {reused} of them several, at most "
            f"{max(self.drains.values(), default=0)}; {self.reused_and_killed} kills found one "
            "that had done a drain before"
        ]

    def note(self) -> None:
        """What the worker that is there has done."""
        used = {each.process: each.drains for each in self._there() if each.drains}
        self.used = bool(used)
        self.drains |= used

    def _there(self) -> list[Shown]:
        """Those that answer."""
        return [found for path in socket_paths(self._root) if (found := shown(path))]

    @property
    def tree(self) -> list[psutil.Process]:
        """All processes of those that are there."""
        found = dict[int, psutil.Process]()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if str(self.socket.with_suffix("")) in " ".join(process.cmdline()):
                    found |= {each.pid: each for each in tree(process.pid)}
        return [*found.values()]

    def are_settled(self) -> bool:
        """Whether there is none, or those that are there wait for drains."""
        if not any(lives(process.pid) for process in self.tree):
            return True
        there = self._there()
        return bool(there) and not any(each.run or each.ending for each in there)

    def end(self) -> None:
        """None is left."""
        left = self.tree
        kill(left)
        Running.wait_until(lambda: not any(lives(each.pid) for each in left), "the end of a worker")


class WarmRunning(Running):
    """One drain, started; a worker is, or comes."""

    KILLED = (-signal.SIGKILL, ReportMissing.exit_status)
    """The client's exit status where it was killed, and where the worker was."""

    def __init__(self, workers, scene, folder, run_id, failpoints="") -> None:
        self.workers = workers
        self._struck_behind = False
        self.may_be_cold = False
        self._used = workers.used
        self._noted = False
        self._scene, self._folder, self._run_id = scene, folder, run_id
        super().__init__(scene, folder, run_id, failpoints)

    @staticmethod
    def _settings(scene: Scene) -> Settings:
        return scene.settings._replace(warm="on")

    def _command(self, _settings: Settings, name: str, run_id: str, _repair: str) -> list[str]:
        words = ["drain", name, "--run-id", run_id, "--report", str(self._report)]
        return [sys.executable, "-m", "spark_jobs.cli", *words]

    def again(self, number: int) -> WarmRunning:
        """The next try of the same, as Airflow's."""
        made = self.workers(self._scene, self._folder, f"{self._run_id}-again-{number}")
        made.may_be_cold = True  # a worker that ends behind its drain takes no other
        return made

    def end(self) -> int:
        """Its exit status. Raises AssertionError if it had no worker, and may not do without."""
        status = super().end()
        cold = "this run starts cold" in self.said
        assert self.may_be_cold or not cold, f"{self.said}\n{log_path(self.workers.socket)}"
        if not self._noted:
            self._noted = True
            self.workers.note()
        return status

    def was_killed(self, status: int) -> bool:
        """Also where it was killed when it had written its report, or its worker behind it."""
        killed = bool(status) or self._struck_behind or "the worker died in this run" in self.said
        self.workers.reused_and_killed += killed and self._used
        return killed

    def kill(self) -> None:
        """SIGKILL to client and worker at once."""
        kill(self._tree())

    def kill_worker(self) -> None:
        """SIGKILL to all of the worker, and not to its client."""
        kill(self.workers.tree)

    def kill_client(self) -> None:
        """SIGKILL to whoever waits for the drain."""
        self.process.kill()

    def kill_behind(self, *kinds: str) -> None:
        """SIGKILL to these parts of the worker, which rests."""
        struck = [each for kind in kinds for each in self.processes(kind)]
        self._struck_behind = bool(struck)
        self.workers.used = False
        kill(struck)

    def settle(self) -> None:
        """Until no worker is at work, nor begins or ends."""
        self.wait_until(self.workers.are_settled, "a worker that rests, or none", LOOK_SECONDS)

    def abandon(self) -> None:
        super().abandon()
        self.workers.end()

    def _tree(self) -> list[psutil.Process]:
        return [*super()._tree(), *self.workers.tree]


def kill(processes: list[psutil.Process]) -> None:
    """SIGKILL to each that is there."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
