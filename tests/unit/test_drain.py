"""A drain up to where Spark would start: the order of looks and writes, and its report."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from spark_jobs.errors import LeaseHeld, RecordsGone
from spark_jobs.messages.report import Report
from spark_jobs.runs import drain as draining
from spark_jobs.runs.resume import opening
from spark_jobs.runs.resume.settlers import Scene, Settler, settle
from spark_jobs.runs.watch.limits import StopRequest
from spark_jobs.settings.installation import Settings
from spark_jobs.source.positions import Positions
from spark_jobs.storage import failpoint
from tests.harness.lines import heard
from tests.unit.specs import pipeline

SPEC = pipeline()


class Settled:
    """A drain whose parts say what was done; it is asked to stop before Spark."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch):
        self.done: list[str] = []
        self.said: list[str] = []
        self._settings = Settings(str(root), "127.0.0.1:1", root, "local[1]", "1g")
        monkeypatch.setattr(draining, "leased", self._lease)
        monkeypatch.setattr(draining, "sessions_of", lambda *_: nullcontext())
        monkeypatch.setattr(draining, "require_writable", lambda _: self.done.append("writable"))
        monkeypatch.setattr(failpoint, "at", self.done.append)
        monkeypatch.setattr(
            opening, "remove_orphan_checksums", lambda _: self.done.append("orphans dropped")
        )
        self.finds(monkeypatch)

    def finds(self, monkeypatch: pytest.MonkeyPatch, error: Exception | None = None):
        """What the preflight finds, or raises."""
        found = SimpleNamespace(
            identity=None, lines=("a field differs",), lost={1: (5, 9)}, checkpoint=None,
            topic=SimpleNamespace(held={}, latest=Positions(), begins=Positions()),
            target=SimpleNamespace(table=SimpleNamespace(newest_batch=lambda _: -1), owner=""),
        )  # fmt: skip

        def look(*_: object) -> SimpleNamespace:
            self.done.append("preflight")
            if error:
                raise error
            return found

        monkeypatch.setattr(opening, "preflight", look)

    @contextmanager
    def _lease(self, *_: object) -> Iterator[SimpleNamespace]:
        self.done.append("lease taken")
        try:
            yield SimpleNamespace(confirm=lambda: self.done.append("lease confirmed"))
        finally:
            self.done.append("lease given back")

    def drain(self) -> Report:
        (wish := StopRequest()).stop("a test")
        with heard(self.said.append):
            return draining.drain(SPEC, self._settings, "run-1", wish)


@pytest.fixture
def settled(tmp_path, monkeypatch) -> Settled:
    return Settled(tmp_path, monkeypatch)


def test_it_looks_with_the_lease_held_and_writes_only_with_the_lease_confirmed(settled):
    settled.drain()
    assert settled.done == [
        "writable", "lease taken", "leased", "preflight", "lease confirmed",
        "lease confirmed",  # for the note of what it reads
        "orphans dropped", "lease given back",
    ]  # fmt: skip


def test_a_run_that_ended_early_reports_as_far_as_it_came(settled):
    report = settled.drain()
    assert (report.problem.code, report.lost, [*report.seconds]) == (
        "STOPPED",
        {"1": (5, 9)},
        ["settle"],
    )
    assert (report.pipeline, report.run_id, report.kind) == (SPEC.name, "run-1", "drain")
    assert settled.said == [f"{SPEC.name}: a field differs"]


@pytest.mark.parametrize(
    "error", [RecordsGone("40 are gone."), LeaseHeld("another run."), OSError("disk")], ids=type
)
def test_what_the_preflight_refuses_is_the_runs_problem_before_a_write(settled, monkeypatch, error):
    settled.finds(monkeypatch, error)
    report = settled.drain()
    assert (report.status, report.problem.code) == (
        "failed",
        getattr(error, "code", "SPARK_FAILED"),
    )
    assert settled.done[-2:] == ["preflight", "lease given back"]


def moved(scene: Scene) -> tuple[str, ...]:
    return (f"{scene.run_id}: moved",)


def test_what_is_due_alone_is_loaded_and_its_lines_are_told():
    scene, said = Scene(None, None, None, "run-1"), []
    every = (
        Settler("nowhere.at.all:function", lambda _: False),
        Settler(f"{__name__}:moved", lambda at: at.run_id == "run-1"),
    )
    with heard(said.append):
        settle(every, scene)
    assert said == ["run-1: moved"]
