"""A run that was stopped until another has its lease touches nothing of what that one has written
since.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from upath import UPath

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import LeaseLost
from spark_jobs.runs import drain, query
from spark_jobs.runs.resume import opening
from spark_jobs.runs.run_outcome import RunOutcome
from spark_jobs.runs.watch.limits import StopRequest
from spark_jobs.settings.installation import Settings
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import pipeline


class Lost:
    """A lease that another has taken."""

    def confirm(self):
        raise LeaseLost("it was taken by another run")


class Ended:
    """A query that has nothing to do."""

    runId = "id"

    def awaitTermination(self, seconds: float) -> bool:
        return seconds > 0

    def stop(self):
        """It has."""


def test_a_batch_without_data_that_the_next_run_planned_is_not_taken_back(tmp_path, monkeypatch):
    folder = UPath(tmp_path / "spark")
    begin(folder)
    plan_batch(folder, 0, {0: 10})
    commit_batch(folder, 0)
    plan_batch(folder, 1, {0: 10})
    stopped = query.Query.__new__(query.Query)
    run = SimpleNamespace(
        lease=Lost(),
        checkpoint=Checkpoint(folder),
        settings=SimpleNamespace(local=True),
        spec=pipeline(),
        spark=SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None)),
    )
    vars(stopped).update(
        _run=run,
        _limits=SimpleNamespace(over=False),
        _timers=None,
        _looked=False,
        _latest={},
        _audit=None,
        _in_jvm=True,
        _flow=SimpleNamespace(rows=lambda *_, **__: (None, None)),
    )
    monkeypatch.setattr(query, "claim_table", lambda *_: None)
    monkeypatch.setattr(query, "Follower", lambda *_: None)
    monkeypatch.setattr(query.writer, "start", lambda *_: Ended())
    with pytest.raises(LeaseLost):
        stopped._consume()  # noqa: SLF001 - the rest of it needs Spark
    assert Checkpoint(folder).planned() == [0, 1]


def test_the_identity_that_the_next_run_has_made_is_not_overwritten(tmp_path, monkeypatch):
    @contextmanager
    def lost(*_: object) -> Iterator[Lost]:
        yield Lost()

    written: list[Any] = []
    monkeypatch.setattr(drain, "leased", lost)
    monkeypatch.setattr(drain, "sessions_of", lambda *_: nullcontext())
    found = SimpleNamespace(
        identity=SimpleNamespace(write=written.append),
        lines=(),
        lost={},
        topic=SimpleNamespace(held={}),
    )
    monkeypatch.setattr(opening, "preflight", lambda *_: found)
    settings = Settings(str(tmp_path), "127.0.0.1:1", tmp_path, "local[1]", "1g")
    with pytest.raises(LeaseLost):
        drain._run(pipeline(), settings, RunOutcome("drain", "p", "run"), StopRequest())  # noqa: SLF001 - as above
    assert written == []
