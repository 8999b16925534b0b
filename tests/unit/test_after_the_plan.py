"""What befell topic, spec and staging between a repair's plan, stage and swap."""

import pytest

from spark_jobs.checkpoint.lease import lease
from spark_jobs.errors import RecordsUnreachable, StagingStale
from spark_jobs.messages.report import Problem
from spark_jobs.repair.find.plan import digest, read_plan
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from tests.harness.refused import because, fails
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.unit.repaired import SPEC, again
from tests.unit.test_killed_swap import BEHIND, Scene

OTHER = SPEC.model_copy(
    update={"topic": SPEC.topic.model_copy(update={"max_ahead": SPEC.topic.max_ahead * 2})}
)
"""The same table by other rules: records that were premature are none."""


@pytest.fixture
def scene(tmp_path) -> Scene:
    made = again(Scene.made, tmp_path / ROOT)
    made.plan(digest(SPEC))
    return made


def refused(scene: Scene) -> Problem:
    """What the stage says; what an earlier one has staged, and a person approved, stays."""
    problem = stage(SPEC, scene.settings, "again", "r1").problem
    assert problem is not None
    assert read_manifest(scene.paths, "r1").approved_by == "ada"
    return problem


def test_a_stage_that_must_wait_for_another_leaves_what_a_person_has_approved(scene):
    with lease(scene.paths.staging_lease, "the stage of r2"):
        assert refused(scene).code == "LEASE_HELD"
    assert scene.swap("r1").state == "swapped"


@pytest.mark.parametrize(
    ("said", "expected", "told"),
    [
        (SourceState("topic-2", Positions({0: 0}), Positions({0: 6})), (StagingStale, "topic_remade"), {"found": "topic-2"}),
        (SourceState("topic-1", Positions({0: 3}), Positions({0: 6})), (RecordsUnreachable, "gone_since_plan"), {"places": "partition 0: 2 (1 to 2)"}),
        (SourceState("topic-1", Positions({0: 0}), Positions({0: 4})), (RecordsUnreachable, "gone_since_plan"), {"places": "partition 0: 1 (4 to 4)"}),
    ],
)  # fmt: skip
def test_a_topic_that_is_another_or_has_lost_records_since_the_plan_is_said_before_spark_starts(
    scene, monkeypatch, said, expected, told
):
    says(monkeypatch, said)
    read_plan(scene.paths, "r1").model_copy(update={"parts": {0: ((1, 5),)}}).store(scene.paths)
    because(refused(scene), *expected, **told)


def test_rows_that_another_spec_has_computed_are_not_swapped_in(scene):
    path = scene.paths.staging("r1") / "manifest.json"
    read_manifest(scene.paths, "r1").model_copy(update={"spec_digest": digest(SPEC)}).write(path)
    with fails(StagingStale, "spec_changed_since_stage", repair="r1"):
        swap(OTHER, scene.settings.root, "r1", "swap")
    assert (scene.version, scene.states()) == (6, {"r1": "staged"})
    assert scene.swap("r1").table_version == 7, "the spec is as it was"


@pytest.mark.parametrize("place", BEHIND)
def test_but_those_that_are_in_the_table_are_recorded_by_any_spec(scene, monkeypatch, place):
    path = scene.paths.staging("r1") / "manifest.json"
    read_manifest(scene.paths, "r1").model_copy(update={"spec_digest": digest(SPEC)}).write(path)
    scene.killed(monkeypatch, place)
    assert swap(OTHER, scene.settings.root, "r1", "swap").state == "swapped"
    assert scene.states() == {"r1": "swapped"}
