"""A real broker: what the producer's ledger says is what a consumer reads, also after a restart."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from local import broker, ledger
from local.deliveries import MALFORMATIONS, Delivered, Mess, deliver, split
from local.flights import flight_events
from local.publish import publish
from spark_jobs.errors import TopicMissing
from spark_jobs.settings.installation import Settings
from spark_jobs.source.topic_state import topic_state
from tests.harness.broker import skip_taken
from tests.harness.ran import ran
from tests.harness.refused import fails, has

JARS = Path(__file__).resolve().parents[2] / "jars" / "kafka"
TOPIC = "flights"
PARTITIONS = 4


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("local")
    try:
        broker.start(home / "kafka", JARS)
        yield home
    finally:
        broker.stop(home / "kafka")
    assert processes_of(home) == []


@pytest.fixture(scope="module")
def deliveries(home) -> list[list[Delivered]]:
    """Two deliveries, published."""
    mess = Mess(duplicate_share=0.1, late_share=0.02, malformed_share=0.05, premature_share=0.02)
    parts = split(deliver(islice(flight_events(date(2013, 1, 1), 1), 1750), mess, seed=7), 2)
    bootstrap = broker.start(home / "kafka", JARS)
    for number, part in enumerate(parts, start=1):
        publish(bootstrap, TOPIC, part, number, home / "ledger", PARTITIONS)
    return [list(part) for part in parts]


def test_a_missing_topic_is_told_with_the_one_that_was_probably_meant(home, deliveries):
    settings = Settings("/root", broker.start(home / "kafka", JARS), home, "local[2]", "1g")
    with fails(TopicMissing, "topic_absent", topic="flihgts", nearest=has(repr(TOPIC))):
        topic_state(settings, "flihgts")
    with fails(TopicMissing, "topic_absent", topic="nothing_like_it", nearest=""):
        topic_state(settings, "nothing_like_it")


def processes_of(home: Path) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if str(home) in str(process.info["cmdline"])
    ]


@retry(
    retry=retry_if_exception_type(KafkaException),
    stop=stop_after_delay(30),
    wait=wait_fixed(0.1),
    reraise=True,
)
def end_of(consumer: Consumer, partition: TopicPartition) -> int:
    """Asked again, as clients do: a broker that has just started answers before it leads again."""
    end: int = consumer.get_watermark_offsets(partition)[1]
    return end


def consumed(bootstrap: str, topic: str = TOPIC) -> dict[tuple[int, int], Message]:
    """Every record of the topic by (partition, offset), up to the ends that the broker gives."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "test", "enable.auto.commit": False}
    )
    try:
        ends = {n: end_of(consumer, TopicPartition(topic, n)) for n in range(PARTITIONS)}
        consumer.assign([TopicPartition(topic, n, 0) for n in ends])
        found: dict[tuple[int, int], Message] = {}
        while len(found) < sum(ends.values()):
            message = consumer.poll(20)
            assert message is not None, (
                f"{len(found)} of {sum(ends.values())} records, and no more for 20 s"
            )
            assert message.error() is None
            found[message.partition() or 0, message.offset() or 0] = message
        return found
    finally:
        consumer.close()


def holds(bootstrap: str, home: Path) -> None:
    """Every record in Kafka is in the ledger, with what it says there, and the other way round."""
    messages = consumed(bootstrap)
    rows: list[dict[str, Any]] = ledger.read(home / "ledger").to_pylist()
    assert {(row["partition"], row["offset"]) for row in rows} == set(messages)
    assert len(rows) == len(messages)
    for row in rows:
        message = messages[row["partition"], row["offset"]]
        assert (
            datetime.fromtimestamp(message.timestamp()[1] / 1000, tz=UTC) == row["kafka_timestamp"]
        )
        value = message.value()
        if row["kind"] == "malformed":
            assert value == row["value"]
            assert row["event_id"] is None
        else:
            payload = json.loads(value or b"")
            for name in ("event_time", "scheduled_time"):
                payload[name] = datetime.fromisoformat(payload[name])
            assert payload == {name: row[name] for name in ledger.PAYLOAD}


