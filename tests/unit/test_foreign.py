"""A table that another checkpoint wrote: what is asked of it names a way out that is one."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.admin.rebuild import plan as rebuild
from spark_jobs.errors import CheckpointForeign, RangeOpen
from spark_jobs.messages.request import Request
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.planner import plan_repair
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline, State
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import because, fails, has
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.unit.drains import SPEC, Drains, began
from tests.unit.specs import pipeline

DAY = datetime(2026, 3, 1, tzinfo=UTC)
BACKFILL = Request(kind="backfill", start=DAY, end=DAY + timedelta(days=1))


@pytest.fixture
def root(tmp_path, monkeypatch) -> Drains:
    """Drained by state version 1."""
    says(monkeypatch, SourceState("topic-1", Positions({0: 0}), Positions({0: 5})))
    made = Drains(tmp_path / ROOT)
    made.drain(0, 4)
    began(made, "g1")
    return made


def version(number: int) -> Pipeline:
    return pipeline(state=State(version=number))


def refusal(root: Drains, spec: Pipeline) -> CheckpointForeign:
    """What a backfill and a coverage by this spec are refused with."""
    with pytest.raises(CheckpointForeign) as planned:
        plan_repair(spec, root.settings, BACKFILL)
    with pytest.raises(CheckpointForeign) as covered:
        coverage(spec, Paths(root.settings.root, spec))
    of_both = [(each.value.reason, each.value.parameters) for each in (planned, covered)]
    assert of_both[0] == of_both[1]
    return planned.value


def test_behind_a_raised_state_version_the_way_out_is_a_rebuild_that_is_not_refused(root):
    told = {"has": has("state version 2 has no batch"), "pipeline": SPEC.name}
    because(refusal(root, version(2)), CheckpointForeign, "other_version", theirs=1, free=3, **told)
    rebuild.refuse_lost(SPEC, rebuild.plan_rebuild(SPEC, version(3), root.settings))


def test_a_version_that_a_person_has_used_is_not_named_as_that_of_next(root):
    (root.paths.version.parent / "v7").mkdir()
    because(refusal(root, version(2)), CheckpointForeign, "other_version", free=8)


def test_a_first_run_that_was_refused_behind_a_jvm_changes_nothing_of_that(root):
    beside = Paths(root.settings.root, version(2))
    beside.ensure_writable()
    root.identity.model_copy(update={"generation": "g2", "table_id": ""}).write(beside.identity)
    because(refusal(root, version(2)), CheckpointForeign, "other_version", theirs=1)


@pytest.mark.parametrize("torn", [True, False])
def test_without_the_checkpoint_the_way_out_is_to_put_it_back_or_to_begin_anew(root, torn):
    spec = version(2) if torn else SPEC
    if torn:
        root.paths.identity.write_text("{")
    else:
        shutil.rmtree(str(root.paths.version))
    told = {"wrote": "g1", "pipeline": SPEC.name}
    because(refusal(root, spec), CheckpointForeign, "other_generation", **told)


def test_where_there_is_no_table_the_first_drain_is_what_is_missing(root, tmp_path):
    settings = root.settings._replace(root=str(tmp_path / "new"))
    with fails(RangeOpen, "nothing_committed"):
        plan_repair(SPEC, settings, BACKFILL)
    with fails(RangeOpen, "nothing_accounted"):
        coverage(SPEC, Paths(settings.root, SPEC))
