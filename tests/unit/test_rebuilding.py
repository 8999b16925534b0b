"""A rebuild whose late records cannot be merged is whole all the same: they wait, and it is told."""

from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.admin.rebuild import run as rebuilding
from spark_jobs.admin.rebuild.run import Rebuilding
from spark_jobs.errors import (
    CheckpointBroken,
    RangeInvalid,
    RangeOpen,
    RangeUnsupported,
    RecordsUnreachable,
    SluiceError,
)
from spark_jobs.messages.report import Problem
from spark_jobs.ops import ops_tables
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from tests.harness import roots
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.unit.drains import NEXT, NOON, SPEC, begun_beside

PASSED_OVER = (RangeUnsupported, RangeOpen, RangeInvalid, RecordsUnreachable)


@pytest.fixture
def it(tmp_path, monkeypatch) -> Rebuilding:
    """NEXT has drained all there is, and dropped one record as late."""
    live, side = begun_beside(tmp_path / ROOT)
    row = {"pipeline": SPEC.name, "generation": "g2", "batch_id": 1, "partition": 0, "offset": 1}
    ops_tables.append(side.paths.root, "late", [row | {"event_time": NOON}])
    monkeypatch.setattr(rebuilding, "plan", lambda *_: SimpleNamespace(idle=True))
    says(monkeypatch, SourceState("topic-1", Positions({0: 0}), Positions({0: 5})))
    said: list[str] = []
    return Rebuilding(
        SPEC,
        NEXT,
        live.settings,
        "run",
        "ada",
        submit=lambda *_: roots.report(
            SPEC.name,
            problem=Problem(code="RANGE_UNSUPPORTED", what="a session is longer", remedy=""),
        ),
        say=said.append,
        most_records=123,
    )


def planning(monkeypatch: pytest.MonkeyPatch, found: Any) -> list[int]:
    """The plan of the repair of late records; what bounds it."""
    bounds: list[int] = []

    def plan_repair(_spec: object, _settings: object, request: Any) -> Any:
        bounds.append(request.most_records)
        if isinstance(found, SluiceError):
            raise found
        return found

    monkeypatch.setattr(rebuilding, "plan_repair", plan_repair)
    return bounds


@pytest.mark.parametrize("error", PASSED_OVER)
def test_late_records_that_no_plan_can_merge_wait_and_the_question_says_why(it, monkeypatch, error):
    bounds = planning(monkeypatch, error("sales: not that.", "."))
    assert rebuilding.compute(it) == ((), "1 late records stay waiting: sales: not that.")
    assert bounds == [123], "what was asked for bounds it, and nothing else"


def test_so_do_those_that_the_stage_finds_it_cannot_merge(it, monkeypatch):
    planned = SimpleNamespace(idle=False, store=lambda _: None, repair_id="r", offsets=1)
    planning(monkeypatch, planned)
    assert rebuilding.compute(it).waits == "1 late records stay waiting: a session is longer"


def test_a_broken_checkpoint_is_no_reason_to_go_on(it, monkeypatch):
    planning(monkeypatch, CheckpointBroken("torn", "."))
    with pytest.raises(CheckpointBroken):
        rebuilding.compute(it)
