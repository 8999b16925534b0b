"""How long a run goes on without executors, and what is said of a missing master."""

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.errors import ClusterUnreachable, NoExecutors
from spark_jobs.launch import cluster
from spark_jobs.launch.cluster import Cluster, ExecutorWatch
from spark_jobs.messages import log
from spark_jobs.settings.installation import Settings
from tests.harness.refused import because, fails, has

SETTINGS = Settings("/root", "a:1", Path("/jars"), "spark://m:7077", "3g", executor_wait="60")
LOOK_SECONDS = 5
"""Between two looks, by the clock of these tests, which moves amid a look."""

Now = Callable[[int], bool]
"""Whether there is something at a look, by the look's number."""


class Watched:
    """A run that is watched for so many looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, looks: int, executors: Now, jobs: Now):
        self.looks = 0
        self.stopped_at = 0
        self._most = looks
        self._executors = executors
        self._ready = threading.Event()
        self._ended = threading.Event()
        monkeypatch.setattr(cluster, "POLL_SECONDS", 0)
        monkeypatch.setattr(
            cluster, "time", SimpleNamespace(monotonic=lambda: float(self.looks * LOOK_SECONDS))
        )
        context = SimpleNamespace(
            getExecutorIds=self._look,
            stop=self._stop,
            statusTracker=lambda: SimpleNamespace(
                getActiveJobIds=lambda: [1] if jobs(self.looks) else []
            ),
        )
        conf = SimpleNamespace(get=lambda _, default=None: default)
        spark: Any = SimpleNamespace(
            sparkContext=SimpleNamespace(
                _jsc=SimpleNamespace(sc=lambda: context), getConf=lambda: conf
            )
        )
        self.watch = ExecutorWatch(spark, "mine", SETTINGS)
        self._ready.set()
        assert self._ended.wait(30)

    def _look(self) -> Any:
        self._ready.wait()
        self.looks += 1
        if self.looks >= self._most:
            self.watch.end()
            self._ended.set()
        return SimpleNamespace(size=lambda: int(self._executors(self.looks)))

    def _stop(self):
        self.stopped_at = self.looks
        self._ended.set()


def test_a_run_without_a_job_is_left_alone_without_executors(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "spark_jobs")
    watched = Watched(monkeypatch, 100, lambda look: look < 3, lambda _: False)
    assert (watched.watch.problem, watched.stopped_at, caplog.messages) == (None, 0, [])


def test_a_job_that_gets_no_executor_ends_the_application_in_words(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "spark_jobs")
    watched = Watched(monkeypatch, 100, lambda _: False, lambda _: True)
    because(watched.watch.problem, NoExecutors, "none_came", seconds=60, master="spark://m:7077")
    assert watched.stopped_at == 60 // LOOK_SECONDS + 1
    assert caplog.messages[0] == "mine: waits for a first executor of spark://m:7077, 10 s"


def test_what_is_told_of_executors_belongs_to_the_run(monkeypatch, capsys, log_as_before):
    log.setup("json")
    with log.context(pipeline="mine", run="r"):
        Watched(monkeypatch, 100, lambda _: False, lambda _: True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(line["pipeline"], line["run"]) for line in lines} == {("mine", "r")}


def test_the_wait_begins_with_the_job_and_not_with_the_executor_that_went_before_it(monkeypatch):
    watched = Watched(monkeypatch, 100, lambda look: look < 3, lambda look: look > 50)
    because(watched.watch.problem, NoExecutors, "none_came", what=has("last executor is gone"))
    assert watched.stopped_at == 50 + 60 // LOOK_SECONDS + 1


@pytest.mark.parametrize(
    "master", ["spark://127.0.0.1:77077", "spark://127.0.0.1", "spark://127.0.0.1:1"]
)
def test_an_address_at_which_no_master_can_be_is_told_with_the_form_of_one(master):
    with (
        fails(ClusterUnreachable, "no_master", master=master),
        Cluster("mine", SETTINGS._replace(master=master)),
    ):
        pass


@pytest.mark.parametrize(
    ("file", "says"),
    [("", "name the file with it in SLUICE_SPARK_SECRET_FILE"), ("/s", "another than that in /s")],
)
def test_a_master_that_lets_nobody_in_is_told_with_the_secret_that_was_shown_or_not(file, says):
    settings = Settings("/root", "b:1", Path("/jars"), "spark://m:7077", "1g")
    remedy = cluster._remedy(settings._replace(spark_secret_file=file))  # noqa: SLF001 - no master to ask
    assert says in remedy
