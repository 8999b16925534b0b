"""What a real broker does to a topic: aborted transactions, a topic made anew, more partitions."""

import json
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from local.publish import create_topic
from spark_jobs.audit.progress import Progress
from spark_jobs.errors import TopicRemade
from spark_jobs.messages.stages import summary
from spark_jobs.pages.run_page import run_page
from spark_jobs.runs.account.audit import Audit
from spark_jobs.runs.plan import plan
from spark_jobs.runs.watch.follower import Follower
from spark_jobs.source.consumer import count_records
from spark_jobs.source.positions import Positions
from spark_jobs.source.topic_state import topic_state
from tests.harness.refused import fails
from tests.harness.turns import alike, held_by

held = held_by("unit/test_balance.py")
added = alike("partitions that are added are read from their beginning")


def events(scene, names: list[str]) -> list[bytes]:
    """Good records of these ids, as new as the newest delivered."""
    good = [row for row in scene.ledger.to_pylist() if row["kind"] == "good"]
    newest = max(good, key=lambda row: row["event_time"])
    fields = {name: newest[name] for name in scene.spec.topic.columns}
    times = {name: fields[name].isoformat() for name in ("event_time", "scheduled_time")}
    return [json.dumps(fields | times | {"event_id": name}).encode() for name in names]