def test_the_ledger_is_what_a_consumer_reads(home, deliveries):
    assert sum(map(len, deliveries)) > 2000
    holds(broker.start(home / "kafka", JARS), home)


def test_the_ledger_has_every_record_sent_in_its_order(home, deliveries):
    rows = ledger.read(home / "ledger").to_pylist()
    sent = [(number, record) for number, part in enumerate(deliveries, start=1) for record in part]
    for row, (number, record) in zip(rows, sent, strict=True):
        assert (row["delivery"], row["topic"], row["partition"]) == (
            number,
            TOPIC,
            crc32(record.key or b"") % 4,
        )
        assert (row["kind"], row["reason"], row["delayed"]) == (
            record.kind,
            record.reason,
            record.delayed,
        )
    assert {row["reason"] for row in rows} == {"", *MALFORMATIONS}


def test_counts_are_by_delivery_and_kind(home, deliveries):
    counts = ledger.counts(home / "ledger")
    for number, part in enumerate(deliveries, start=1):
        assert counts[number] == {
            kind: sum(record.kind == kind for record in part) for kind in ledger.KINDS
        }


def test_an_empty_value_is_not_a_tombstone(home, deliveries):
    assert deliveries
    values = [message.value() for message in consumed(broker.start(home / "kafka", JARS)).values()]
    assert b"" in values
    assert None in values


def test_a_delivery_is_sent_once(home, deliveries):
    bootstrap = broker.start(home / "kafka", JARS)
    with pytest.raises(ledger.LedgerError, match="already"):
        publish(bootstrap, TOPIC, deliveries[0], 1, home / "ledger", PARTITIONS)
    holds(bootstrap, home)


def test_starting_a_running_broker_starts_no_second_one(home):
    assert broker.start(home / "kafka", JARS) == broker.running(home / "kafka")
    assert len(processes_of(home)) == 1


def test_creating_a_topic_again_changes_nothing_and_another_shape_is_refused(home):
    bootstrap = broker.start(home / "kafka", JARS)
    broker.create_topic(bootstrap, "shape", 2, {"cleanup.policy": "compact"})
    broker.create_topic(bootstrap, "shape", 2)
    with pytest.raises(broker.BrokerError, match="has 2 partitions"):
        broker.create_topic(bootstrap, "shape", 3)


def test_data_and_port_survive_a_restart(home, deliveries):
    assert deliveries
    before = broker.start(home / "kafka", JARS)
    assert broker.stop(home / "kafka")
    assert processes_of(home) == []
    assert broker.running(home / "kafka") is None
    assert not broker.stop(home / "kafka")
    again = broker.start(home / "kafka", JARS)
    holds(again, home)
    if again != before:
        skip_taken(before)


def test_a_pid_that_another_process_has_now_is_not_the_broker(tmp_path):
    """Here the test's own: stopping must leave it alone."""
    record = {"pid": psutil.Process().pid, "port": 9092, "started": "2013-01-01T00:00:00+00:00"}
    (tmp_path / "broker.json").write_text(json.dumps(record))
    assert broker.running(tmp_path) is None
    assert not broker.stop(tmp_path)


def test_a_broker_that_dies_at_start_says_where_its_log_is(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=9\n")
    with pytest.raises(broker.BrokerError, match=r"died.*broker\.log"):
        broker.start(tmp_path, JARS)
    assert processes_of(tmp_path) == []


def test_missing_jars_are_named(tmp_path):
    with pytest.raises(broker.BrokerError, match="no Kafka in"):
        broker.start(tmp_path / "kafka", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["publish"], "error: the broker is not running"),
        (["publish", "--deliveries", "2", "--delivery", "3"], "delivery 3 of 2 does not exist"),
    ],
)
def test_the_command_line_fails_with_status_2_and_no_traceback(tmp_path, arguments, says):
    command = [sys.executable, "-m", "local", *arguments, "--home", str(tmp_path)]
    done = ran(*command, cwd=JARS.parents[1])
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
