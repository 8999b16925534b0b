"""Several topics as one: their declarations, their lines in Spark's log, and their watermark."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.audit.progress import Progress
from spark_jobs.audit.topic_account import by_topic
from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.no_data_batch import Clock, NoDataBatch
from spark_jobs.checkpoint.standing import data_loss
from spark_jobs.errors import CheckpointBroken, SpecInvalid
from spark_jobs.messages.part import HeldBack
from spark_jobs.registry.fingerprint.fields import Declared, changes, fingerprint
from spark_jobs.registry.fingerprint.topic import classification, with_classification
from spark_jobs.runs.lag import silent_topics
from spark_jobs.runs.run_outcome import waits
from spark_jobs.settings.installation import Settings
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import UnionSource, source_of
from spark_jobs.spec import Field, MoreTopics, Pipeline, Topic, Transform
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import PARTITIONS
from tests.harness.refused import fails
from tests.harness.sources import Said
from tests.unit.checkpoints import begin, commit_batch, fitted, plan_batch
from tests.unit.specs import EU, FEWER, FIELDS, TWO_APART, Apart, pipeline, topic

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
OTHERS = (FIELDS[1], Field(name="id", type="string", path="key"), *FIELDS[2:])
US = topic(name="us", fields=OTHERS, max_ahead="1 hour")


def both(*topics: Topic, **changes: Any) -> Pipeline:
    return pipeline(topic=None, topics=topics or (EU, US), **changes)


def test_what_topics_have_in_common_is_a_topic_with_a_column_more():
    found = both().inputs
    assert found.columns == ("id", "at", "shop", "amount", "topic")
    assert [each.name for each in found] == ["eu", "us"]
    assert [found.of_partition(p).name for p in (3, PARTITIONS)] == ["eu", "us"]
    assert [found.shown(p) for p in (3, PARTITIONS + 1)] == ["eu/3", "us/1"]
    assert [pipeline().inputs.shown(p) for p in (3, 70_000)] == ["3", "70000"]


def test_a_field_is_required_where_it_is_in_all():
    optional = topic(
        name="us", fields=(FIELDS[0].model_copy(update={"required": False}), *FIELDS[1:])
    )
    required = {field.name: field.required for field in both(EU, optional).topic.fields}
    assert (required["id"], required["shop"]) == (False, True)


def retyped(name: str, kind: str) -> Topic:
    fields = (each if each.name != name else Field(name=name, type=kind) for each in FIELDS)
    return topic(name="us", fields=tuple(fields))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topics": (EU, retyped("amount", "double"))}, "'amount'"),
        ({"topics": (EU, topic(name="us", fields=FIELDS[:3]))}, "'amount'"),
        ({"topics": (topic(name="us", fields=FIELDS[:3]), EU)}, "'amount'"),
        ({"topics": (EU, EU)}, "eu"),
        ({"topics": (EU, topic(name="us", fields=(*FIELDS, Field(name="topic", type="string"))))}, "us"),
        ({"topics": (EU, US), "topic": EU}, "eu"),
        ({"topics": ()}, "()"),
        ({"topics": "orders_.*"}, "no name or pattern"),
        ({"topics": ("eu", "us")}, "no name or pattern"),
        ({"topics": (EU, "us")}, "no name or pattern"),
        ({"topics": re.compile("orders_.*")}, "no name or pattern"),
        ({"topics": {"eu"}}, "no name or pattern"),
        ({"topics": None}, "no name or pattern"),
        ({"topics": EU}, "topic="),
        ({"topic": (EU, US)}, "topics="),
        ({"topic": EU, "topics": "us"}, "no name or pattern"),
        ({"topic": EU, "silent_after": "1 hour"}, "1:00:00"),
    ],
    ids=["type", "lacks", "has", "twice", "column", "both", "neither", "a pattern", "names", "a name among them",
         "a compiled pattern", "a set", "nothing", "one without a tuple", "several as one", "both, one a name", "silence of one"],
)  # fmt: skip
def test_topics_that_do_not_agree_are_refused_by_the_field(given, said):
    with fails(SpecInvalid, "fields_refused") as refused:
        pipeline(**{"topic": None} | given)
    assert said in str(refused.value)


def test_topics_that_a_step_takes_apart_have_fields_of_their_own_and_those_of_all_are_one_record():
    spec = pipeline(**TWO_APART)
    fields = {field.name: (field.type, field.required) for field in spec.topic.fields}
    assert spec.inputs == (EU, FEWER)
    assert spec.topic.columns == ("id", "at", "shop", "amount", "paid", "topic")
    assert (fields["id"], fields["shop"]) == (("string", True), ("string", False))
    assert fields["paid"] == ("double", False)
    stored = classification(spec)
    assert with_classification(spec, stored, other_code=False) == spec


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": (Apart(keys=("id",), of=("eu", "uk")),)}, "eu, us"),
        ({"steps": (Apart(keys=("id",), of=("eu",)),)}, "eu, us"),
        ({"topics": (), "topic": EU}, "eu"),
        ({"more_topics": MoreTopics(like=EU, pattern="e.")}, "more"),
        ({"steps": (Transform(sql="SELECT id, at, paid FROM rows"), Apart(keys=("id",)))}, "transform"),
        ({"topics": (EU, topic(name="us", fields=(*FIELDS[:2], Field(name="shop", type="int"))))}, "'shop'"),
        ({"topics": (EU, topic(name="us", fields=(FIELDS[0], Field(name="t", type="timestamp")), event_time="t"))}, "'t'"),
    ],
    ids=["another", "not all", "one topic", "topics to come", "behind SQL", "another type", "another time"],
)  # fmt: skip
def test_what_a_step_cannot_take_apart_is_refused(given, said):
    with fails(SpecInvalid, "fields_refused") as refused:
        pipeline(**TWO_APART | given)
    assert said in str(refused.value)


def test_topics_in_a_list_are_topics():
    assert both(EU, US) == pipeline(topic=None, topics=[EU, US])


@pytest.fixture
def folder(tmp_path):
    """Two batches of one topic."""
    folder = begin(tmp_path / "spark", {0: 4})
    for batch, end in enumerate((12, 20)):
        plan_batch(folder, batch, {0: end}, 1000)
        commit_batch(folder, batch, 1000)
    return folder


def test_a_topic_more_has_a_line_that_says_nothing_and_begins_where_its_source_found_it(folder):
    checkpoint = Checkpoint(folder)
    before = [checkpoint.batch(batch) for batch in (0, 1)]
    fitted(folder, "us")
    fitted(folder, "us")
    assert [checkpoint.batch(batch) for batch in (0, 1)] == before
    lines = (folder / "offsets" / "1").read_text().splitlines()
    assert lines[2:] == ['{"flights":{"0":20}}', "-"]
    assert not (folder / "offsets" / ".1.crc").exists()
    (folder / "sources" / "1").mkdir()
    (folder / "sources" / "1" / "0").write_bytes(b'\0v1\n{"us":{"0":7,"2":0}}')
    plan_batch(folder, 2, {0: 20}, 1000)
    with (folder / "offsets" / "2").open("a") as entry:
        entry.write('\n{"us":{"0":9,"2":3}}')
    batch = checkpoint.batch(2)
    assert batch.start == Positions({0: 20, PARTITIONS: 7, PARTITIONS + 2: 0})
    assert batch.covered == 5


def test_what_retention_took_of_a_new_topic_is_not_lost_until_a_batch_was_to_begin_there(tmp_path):
    paths = Paths(str(tmp_path), both())
    folder = begin(tmp_path / paths.checkpoint.relative_to(tmp_path), {0: 4})
    for batch, end in enumerate((12, 20)):
        plan_batch(folder, batch, {0: end})
        commit_batch(folder, batch)
    topic_now = SourceState(
        "a b", Positions({0: 9, PARTITIONS: 7}), Positions({0: 30, PARTITIONS: 9})
    )
    assert data_loss(paths, both().inputs, topic_now) == {}
    (folder / "sources" / "1").mkdir()
    (folder / "sources" / "1" / "0").write_bytes(b'\0v1\n{"us":{"0":2}}')
    assert data_loss(paths, both().inputs, topic_now) == {PARTITIONS: (2, 6)}, "as behind a rewind"


def test_a_topic_that_no_batch_has_read_can_be_taken_back(folder):
    fitted(folder, "us", "asia")
    fitted(folder)
    assert len((folder / "offsets" / "1").read_text().splitlines()) == 3


def test_a_topic_that_a_batch_reads_cannot_be_taken_back(folder):
    with (folder / "offsets" / "1").open("a") as entry:
        entry.write('\n{"us":{"0":9}}')
    with fails(CheckpointBroken, "file_damaged", pipeline="sales_hourly"):
        fitted(folder)


def test_a_planned_batch_keeps_the_lines_of_all_topics(folder):
    checkpoint = Checkpoint(folder)
    fitted(folder, "us")
    batch = no_data_batch.write(checkpoint, NoDataBatch(5000, "due"), NOON)
    assert (folder / "offsets" / str(batch)).read_text().splitlines()[3] == "-"
    assert checkpoint.batch(batch).end == Positions({0: 20})


def test_a_topic_begins_where_it_declares_or_at_the_first_record_that_is_left():
    here = SourceState(
        "e", Positions({0: 5, 1: 40}), Positions({0: 50, 1: 50}), starting=Positions({0: 20, 1: 20})
    )
    there = SourceState("u", Positions({0: 7}), Positions({0: 90}))
    both_ = UnionSource((Said(lambda: here), Said(lambda: there))).state()
    assert both_.begins == Positions({0: 20, 1: 40, PARTITIONS: 7})
    assert waits(both_, Positions({0: 30, 1: 45})) == {0: 20, 1: 5, PARTITIONS: 83}
    with fails(SpecInvalid, "fields_refused"):
        topic(starting=datetime(2026, 3, 1))  # noqa: DTZ001 - that is refused


def test_the_offsets_of_a_batch_are_shared_by_what_waits_of_each_topic():
    given = Settings("/root", "localhost:1", Path("/jars"), "local[1]", "1g")
    source = source_of(both(max_offsets_per_batch=100), given, {0: 700, 1: 200, PARTITIONS: 90})
    assert [each.spec.max_offsets_per_batch for each in source.of] == [90, 9]
    unlimited = source_of(both(), given, {0: 700})
    assert [each.spec.max_offsets_per_batch for each in unlimited.of] == [None, None]


def due(folder, topics: dict[str, datetime], silent=(), rows=5) -> datetime | None:
    clock = Clock(NOON, None, rows, topics=topics, silent=frozenset(silent))
    found = no_data_batch.due(both(), Checkpoint(folder), clock)
    return found and datetime.fromtimestamp(found.watermark_ms / 1000, UTC) + 2 * HOUR


@pytest.mark.parametrize(
    ("topics", "silent", "held_to"),
    [
        ({"eu": NOON, "us": NOON - HOUR}, (), NOON - HOUR),
        ({"eu": NOON, "us": NOON - HOUR}, ("us",), NOON),
        ({"eu": NOON, "us": NOON - HOUR}, ("us", "eu"), NOON),
        ({"eu": NOON}, (), None),
        ({"eu": NOON}, ("us",), NOON),
        ({"us": NOON}, ("us",), None),
        ({}, ("us", "eu"), None),
    ],
    ids=["slowest", "silent", "all silent", "unknown", "unknown is silent", "one unknown", "none"],
)
def test_the_watermark_is_of_the_slowest_topic_that_is_not_silent(folder, topics, silent, held_to):
    assert due(folder, topics, silent) == held_to
    assert due(folder, topics, silent, rows=0) is None


def says(latest: int, newest: datetime | None) -> Said:
    return Said(lambda: SourceState("id", Positions({0: 0}), Positions({0: latest})), newest)


def test_a_topic_is_silent_by_kafkas_timestamps_if_nothing_of_it_waits():
    spec = both(silent_after="1 hour")
    source = UnionSource((says(5, NOON), says(9, NOON - HOUR)))
    state = source.state()
    assert (state.id, state.latest) == ("id id", Positions({0: 5, PARTITIONS: 9}))
    done = state.latest
    assert silent_topics(spec, source, state, done, NOON) == {"us"}
    assert silent_topics(both(), source, state, done, NOON) == frozenset()
    held = state._replace(held={PARTITIONS: HeldBack(offsets=2, since=None)})
    assert silent_topics(spec, source, held, done, NOON) == frozenset()
    done |= Positions({PARTITIONS: 8})
    assert silent_topics(spec, source, state, done, NOON) == frozenset()
    empty = UnionSource((says(5, NOON), says(0, None)))
    assert silent_topics(spec, empty, empty.state(), Positions({0: 5}), NOON) == {"us"}


def weights(was: Pipeline, now: Pipeline) -> set[str]:
    stored, wanted = (fingerprint(each, "4.2.0") for each in (was, now))
    return {change.weight for change in changes(stored, wanted, Declared(now))}


def test_a_topic_may_be_added_at_the_end_and_none_be_removed_moved_or_read_otherwise():
    more = topic(name="asia")
    assert weights(both(), both()) == set()
    assert weights(both(), both(EU, US, more)) == {"warned"}
    assert weights(pipeline(topic=EU), both()) == {"warned"}
    for other in (both(EU), both(US, EU), both(EU, more), both(EU, topic(name="us"))):
        assert "refused" in weights(both(), other)


def test_each_topics_rules_are_those_that_its_records_were_classified_with():
    stored = classification(both())
    changed = both(EU, topic(name="us", fields=OTHERS, max_ahead="9 hours"))
    found = with_classification(changed, stored, other_code=False)
    assert [each.max_ahead for each in found.topic.inputs] == [timedelta(minutes=10), HOUR]
    assert with_classification(both(), stored, other_code=False) == both()
    one = classification(pipeline(topic=topic(name="eu", max_ahead="3 hours")))
    found = with_classification(both(), one, other_code=False)
    assert [each.max_ahead for each in found.topic.inputs] == [3 * HOUR, HOUR], "it read one topic"


def progress(**of_us: int) -> Progress:
    """Eight good records of EU, and of US what is given."""
    eu = {"fate": {"good": 8}, "entered": {"rows": 8, "last_event_us": 10}}
    us = {
        "fate_1": {"good": of_us["good"], "malformed": of_us["malformed"]},
        "entered_1": {"rows": of_us["good"], "last_event_us": 7},
    }
    event = {
        "batchId": 3,
        "durationMs": {},
        "numInputRows": 8 + of_us["read"],
        "observedMetrics": eu | us,
        "stateOperators": [],
        "sources": [{"numInputRows": 8}, {"numInputRows": of_us["read"]}],
    }
    return Progress.of(json.loads(json.dumps(event)))


def test_each_topic_has_an_account_whose_sources_can_disagree():
    batch = Batch(3, Positions(), Positions({0: 8, PARTITIONS: 5}), 0, 0)
    seen = progress(read=4, good=3, malformed=1)
    assert seen.counted("fate", "good") == 11
    assert seen.observed["entered"]["last_event_us"] == 10
    found = by_topic(both().inputs, batch, seen, {1: {"malformed": 1}})
    assert found["us"].counts["gaps"] == 1
    assert [each.unaccounted for each in found.values()] == [0, 0]
    assert by_topic(pipeline().inputs, batch, seen, {}) == {}
    lost = by_topic(both().inputs, batch, seen, {0: {"malformed": 1}})
    assert [each.unaccounted for each in lost.values()] == [1, 1], "in the sum they hide each other"
    less = by_topic(
        both().inputs, batch, progress(read=4, good=2, malformed=1), {1: {"malformed": 1}}
    )
    assert less["us"].unaccounted == 1
