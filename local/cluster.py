"""A standalone cluster on loopback: a master and workers of one core each, which have neither
Sluice nor its environment.

Workers have another Python (local/worker_env.py), no PYTHONPATH, another working folder and another
time zone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyspark

from local import jvm
from spark_jobs.launch.processes import kill_tree

HOME = Path(pyspark.__file__).parent
PATIENCE_SECONDS = 120
POLL_SECONDS = 0.2
"""A look at all processes of this machine keeps a core busy for a tenth of that."""
LOOPBACK = "127.0.0.1"
ELSEWHERE = "Pacific/Kiritimati"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+?)\.?$", re.MULTILINE)
_PAGE = re.compile(r"started at (http://\S+?)\.?$", re.MULTILINE)


class Cluster:
    """One that runs; `secret` is what its RPC asks for, if anything."""

    def __init__(self, folder: Path, secret: str = "") -> None:
        self._folder = folder
        self._started = list[subprocess.Popen[bytes]]()
        folder.mkdir(parents=True)
        self._properties = folder / "spark.properties"
        self._properties.touch(mode=0o600)
        lines = [
            "spark.authenticate true",
            f"spark.authenticate.secret {secret}",
            "spark.network.crypto.enabled true",
            "spark.network.crypto.cipher AES/GCM/NoPadding",
        ]
        self._properties.write_text("\n".join(lines if secret else []) + "\n")
        self.workers: list[subprocess.Popen[bytes]] = []
        log = self._daemon("master", "master.Master")
        try:
            self.master = self._said(log, _MASTER)
            self._page = self._said(log, _PAGE)
        except BaseException:  # nobody else has it yet, to stop it
            self.stop()
            raise

    def add_worker(self, memory: str = "1g", host: str = LOOPBACK, core: int | None = None) -> None:
        """One of one core, on an address of this machine's; it is registered when this returns.

        Spark counts tasks and not cores: an executor with one task has its JVM and its Python at
        work at once. With `core`, all that the worker starts is bound to that core of the machine.
        """
        before = len(self._state()["workers"])
        work = self._folder / f"worker-{before}"
        words = ("--cores", "1", "--memory", memory, "--work-dir", str(work), self.master)
        self._daemon(f"worker-{before}", "worker.Worker", *words, host=host, core=core)
        self.workers.append(self._started[-1])
        wait_until(lambda: len(self._state()["workers"]) > before, "a worker's registration")

    def lose_executor(self) -> None:
        """SIGKILL to one; its worker starts another."""
        self.executors()[0].kill()

    def lose_worker(self) -> None:
        """End one and its executors at once, as when a machine is lost."""
        worker = self.workers.pop()
        kill_tree(worker.pid)
        worker.wait()

    def map_outputs(self) -> Counter[int]:
        """Shuffle -> how many tasks have written their part of it, as the executors' files say."""
        found: Counter[int] = Counter()
        for path in self._folder.glob("local/**/shuffle_*.index"):
            found[int(path.name.split("_")[1])] += 1
        return found

    def logs(self) -> str:
        """All that master, workers and executors have said."""
        files = [*self._folder.glob("*.log"), *self._folder.glob("worker-*/*/*/std*")]
        return "\n".join(file.read_text(errors="replace") for file in files)

    def applications(self) -> list[dict[str, Any]]:
        """Those that the master has now."""
        found: list[dict[str, Any]] = self._state()["activeapps"]
        return found

    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs."""
        found = []
        for worker in self.workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(worker.pid).children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        found += (
                            [child]
                            if any(
                                "CoarseGrainedExecutorBackend" in word for word in child.cmdline()
                            )
                            else []
                        )
        return found

    def stop(self) -> None:
        """End all of it: workers end their executors."""
        for process in reversed(self._started):
            process.terminate()
        for process in reversed(self._started):
            try:
                process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _state(self) -> Any:
        with urllib.request.urlopen(f"{self._page}/json/", timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def _daemon(
        self, name: str, main: str, *words: str, host: str = LOOPBACK, core: int | None = None
    ) -> Path:
        log = self._folder / f"{name}.log"
        bare = {
            key: os.environ[key]
            for key in ("PATH", "HOME", "JAVA_HOME", "LANG")
            if key in os.environ
        }
        environment = {
            **bare,
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "256m",
            "TZ": ELSEWHERE,
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            "SPARK_DAEMON_JAVA_OPTS": " ".join(jvm.SMALL),
        }
        bound = [] if core is None else ["taskset", "--cpu-list", str(core)]
        command = [
            *bound,
            str(HOME / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{main}",
            "--host",
            host,
            "--port",
            "0",
            "--webui-port",
            "0",
            "--properties-file",
            str(self._properties),
            *words,
        ]
        with log.open("wb") as output:
            self._started.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    cwd=self._folder,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        return log

    def _said(self, log: Path, what: re.Pattern[str]) -> str:
        wait_until(
            lambda: (
                what.search(log.read_text()) is not None or self._started[-1].poll() is not None
            ),
            f"{log}: {what}",
        )
        found = what.search(log.read_text())
        assert found, log.read_text()[-2000:]
        return found[1]


@contextmanager
def running(
    folder: Path, workers: int = 2, secret: str = "", *, bound: bool = False
) -> Iterator[Cluster]:
    """A cluster as long as the block runs; `bound`: each worker to a core of its own, by Linux's
    taskset.
    """
    cluster = Cluster(folder, secret)
    try:
        for number in range(workers):
            cluster.add_worker(core=number if bound else None)
        yield cluster
    finally:
        cluster.stop()


def wait_until(moment: Callable[[], bool], what: str) -> None:
    """Until the moment has come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
        time.sleep(POLL_SECONDS)
