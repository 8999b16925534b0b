"""Several topics as people see them: a partition has its topic's name, and each topic its account."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner
from upath import UPath

from sluice_airflow.web.page import HERE
from spark_jobs.admin.quarantine import quarantine
from spark_jobs.audit.topic_account import TopicAccount
from spark_jobs.checkpoint.identity import Identity, Present
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.failing import FailingRecord, read_failing
from spark_jobs.checkpoint.notes.partitions import Partitions
from spark_jobs.checkpoint.standing import standing
from spark_jobs.cli.__main__ import app
from spark_jobs.errors import DecisionRefused
from spark_jobs.messages.kind import STAGED_KINDS
from spark_jobs.ops import ops_tables
from spark_jobs.ops.json_of_tables import TopicLine
from spark_jobs.pages.run_page import run_page
from spark_jobs.pages.templates import environment
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.plan import places
from spark_jobs.runs.failures.failing_search import places as failing_places
from spark_jobs.runs.plan import plan
from spark_jobs.settings.installation import Settings
from spark_jobs.source import sources as union
from spark_jobs.source.place import Place
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import PARTITIONS
from tests.harness.refused import fails
from tests.harness.sources import Said
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.test_several_topics import both

SPEC = both()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
US_3 = PARTITIONS + 3


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A run of two batches, of which the second brought nothing of one topic."""
    monkeypatch.setattr(registry, "load", lambda _: SPEC)
    counts = {
        "covered": 9,
        "read": 9,
        "malformed": 1,
        "premature": 0,
        "filtered": 0,
        "late": 2,
        "accepted": 6,
    }
    none = dict.fromkeys(counts, 0)
    accounts = [
        {"eu": TopicAccount(counts, 0, NOON), "us": TopicAccount(none, 0, None)},
        {"eu": TopicAccount(counts, 1, NOON - timedelta(hours=1)), "us": TopicAccount(none, 0, None)},
    ]  # fmt: skip
    own, path = {"pipeline": SPEC.name, "run_id": "run"}, UPath(tmp_path)
    ends = [json.dumps({0: 9, US_3: batch}) for batch in (1, 2)]
    rows = [
        own | {"batch_id": batch, "generation": "g", "audited_at": NOON, "offsets_end": ends[batch],
               "topics": json.dumps({name: each.told for name, each in of.items()})}
        for batch, of in enumerate(accounts)
    ]  # fmt: skip
    ops_tables.append(path, "batches", rows)
    times = {"started_at": NOON, "ended_at": NOON}
    ops_tables.append(path, "runs", [own | times | {"kind": "drain", "status": "succeeded"}])
    late = {"batch_id": 0, "generation": "g", "partition": US_3, "offset": 70, "topic": "us"}
    ops_tables.append(path, "late", [own | late])
    return tmp_path


def show(root, *words):
    done = CliRunner().invoke(app, ["show", *words], env={"SLUICE_ROOT": str(root)})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_run_tells_what_each_topic_brought_and_which_was_silent(root):
    eu, us = run_page(UPath(root), SPEC.name, "run").topics
    counts = {"read": 18, "malformed": 2, "premature": 0, "filtered": 0, "late": 4, "accepted": 12}
    assert eu == TopicLine(topic="eu", unaccounted=1, newest=NOON, behind=timedelta(), **counts)
    assert (us.read, us.newest, us.behind) == (0, None, None)


def test_show_has_a_line_for_each_topic_of_each_batch(root):
    rows = [json.loads(line) for line in show(root, "topics", "--format", "json").splitlines()]
    assert [
        (row["topic"], row["read"], row["unaccounted"]) for row in rows if row["batch"] == 1
    ] == [("eu", 9, 1), ("us", 0, 0)]
    assert show(root, "topics", "--columns", "topic", "--limit", "3").split()[-3:] == [
        "eu",
        "us",
        "eu",
    ]


def test_a_table_for_people_names_topics_and_one_for_programs_has_numbers(root):
    told = show(root, "late", SPEC.name, "--columns", "partition,offset")
    assert told.split()[-2:] == ["us/3", "70"]
    row = json.loads(show(root, "late", "--columns", "partition", "--format", "json"))
    assert row == {"partition": US_3}
    assert '"us/3": 1' in show(root, "batches", "--columns", "pipeline,offsets_end")


