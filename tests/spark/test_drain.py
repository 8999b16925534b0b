"""Drains over real Kafka, held against an oracle that knows neither Spark nor Sluice."""

from __future__ import annotations

import logging

import pytest

from spark_jobs.contract.report import Report
from spark_jobs.drain import drain
from spark_jobs.stages.audit import Audit
from tests.scene import Scene


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


def test_the_audit_decodes_again_only_what_may_have_to_be_kept(scene, monkeypatch):
    made, found, read_part = scene("departure_delays", events=4000, deliveries=2), [], Audit._read_part  # noqa: SLF001 - what it found
    monkeypatch.setattr(Audit, "_read_part", lambda self, *of: (found.append(read_part(self, *of)), found[-1])[1])
    for number in range(2):
        made.deliver()
        assert run(made, f"run-{number}").account.unaccounted == 0
    assert len(found) == 2
    for counted, kept in found:
        assert not counted.whole
        assert counted.read > 1000
        assert counted.malformed + counted.premature + counted.late == kept.num_rows > 0
        assert counted.entered < counted.read / 10
    assert made.late()
    made.assert_exact()


def test_a_run_with_nothing_new_keeps_the_last_known_state_and_writes_nothing(scene):
    made = scene("flight_events", events=500, deliveries=1)
    made.deliver_all()
    first = run(made, "first")
    second = run(made, "second")
    assert second.status == "succeeded"
    assert second.batches == ()
    assert second.state.rows == first.state.rows > 0
    assert second.watermark == first.watermark
    assert second.table_version == first.table_version
    made.assert_exact()
