"""What `sluice rebuild` says and refuses before it begins, over a root as drains leave it."""

from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from spark_jobs.admin.rebuild import beside, needs, plan as rebuild
from spark_jobs.admin.rebuild.beside import begin
from spark_jobs.admin.rebuild.switch import switch
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.cli import app
from spark_jobs.errors import RebuildRefused, RecordsUnreachable, TableLacks, TopicRemade
from spark_jobs.registry import find as registry
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Layout, Pipeline, State
from spark_jobs.table.port import Table
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.unit.checkpoints import commit_batch, plan_batch
from tests.unit.drains import NEXT, NOON, SPEC, Drains, began
from tests.unit.specs import FIELDS


@pytest.fixture
def root(tmp_path) -> Drains:
    """Offsets 0 to 4 of the one partition are in the table."""
    made = Drains(tmp_path / ROOT)
    made.drain(0, 4)
    began(made, "g1")
    return made


def topic(monkeypatch: pytest.MonkeyPatch, earliest: int = 0, topic_id: str = "topic-1") -> None:
    """What the brokers say."""
    state = SourceState(topic_id, Positions({0: earliest}), Positions({0: 8}))
    says(monkeypatch, state)


def test_a_plan_says_what_is_read_from_where_and_that_everything_is_there(root, monkeypatch):
    topic(monkeypatch)
    plan = rebuild.plan_rebuild(SPEC, NEXT, root.settings)
    rebuild.refuse_lost(SPEC, plan)
    said = "\n".join(plan.lines)
    assert "state version 2 beside the live table, which goes on with version 1" in said
    assert "reads 8 of 8 offsets of topic sales: partition 0 from 0" in said
    assert "Kafka has every record that the live table was made from" in said
    assert read_begun(root.paths) is None


class OnlyAppends(Table):
    """A table in a format of one's own."""

    def __init__(self, path):
        self.path = path


class OfOnesOwn(Layout):
    kept_by: ClassVar = f"{__name__}:OnlyAppends"


@pytest.mark.parametrize("which", [0, 1], ids=["live", "next"])
def test_tables_that_cannot_be_compared_are_refused_before_a_record_is_read(
    root, monkeypatch, which
):
    topic(monkeypatch)
    specs = [SPEC, NEXT]
    specs[which] = specs[which].model_copy(update={"layout": OfOnesOwn()})
    with fails(TableLacks, "ability", kind="OnlyAppends"):
        rebuild.plan_rebuild(*specs, root.settings)