def test_the_page_of_a_run_names_topics(root):
    found = run_page(UPath(root), SPEC.name, "run")
    found = found.model_copy(update={"offsets_end": {"0": 9, str(US_3): 1}})
    page = environment(HERE / "html").get_template("run.html")
    of_the_page = {"flow": None, "rows_flow": None, "topic_flows": [], "says": {}, "records": {}}
    text = page.render(
        base="", pipeline="p", run=found, charts=[], partitions=Partitions(SPEC.inputs),
        STAGED_KINDS=STAGED_KINDS, topics_differ=[], **of_the_page,
    )  # fmt: skip
    assert '<th scope="row">us/3</th>' in text
    assert "nothing in this run" in text
    assert str(US_3) not in text


def test_what_a_repair_or_a_run_tells_of_offsets_names_their_topic():
    assert places({US_3: ((5, 9),)}, SPEC.inputs.shown) == "partition us/3: 4 (5 to 8)"
    found = [FailingRecord(batch=0, partition=US_3, offset=7, reason="x")]
    assert failing_places(found, SPEC.inputs) == "partition us/3 offset 7"


def test_a_record_is_put_aside_by_the_name_under_which_it_was_told(tmp_path):
    settings = Settings(str(tmp_path), "localhost:1", tmp_path, "local[1]", "1g")
    paths = Paths(settings.root, SPEC)
    begin(UPath(paths.checkpoint))
    plan_batch(paths.checkpoint, 0, {0: 10, PARTITIONS: 10})
    commit_batch(paths.checkpoint, 0)
    Identity(generation="g", topic_id="t u", fingerprint={}).write(paths.identity)
    Cursor(audited=0, judged=0).write(paths.cursor)
    intent = quarantine(SPEC, settings, ("us/3:21-22",), "why", "ana")
    assert intent.lines[1] == "  partition us/3 offset 21"
    intent.execute()
    assert [*read_failing(paths.failing).reasons] == [Place(US_3, 21), Place(US_3, 22)]
    for wrong in ("3:21", "de/3:21", "us/:21", "us/65536:21"):
        with fails(DecisionRefused, "no_place", partition="eu/PARTITION"):
            quarantine(SPEC, settings, (wrong,), "why", "ana")


def test_each_partition_has_one_name_and_each_name_one_partition():
    for partition in (0, 3, PARTITIONS, US_3):
        assert SPEC.inputs.number_of(SPEC.inputs.shown(partition)) == partition
    assert Topics(SPEC.topics[:1]).number_of("7") == 7
    assert Topics(SPEC.topics[:1]).number_of("eu/7") is None


def test_a_plan_tells_what_each_topic_brings_and_how_far_it_is_behind_the_first(
    tmp_path, monkeypatch
):
    state = SourceState("e u", Positions({0: 0, PARTITIONS: 0}), Positions({0: 12, PARTITIONS: 9}))
    monkeypatch.setattr(union, "union", lambda *_: Said(lambda: state))
    settings = Settings(str(tmp_path), "localhost:1", tmp_path, "local[1]", "1g")
    paths = Paths(settings.root, SPEC)
    paths.ensure_writable()
    standing(Present(SPEC), paths).identity(state).write(paths.identity)
    folder = begin(UPath(paths.checkpoint), {0: 0}, topic="eu")
    plan_batch(folder, 0, {0: 10}, topic="eu")
    with (folder / "offsets" / "0").open("a") as entry:
        entry.write('\n{"us":{"0":9}}')
    commit_batch(folder, 0)
    newest = (("eu", NOON), ("us", NOON - timedelta(hours=8)))
    Cursor(audited=0, judged=0, newest=newest).write(paths.cursor)
    lines = plan(SPEC, settings).lines
    assert [line for line in lines if line.startswith(("topic", "partition"))] == [
        "partition eu/0: next 10, end 12, 2 new",
        "partition us/0: next 9, end 9, 0 new",
        "topic eu: 2 new, newest event 2026-03-01 12:00:00",
        "topic us: 0 new, newest event 2026-03-01 04:00:00, 8:00:00 behind the first",
    ]