def transactions(made) -> None:
    """Five records in two transactions, and five in one that is aborted, in partition 0."""
    producer = Producer({"bootstrap.servers": made.kafka, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    for names, kept in (
        (["a1", "a2", "a3"], True),
        (["b1", "b2", "b3", "b4", "b5"], False),
        (["c1", "c2"], True),
    ):
        producer.begin_transaction()
        for value in events(made, names):
            producer.produce(made.topic, value, partition=0)
        assert producer.flush(30) == 0, (
            "what is not sent yet would be forgotten by an abort, and prove nothing"
        )
        producer.commit_transaction(30) if kept else producer.abort_transaction(30)


def with_transactions(scene):
    made = scene("flight_events", events=300, deliveries=1)
    made.deliver_all()
    transactions(made)
    return made


@held
def test_aborted_records_and_markers_are_gaps_told_apart_in_one_decoding(scene, monkeypatch):
    made = with_transactions(scene)
    with monkeypatch.context() as once:
        once.setattr(Audit, "_read_again", None)  # to call it would end the run
        report = made.run("run")
    account = report.account
    assert account.read == made.ledger.num_rows + 5
    assert (account.gaps, account.aborted, account.markers, account.removed) == (8, 5, 3, 0), (
        "five aborted records, and a marker at the end of each transaction"
    )
    every = Positions().parts(topic_state(made.settings, made.topic).latest)
    assert count_records(made.settings, made.topic, every) == account.read
    ids = {row["event_id"] for row in made.table()}
    assert {"a1", "a2", "a3", "c1", "c2"} <= ids
    assert not any(name.startswith("b") for name in ids if len(name) == 2)
    bad = [row for row in made.ledger.to_pylist() if row["kind"] in ("malformed", "premature")]
    assert len(made.ops("quarantine")) == len(bad) > 0


@held
def test_a_batch_without_a_rejected_record_has_its_gaps_confirmed_too(scene):
    made = scene("flight_events", events=300, deliveries=1)
    made.deliver_all()
    made.run("first")
    transactions(made)
    account = made.run("second").account
    assert (account.read, account.malformed, account.premature, account.late) == (5, 0, 0, 0)
    assert (account.gaps, account.aborted, account.markers) == (8, 5, 3)


@held
def test_they_are_also_in_a_batch_whose_progress_is_lost(scene, monkeypatch):
    made = with_transactions(scene)
    monkeypatch.setattr(Follower, "progress", lambda _: {})
    account = made.run("run").account
    assert (account.read, account.unaccounted) == (made.ledger.num_rows + 5, 0)
    assert (account.gaps, account.aborted, account.markers) == (8, 5, 3)


@held
def test_a_record_that_spark_did_not_read_is_no_gap(scene, monkeypatch):
    """All that Spark tells agrees: a malformed record is in none of its counts. Kafka has it."""
    made = with_transactions(scene)
    count = Progress.of

    def one_less(event) -> Progress:
        seen = event["observedMetrics"].get("fate", {})
        if seen.get("malformed"):
            event["numInputRows"] -= 1
            seen["malformed"] -= 1
            seen["kept"].remove(next(each for each in seen["kept"] if each["fate"] == "malformed"))
        return count(event)

    monkeypatch.setattr(Progress, "of", one_less)
    report = made.drain("run")
    assert report.problem.code == "CHECK_FAILED"
    assert report.account.unaccounted > 0


def test_records_behind_an_open_transaction_are_told_by_plan_run_and_page_until_it_ends(scene):
    made = scene("flight_events", events=100, deliveries=1, partitions=2)
    made.deliver_all()
    producer = Producer({"bootstrap.servers": made.kafka, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    producer.begin_transaction()
    began = datetime.now(UTC)
    for value in events(made, ["o1", "o2", "o3"]):
        producer.produce(made.topic, value, partition=1)
    assert producer.flush(30) == 0
    made.send(*events(made, ["w1", "w2"]), partition=1)

    report = made.run("held")
    assert {name: held.offsets for name, held in report.held_back.items()} == {"1": 5}
    since = report.held_back["1"].since
    assert since is not None
    assert abs(since - began) < timedelta(minutes=1)
    page = run_page(made.paths.root, made.spec.name, "held")
    assert page.held_back == report.held_back
    assert any("partition 1: 5 offsets wait" in line for line in summary(report))
    found = plan(made.spec, made.settings)
    assert found.idle
    assert any("partition 1: 5 offsets wait" in line for line in found.lines)

    producer.abort_transaction(30)
    account = made.run("after").account
    assert (account.read, account.aborted, account.markers) == (2, 3, 1)
    assert plan(made.spec, made.settings).lines[-1].startswith("nothing to do: ")


def test_a_topic_made_anew_is_refused_although_it_has_more_records_than_were_read(scene):
    made = scene("flight_events", events=300, deliveries=2, ran="first")
    admin = AdminClient({"bootstrap.servers": made.kafka})
    admin.delete_topics([made.topic])[made.topic].result()
    deadline = time.monotonic() + 30
    while True:  # the broker deletes in its own time
        try:
            create_topic(made.kafka, made.topic, made.partitions)
            Producer({"bootstrap.servers": made.kafka}).list_topics(made.topic, timeout=5)
            break
        except KafkaException:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    for partition in range(made.partitions):
        made.send(*events(made, [f"n{partition}-{n}" for n in range(300)]), partition=partition)
    with fails(TopicRemade, "remade_since_checkpoint"):
        plan(made.spec, made.settings)
    report = made.drain("second")
    assert report.problem.code == "TOPIC_REMADE"


def add_partitions(made) -> None:
    """Two more, with three records in the last."""
    admin = AdminClient({"bootstrap.servers": made.kafka})
    admin.create_partitions([NewPartitions(made.topic, 6)])[made.topic].result()
    producer = Producer({"bootstrap.servers": made.kafka})
    deadline = time.monotonic() + 30
    while len(producer.list_topics(made.topic, timeout=5).topics[made.topic].partitions) < 6:
        assert time.monotonic() < deadline
    made.send(*events(made, ["p1", "p2", "p3"]), partition=5)


@added
def test_partitions_that_are_added_are_read_from_their_beginning(scene):
    made = scene("flight_events", events=300, deliveries=1)
    made.deliver_all()
    first = made.run("first")
    add_partitions(made)
    second = made.run("second")
    assert (second.account.read, second.account.late + second.account.rows_out) == (3, 3)
    assert first.account.read == made.ledger.num_rows


@added
def test_so_are_those_that_are_added_while_a_run_reads(scene):
    made = scene("flight_events", events=300, deliveries=1, max_offsets_per_batch=50)
    made.deliver_all()

    def say(line: str):
        if "Spark is up" in line:
            add_partitions(made)

    first = made.drain("first", say)
    assert first.status == "succeeded", first.problem
    second = made.run("second")
    assert first.account.unaccounted == 0
    assert first.account.read + second.account.read == made.ledger.num_rows + 3
    kept = {row["event_id"] for row in made.table()} | {
        json.loads(row["value"])["event_id"] for row in made.ops("late")
    }
    assert {"p1", "p2", "p3"} <= kept


@pytest.mark.parametrize("timestamps", ["CreateTime", "LogAppendTime"])
def test_a_topic_says_whose_clock_its_timestamps_have_and_by_the_brokers_when_a_record_came(
    scene, timestamps
):
    made = scene("flight_events", events=10, deliveries=1)
    create_topic(made.kafka, made.topic, 4, {"message.timestamp.type": timestamps})
    before = datetime.now(UTC)
    made.send(b"{}", timestamp=int(before.timestamp() * 1000) - 3_600_000)
    found = topic_state(made.settings, made.topic)
    assert found.timestamps == timestamps
    if timestamps == "CreateTime":
        assert found.appended is None, "a producer's clock says nothing of the broker's"
    else:
        assert abs(found.appended - before) < timedelta(minutes=1)


def test_a_record_from_the_future_does_not_hide_the_silence_of_its_topic(scene):
    made = scene("departure_delays", events=500, deliveries=1)
    made.deliver_all()
    ahead = datetime.now(UTC) + timedelta(days=365)
    made.send(b"{}", timestamp=int(ahead.timestamp() * 1000))
    assert made.run("as Spark has it").state.open > 0
    made.change(close_after=timedelta(seconds=1))
    time.sleep(2)
    said = []
    closed = made.drain("closed", said.append)
    assert closed.problem is None
    assert closed.state.open == 0
    assert "which is still to come" in " ".join(said)