def test_the_ordinary_commands_are_about_next_with_next(root, monkeypatch):
    topic(monkeypatch)
    begin(root.paths, NEXT, "topic-1", "tester")
    Drains(Path(root.settings.root), NEXT, "g2").drain(0, 1)
    monkeypatch.setattr(registry, "load", lambda _: SPEC)
    next_is(monkeypatch, NEXT)
    monkeypatch.setenv("SLUICE_ROOT", root.settings.root)
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    for words, said in (
        ((), ("generation g1", "partition 0: next 5, end 8, 3 new")),
        (("--next",), ("generation g2", "partition 0: next 2, end 8, 6 new")),
    ):
        monkeypatch.setenv("SLUICE_NEXT", "off")
        done = CliRunner().invoke(app, ["plan", SPEC.name, *words], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        assert all(each in done.output for each in said)
    next_is(monkeypatch, None)
    done = CliRunner().invoke(app, ["drain", SPEC.name, "--next"], env={"COLUMNS": "200"})
    assert "REBUILD_REFUSED" in done.output


def test_what_kafka_has_no_longer_is_refused_unless_the_rebuild_has_read_it(root, monkeypatch):
    topic(monkeypatch, earliest=3)
    plan = rebuild.plan_rebuild(SPEC, NEXT, root.settings)
    assert plan.lost == {0: ((0, 3),)}
    assert "partition 0: 3 (0 to 2)" in "\n".join(plan.lines)
    with fails(RecordsUnreachable, "gone_since_table", count=3):
        rebuild.refuse_lost(SPEC, plan)
    begin(root.paths, NEXT, "topic-1", "tester")
    plan = rebuild.plan_rebuild(SPEC, NEXT, root.settings)  # begun, and nothing read
    with fails(RecordsUnreachable, "gone_since_table", count=3):
        rebuild.refuse_lost(SPEC, plan)
    side = Drains(Path(root.settings.root), NEXT, "g2")
    side.drain(0, 1)
    began(side, "g2")
    plan = rebuild.plan_rebuild(SPEC, NEXT, root.settings)  # what it has read is not lost
    assert plan.lost == {0: ((2, 3),)}
    assert "tester began it" in "\n".join(plan.lines)
    side.drain(2, 3)
    rebuild.refuse_lost(SPEC, rebuild.plan_rebuild(SPEC, NEXT, root.settings))


def test_what_the_archive_has_up_to_kafkas_first_offset_is_not_lost(root, monkeypatch):
    topic(monkeypatch, earliest=3)

    def archive_has(*ranges: tuple[int, int]) -> rebuild.RebuildPlan:
        monkeypatch.setattr(needs, "archived_or_why", lambda *_: ({0: ranges}, None))
        return rebuild.plan_rebuild(SPEC, NEXT, root.settings)

    plan = archive_has((0, 4))
    rebuild.refuse_lost(SPEC, plan)
    assert plan.lines[-1] == "  then 3 that Kafka has no longer, from the topic's archive"
    assert archive_has((1, 4)).lost == {0: ((0, 1),)}
    plan = archive_has((0, 2))
    assert plan.lost == {0: ((0, 3),)}, "between it and Kafka's first one is a hole"
    assert "has 2 of them, which a rebuild cannot use: not without a hole" in plan.lines[-1]
    clocked = NEXT.model_copy(
        update={"topic": NEXT.topic.model_copy(update={"event_time": "amount"})}
    )
    archive_has((0, 4))
    found = rebuild.plan_rebuild(SPEC, clocked, root.settings)
    assert found.archived == {}, "its slices would have the times of another field"
    assert "NEXT goes by 'amount'" in found.lines[-1]
    monkeypatch.setattr(needs, "unranged", lambda _: "no ranges.")
    plan = archive_has((0, 4))
    assert plan.lost == {0: ((0, 3),)}
    assert plan.lines[-1].endswith("which a rebuild cannot use: no ranges.")


def test_what_came_before_next_begins_is_not_lost(root, monkeypatch):
    declared = NEXT.topic.model_copy(update={"starting": NOON})
    following = NEXT.model_copy(update={"topic": declared})
    for starts, lost in ((2, {}), (1, {0: ((0, 1),)})):
        says(
            monkeypatch,
            SourceState(
                "topic-1", Positions({0: 1}), Positions({0: 8}), starting=Positions({0: starts})
            ),
        )
        plan = rebuild.plan_rebuild(SPEC, following, root.settings)
        assert (plan.lost, plan.left) == (lost, 8 - starts)


def test_only_what_the_live_table_was_made_from_can_be_lost(root, monkeypatch):
    topic(monkeypatch, earliest=7)  # the live pipeline has read up to offset 4
    assert rebuild.plan_rebuild(SPEC, NEXT, root.settings).lost == {0: ((0, 5),)}


def test_a_partition_that_next_has_not_begun_is_lost_where_kafka_has_lost_it(root, monkeypatch):
    topic(monkeypatch)
    begin(root.paths, NEXT, "topic-1", "tester")
    side = Drains(Path(root.settings.root), NEXT, "g2")
    side.drain(0, 4)
    began(side, "g2")
    # A partition is added, the live pipeline reads 5 of its records, and Kafka removes 3.
    plan_batch(root.folder, 5, {0: 6, 1: 5}, topic="sales")
    commit_batch(root.folder, 5)
    row = {"pipeline": SPEC.name, "generation": "g1", "batch_id": 5, "partition": 1}
    row |= {"first_offset": 0, "last_offset": 4, "records": 5}
    root.put("slices", row)
    says(monkeypatch, SourceState("topic-1", Positions({0: 0, 1: 3}), Positions({0: 8, 1: 8})))
    assert rebuild.plan_rebuild(SPEC, NEXT, root.settings).lost == {1: ((0, 3),)}


def test_a_rebuild_goes_on_whose_logic_an_older_sluice_told_in_another_form(root):
    begin(root.paths, NEXT, "topic-1", "tester")
    begun, now = read_begun(root.paths), {**beside.logic_of(NEXT), "logic": "4-cb872426d499"}
    assert begun is not None

    def refused(was: str | None) -> bool:
        told = begun.model_copy(update={"fingerprint": {**now, "logic": was}})
        with pytest.MonkeyPatch.context() as patch, suppress(RebuildRefused):
            patch.setattr(beside, "logic_of", lambda _: now)
            beside.refuse_other(told, NEXT, "topic-1")
            return False
        return True

    forms = ("2-3b2f0b5c9a2b", "4-3b2f0b5c9a2b", None)
    assert [refused(was) for was in forms] == [False, True, True]


@pytest.mark.parametrize(
    ("made", "error", "reason", "told"),
    [
        ("topic", TopicRemade, "remade_since_table", {}),
        ("older", RebuildRefused, "older_rebuild", {}),
        ("other", RebuildRefused, "next_changed", {"who": "tester"}),
        ("classified", RebuildRefused, "next_changed", {"differences": has("amount.required: was True, is False")}),
        ("reset", RebuildRefused, "never_drained", {}),
    ],
)  # fmt: skip
def test_a_rebuild_that_cannot_be_is_refused(root, monkeypatch, made, error, reason, told):
    topic(monkeypatch, topic_id="topic-2" if made == "topic" else "topic-1")
    if made == "older":
        Path(root.settings.root, "rebuilds", SPEC.name).mkdir(parents=True)
    if made == "other":
        begin(root.paths, SPEC.model_copy(update={"state": State(version=2)}), "topic-1", "tester")
    if made == "classified":  # half of its records would be judged by another rule
        fields = (*FIELDS[:-1], FIELDS[-1].model_copy(update={"required": True}))
        topics = SPEC.topic.model_copy(update={"fields": fields})
        begin(root.paths, NEXT.model_copy(update={"topic": topics}), "topic-1", "tester")
    if made == "reset":
        root.paths.version.rename(root.paths.version.with_name("v1.kept"))
    with fails(error, reason, **told):
        rebuild.plan_rebuild(SPEC, NEXT, root.settings)


def next_is(monkeypatch: pytest.MonkeyPatch, spec: Pipeline | None) -> None:
    monkeypatch.setattr(registry, "load_next", lambda _: spec)


def test_without_a_next_and_behind_the_switch_to_it_there_is_nothing_to_rebuild(root, monkeypatch):
    where = root.settings.root
    next_is(monkeypatch, None)
    with fails(RebuildRefused, "no_next", free=2):
        rebuild.versions(SPEC, where)
    next_is(monkeypatch, NEXT)
    assert rebuild.versions(SPEC, where) == (SPEC, NEXT)
    next_is(monkeypatch, SPEC)
    with fails(RebuildRefused, "next_is_live"):
        rebuild.versions(SPEC, where)


def test_the_way_back_needs_the_former_spec_and_not_the_one_that_it_takes_back(root, monkeypatch):
    next_is(monkeypatch, NEXT)
    with fails(RebuildRefused, "no_switch"):
        rebuild.versions_back(SPEC, root.settings.root)
    begin(root.paths, NEXT, "topic-1", "tester")
    Drains(Path(root.settings.root), NEXT, "g2").drain(0, 4)
    switch(SPEC, NEXT, root.settings.root, "switch")
    next_is(monkeypatch, None)
    live, former = rebuild.versions_back(SPEC, root.settings.root)  # the old SPEC, deployed again
    assert (live.state.version, former) == (2, SPEC)
    with fails(RebuildRefused, "former_spec_absent", wanted=1):
        rebuild.versions_back(NEXT, root.settings.root)  # NEXT is renamed, and the old one gone
    next_is(monkeypatch, SPEC)
    assert rebuild.versions_back(NEXT, root.settings.root)[1] == SPEC
