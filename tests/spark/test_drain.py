"""Drains over real Kafka, held against an oracle that knows neither Spark nor Sluice."""

from __future__ import annotations

import logging

import pytest

from spark_jobs.contract.report import Report
from spark_jobs.drain import drain
from spark_jobs.session import dynamic
from spark_jobs.stages.audit import Audit
from spark_jobs.stages.sieve import OVERHEAD
from tests.harness.scene import Scene


def run(scene: Scene, run_id: str = "run") -> Report:
    return drain(scene.spec, scene.settings, run_id, logging.getLogger("drain").info)


@pytest.mark.parametrize("pipeline", ["flight_events", "departure_delays", "aircraft_rotations"])
def test_three_deliveries_drained_one_by_one_give_the_canonical_result_less_what_was_late(scene, pipeline):
    made = scene(pipeline)
    for number in range(3):
        counts = made.deliver()
        report = run(made, f"run-{number}")
        assert report.status == "succeeded", report.problem
        assert report.account.read == sum(counts.values())
        assert report.account.malformed == counts["malformed"]
        assert report.account.premature == counts["premature"]
        assert report.account.unaccounted == 0
    assert made.late(), "a scene without late records proves nothing about them"
    made.assert_exact()


@pytest.mark.parametrize("pipeline", ["departure_delays", "aircraft_rotations"])
def test_many_small_batches_give_the_canonical_result_less_what_was_late(scene, pipeline):
    made = scene(pipeline, events=3000, deliveries=1, max_offsets_per_batch=600)
    made.deliver_all()
    report = run(made)
    assert report.status == "succeeded", report.problem
    assert len(report.batches) >= 5
    made.assert_exact()


@pytest.fixture
def read_again(monkeypatch):
    """Batches that the audit reads again from Kafka."""
    batches, read = [], Audit._read_again  # noqa: SLF001 - what is to be seen
    monkeypatch.setattr(Audit, "_read_again", lambda self, batch: (batches.append(batch.id), read(self, batch))[1])
    return batches


def test_bad_and_late_records_are_kept_as_their_batch_runs_and_kafka_is_not_read_again(scene, read_again):
    made = scene("departure_delays", events=4000, deliveries=2)
    for number in range(2):
        made.deliver()
        account = run(made, f"run-{number}").account
        assert account.malformed > 0
        assert account.premature > 0
        assert account.unaccounted == 0
    assert made.late()
    assert read_again == []
    made.assert_exact()


def test_a_batch_with_more_to_keep_than_the_budget_is_read_again(scene, read_again, monkeypatch):
    made = scene("departure_delays", events=1000, deliveries=1)
    monkeypatch.setattr("spark_jobs.stages.sieve.BUDGET", 2000)
    made.deliver()
    account = run(made).account
    assert account.malformed > 2000 / OVERHEAD / 2
    assert account.unaccounted == 0
    assert read_again == [0]
    made.assert_exact()


def test_batches_whose_progress_spark_has_forgotten_are_read_again(scene, read_again, monkeypatch):
    made = scene("departure_delays", events=1000, deliveries=1, max_offsets_per_batch=300)
    remembers = {**dynamic(made.spec.state), "spark.sql.streaming.numRecentProgressUpdates": "1"}
    monkeypatch.setattr("spark_jobs.session.dynamic", lambda _: remembers)
    monkeypatch.setattr("spark_jobs.stages.audit.AT_ONCE", 0)  # it looks when the query has ended, and not before
    made.deliver()
    account = run(made).account
    ran = [row["batch_id"] for row in made.ops("batches", "batch_id")]
    assert len(read_again) >= 3
    assert set(read_again) < set(ran), "the last one is remembered"
    assert account.unaccounted == 0
    assert account.read == made.ledger.num_rows
    made.assert_exact()


def test_a_run_with_nothing_new_keeps_the_last_known_state_and_writes_nothing(scene):
    made = scene("flight_events", events=500, deliveries=1)
    made.deliver_all()
    first = run(made, "first")
    assert first.status == "succeeded", first.problem
    second = run(made, "second")
    assert second.status == "succeeded"
    assert second.batches == ()
    assert second.state.rows == first.state.rows > 0
    assert second.watermark == first.watermark
    assert second.table_version == first.table_version
    made.assert_exact()
