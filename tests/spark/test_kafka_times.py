"""Kafka's own timestamps, of any size: no record locks its topic's pipelines by one."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import deltalake
import pytest
from confluent_kafka import Producer

from local.publish import create_topic
from spark_jobs.ops.rejected import rejected
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.runs.watch.follower import Follower
from spark_jobs.source.topic_state import newest_record, topic_state
from spark_jobs.spec import Archive
from tests.harness.scene import Scene
from tests.unit.specs import deduplicate, pipeline, topic

NOW = datetime.now(UTC).replace(microsecond=0)
NOW_MS = int(NOW.timestamp()) * 1000
TIMES = {
    "milliseconds": NOW_MS,
    "seconds": NOW_MS // 1000,
    "year 2262": 9_223_372_036_855,
    "year 9999": 253_402_300_799_999,
    "microseconds": NOW_MS * 1000,
    "nanoseconds": NOW_MS * 1_000_000,
    "the largest": 2**63 - 1,
}
UNDATED = {name: ms for name, ms in TIMES.items() if ms > NOW_MS}


def event(name: str, at: datetime) -> bytes:
    return json.dumps({"id": name, "at": at.isoformat(), "shop": "x", "amount": 1}).encode()


def sent(kafka: str, name: str, kinds: dict[str, bytes]) -> None:
    producer = Producer({"bootstrap.servers": kafka})
    for stamp, ms in TIMES.items():
        for kind, value in kinds.items():
            producer.produce(name, value.replace(b"?", f"{stamp} {kind}".encode()), timestamp=ms)
    assert producer.flush(30) == 0


@pytest.fixture
def made(kafka, scene) -> Scene:
    """One partition, each kind with each timestamp; none is late in the first delivery."""
    spec = pipeline(
        topic=topic(max_ahead="1 day"), steps=(deduplicate(),), watermark_delay="1 hour"
    )
    found: Scene = scene(spec, partitions=1)
    create_topic(kafka, found.topic, 1)
    good = {
        "good": event("?", NOW),
        "malformed": b'{"id": "?',
        "premature": event("?", NOW + timedelta(days=9)),
    }
    sent(kafka, found.topic, good)
    return found


def test_a_kafka_timestamp_of_any_size_is_a_value_like_another(made, kafka, monkeypatch):
    account = made.run("first").account
    good = len(TIMES) - 1  # one of 1970 is more than max_ahead before its event
    assert (account.read, account.undated) == (3 * len(TIMES), 3 * len(UNDATED))
    assert (account.malformed, account.premature, account.accepted) == (
        len(TIMES),
        len(TIMES) + 1,
        good,
    )

    sent(kafka, made.topic, {"late": event("?", NOW - timedelta(hours=3)), "malformed": b"?"})
    monkeypatch.setattr(Follower, "progress", lambda _: {})  # Kafka is read again for the account
    account = made.run("second").account
    assert (account.undated, account.late, account.malformed) == (
        2 * len(UNDATED),
        len(TIMES) - 1,
        len(TIMES),
    )

    for table, each in (("quarantine", 3), ("late", 1)):
        kept = Counter(row["kafka_millis"] for row in made.ops(table))
        assert {ms: kept[ms] for ms in UNDATED.values()} == dict.fromkeys(UNDATED.values(), each)
        lines = rejected(made.paths.root, made.spec.name, table, 100, 0).records
        assert Counter(line.kafka_millis for line in lines) == kept
    latest = topic_state(made.settings, made.topic).latest
    newest = newest_record(made.settings, made.topic, latest.partitions)
    assert newest is not None
    assert newest > datetime(2199, 1, 1, tzinfo=UTC)


def test_an_archive_keeps_it_as_the_number_that_it_is(made):
    made.spec = archive_spec(made.spec.topic, Archive())
    made.run("archive")
    rows = deltalake.DeltaTable(str(made.paths.table)).to_pyarrow_table().to_pylist()
    assert Counter(
        row["kafka_millis"] for row in rows if row["kafka_timestamp"] is None
    ) == Counter(dict.fromkeys(UNDATED.values(), 3))
