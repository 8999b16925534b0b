"""The short form of `make faults`: each kind of kill once, at a certain place."""

import logging
from random import Random

import pytest

from spark_jobs.checkpoint import no_data_batch
from tests.faults import publishing, verifying
from tests.faults.campaign import Campaign
from tests.faults.catalogue import IN_STORES, SHORT, at_failpoint
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    # e2e/test_airflow_run.py kills a driver each day; simulation/ kills at any write.
    alike("a fault of the machine"),
]


def test_no_kill_loses_doubles_or_leaves_anything_unaccounted(kafka, spark, tmp_path):
    scenes = []
    campaign = Campaign(
        kafka,
        tmp_path,
        [(kill, Random()) for kill in SHORT],
        logging.getLogger("campaign").info,
        # Each batch writes its rows, and none in a later one: what is written twice is seen.
        pipelines=("flight_events",),
        events=1500,
        block=len(SHORT),
        stores=1,
        checked=False,
    )
    figures = campaign.run(
        mend=lambda scene, run_id: scenes.append(scene) or scene.run(run_id),
        publish=publishing.here,
        verdict=verifying.here,
    )
    assert [*figures.landed.elements()] == [IN_STORES, at_failpoint("table.committed")]
    assert figures.kills == len(SHORT) - 1
    assert figures.verified == 1
    assert figures.lost_events >= 1, "one that a newer verdict overtook"
    ended = {row["run_id"]: row["problem"] for row in scenes[0].ops("runs")}
    assert ended == {
        "kill-000": "REPORT_MISSING",  # as the run after it tells
        "kill-001": None,  # nobody killed it
        "kill-002": "REPORT_MISSING",
        "whole-002": None,
    }
    assert figures.late > 0, "the batch after a crash is judged by the watermark before it"


def test_the_verifier_sees_that_the_closing_batch_is_missing(kafka, spark, tmp_path, monkeypatch):
    scene = Scene(kafka, tmp_path, "departure_delays", events=600, deliveries=1)
    scene.deliver()
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    try:
        with monkeypatch.context() as lost:
            lost.setattr(no_data_batch, "due", lambda *_: None)
            scene.run("cut short")
    finally:
        spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
    [told] = scene.verifier.verdict().told
    assert "the batch that closes what is due is missing" in told
    scene.run("closed")
    scene.assert_exact()
