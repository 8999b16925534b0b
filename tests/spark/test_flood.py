"""More rejected records than the driver holds: executors store them, and none is lost."""

from collections import Counter

import pytest
from confluent_kafka import Producer

from spark_jobs.runs.account import second_read
from spark_jobs.storage import failpoint
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_rejected_store.py", "unit/test_rejected.py")

MEGABYTE = 900_000
LIMIT = 4_000_000


@pytest.fixture
def kept(monkeypatch):
    """Batches that were read again, by what stored their rejected records."""
    batches = {"driver": [], "executors": []}
    for who, name in (("driver", "keep"), ("executors", "keep_on_executors")):
        keep = getattr(second_read, name)

        def noted(run, spec, batch, *rest, who=who, keep=keep):
            batches[who].append(batch.id)
            return keep(run, spec, batch, *rest)

        monkeypatch.setattr(second_read, name, noted)
    return batches


def test_rejected_records_larger_than_the_drivers_limit_are_all_kept(scene, kept, monkeypatch):
    monkeypatch.setattr(second_read, "COLLECTED_BYTES", LIMIT)
    made = scene("flight_events", events=60, deliveries=1)
    made.deliver()
    large = LIMIT // MEGABYTE + 4
    producer = Producer({"bootstrap.servers": made.kafka, "compression.type": "zstd"})
    for number in range(large):
        producer.produce(
            made.topic, b"%06d" % number + b"x" * MEGABYTE, partition=number % made.partitions
        )
    assert producer.flush(60) == 0
    account = made.run().account
    assert kept == {"driver": [], "executors": [0]}
    assert account.malformed - large == sum(
        row["kind"] == "malformed" for row in made.ledger.to_pylist()
    )
    stored = made.ops("quarantine", "value")
    values = Counter(row["value"][:6] for row in stored if len(row["value"]) > MEGABYTE)
    assert values == Counter(b"%06d" % number for number in range(large))


def test_what_executors_store_is_what_the_driver_would_and_twice_is_once(scene, kept, monkeypatch):
    """Every kind of rejected record; the audit is cut off after it stored them, and repeated."""
    made = scene("departure_delays", events=1000, deliveries=2, max_offsets_per_batch=300)
    monkeypatch.setattr("spark_jobs.decode.raw_filter.BUDGET", 0)
    made.deliver()
    made.run("by the driver")
    assert kept["driver"]
    assert kept["executors"] == []
    monkeypatch.setattr(second_read, "COLLECTED_BYTES", 0)
    made.deliver()
    with monkeypatch.context() as cut:
        cut.setitem(failpoint.ACTIVE, "audit", "raise")
        assert made.drain("cut off").problem is not None
    [first] = kept["executors"]
    made.run("by executors")
    assert kept["executors"][1] == first, "the same batch again"
    assert made.late()
    made.assert_exact()


def test_a_record_that_executors_did_not_store_is_unaccounted(scene, monkeypatch):
    made = scene("flight_events", events=300, deliveries=1)
    monkeypatch.setattr("spark_jobs.decode.raw_filter.BUDGET", 0)
    made.deliver()
    bad = next(row for row in made.ledger.to_pylist() if row["kind"] == "malformed")
    others = f"NOT (partition = {bad['partition']} AND offset = {bad['offset']})"
    store = second_read.keep_on_executors
    monkeypatch.setattr(second_read, "COLLECTED_BYTES", 0)
    monkeypatch.setattr(
        second_read, "keep_on_executors", lambda *of: store(*of[:-1], of[-1].where(others))
    )
    report = made.drain("one is missing")
    assert report.problem.code == "CHECK_FAILED"
    assert report.account.unaccounted > 0


@pytest.mark.parametrize("by", ["driver", "executors"])
def test_a_flood_beyond_the_budget_is_counted_with_place_and_reason(scene, kept, monkeypatch, by):
    if by == "executors":
        monkeypatch.setattr(second_read, "COLLECTED_BYTES", LIMIT // 4)
    made = scene("flight_events", events=60, deliveries=1, partitions=1)
    made.settings = made.settings._replace(quarantine_megabytes="2")
    made.deliver()
    producer = Producer({"bootstrap.servers": made.kafka, "compression.type": "zstd"})
    flood = 9
    for number in range(flood):
        producer.produce(made.topic, b"%06d" % number + b"x" * MEGABYTE, partition=0)
    assert producer.flush(60) == 0
    report = made.run()
    assert kept[by] == [0]
    rows = made.ops("quarantine")
    without = [row for row in rows if row["left_out"] is not None]
    assert report.account.unkept == len(without) == flood - 2
    assert report.account.malformed == sum(row["kind"] == "malformed" for row in rows)
    assert sum(len(row["value"] or b"") for row in rows) < 2_000_000
    assert all(row["value"] is None and "not JSON" in row["reason"] for row in without)
    batch = min(made.ops("batches"), key=lambda row: row["batch_id"])
    assert (batch["unkept"], batch["unaccounted"]) == (flood - 2, 0)
