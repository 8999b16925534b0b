"""Every form of a stateful operator over real Kafka: three deliveries, a query each, one of them in many batches."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections import Counter

import pytest

from spark_jobs.contract.windows import Session
from spark_jobs.drain import drain
from tests.harness import oracle
from tests.spark import operators


@pytest.fixture
def examples(monkeypatch):
    """The pipelines that show an operator each."""
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")


@pytest.mark.parametrize("operator", operators.ALL, ids=lambda operator: operator.spec.name)
def test_the_table_is_what_duckdb_makes_of_all_good_records_less_what_was_late(scene, examples, operator):
    drained_exactly(scene, operator, 3000)


@pytest.mark.parametrize("name", ["event_time_key", "daily_flights", "airport_delays", "carrier_days"])
def test_the_hdfs_backed_store_gives_the_same(scene, examples, name):
    operator = next(operator for operator in operators.ALL if operator.spec.name == name)
    state = operator.spec.state.model_copy(update={"provider": "hdfs"})
    made = drained_exactly(scene, operator._replace(spec=operator.spec.model_copy(update={"state": state})), 3000)
    identity = json.loads(made.paths.identity.read_text())
    assert (identity["fingerprint"]["state.provider"], identity["fingerprint"]["state.format"]) == ("hdfs", 1)
    assert {step["rocksdbGetCount"] for row in made.ops("batches") for step in row["operators"] or []} == {None}


def drained_exactly(scene, operator, events):
    """Three deliveries, a query each, the second in many batches; the table is the oracle's."""
    made = scene(operator.spec, events=events)
    for number, most in enumerate((None, 500, None)):
        made.deliver()
        spec = made.spec.model_copy(update={"max_offsets_per_batch": most})
        report = drain(spec, made.settings, f"run-{number}", logging.getLogger("drain").info)
        assert report.status == "succeeded", report.problem
        assert report.account.unaccounted == 0
    wanted = Counter(oracle.comparable(operators.expected(operator, made, report.watermark)))
    found = Counter(oracle.comparable(made.table()))
    assert sorted((found - wanted).elements(), key=repr)[:5] == [], "rows that should not be there (the first 5)"
    assert sorted((wanted - found).elements(), key=repr)[:5] == [], "rows that are missing (the first 5)"
    assert found
    assert bool(made.late()) == (operator.spec.watermark_delay is not None and operator.spec.output_mode != "complete")
    assert all(step["rows_in"] is not None for row in made.ops("batches") for step in row["operators"] or [])
    return made


@pytest.mark.parametrize("gap", ["'0 minutes'", "CAST(NULL AS STRING)", "'-5 minutes'"])
def test_a_row_without_a_gap_of_its_own_fails_the_run_instead_of_vanishing(scene, gap):
    operator = next(operator for operator in operators.ALL if operator.spec.name == "session_own_gap")
    step = operator.spec.steps[1]
    window = Session(gap_sql=f"CASE WHEN carrier = 'UA' THEN {gap} ELSE '30 minutes' END")
    steps = (operator.spec.steps[0], step.model_copy(update={"window": window}))
    made = scene(operator.spec.model_copy(update={"steps": steps}), events=100, deliveries=1)
    made.deliver_all()
    report = drain(made.spec, made.settings, "run", logging.getLogger("drain").info)
    assert report.problem is not None
    assert report.problem.code == "SPEC_INVALID", report.problem
    assert "gap_sql gave a row no gap" in report.problem.what


def test_a_bounded_run_leaves_the_rest_to_the_next_and_says_how_much(scene):
    made = scene("departure_delays", events=4000, deliveries=1, max_offsets_per_batch=900, max_batches=2)
    made.deliver_all()
    whole = made.ledger.num_rows
    read = []
    for number in range(6):
        report = drain(made.spec, made.settings, f"run-{number}", logging.getLogger("drain").info)
        assert report.status == "succeeded", report.problem
        read.append(report.account.read)
        assert report.waiting == whole - sum(read)
        if not report.bounded_by:
            break
        assert report.bounded_by == "max_batches=2"
        assert report.waiting
    assert len(read) > 2
    assert sum(read) == whole
    made.assert_exact()


def test_a_run_that_is_asked_to_stop_ends_with_the_batch_and_the_next_run_goes_on(scene):
    made = scene("departure_delays", events=2000, deliveries=1, max_offsets_per_batch=600)
    made.deliver_all()

    def ask(line: str) -> None:
        if "batch 0:" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    stopped = drain(made.spec, made.settings, "stopped", ask)
    assert stopped.problem is not None
    assert stopped.problem.code == "STOPPED"
    assert 0 < stopped.account.read < made.ledger.num_rows
    assert stopped.account.unaccounted == 0
    report = drain(made.spec, made.settings, "next", logging.getLogger("drain").info)
    assert report.status == "succeeded", report.problem
    assert stopped.account.read + report.account.read == made.ledger.num_rows
    made.assert_exact()


def test_every_accepted_event_is_in_a_written_group_or_in_one_that_spark_still_holds(scene, spark):
    made = scene("departure_delays", events=3000, max_offsets_per_batch=700)
    made.deliver_all()
    report = drain(made.spec, made.settings, "run", logging.getLogger("drain").info)
    assert report.status == "succeeded", report.problem
    checkpoint = str(made.paths.checkpoint)
    kept = {row.operatorName: row.operatorId for row in spark.read.format("state-metadata").load(checkpoint).collect()}
    groups = spark.read.format("statestore").option("operatorId", kept["stateStoreSave"]).load(checkpoint)
    still_open = sum(row.value[0] for row in groups.select("value").collect())  # the first buffer is count(*)'s
    written = sum(row["flights"] for row in made.table())
    assert still_open > 0
    assert written + still_open == report.account.accepted - report.account.duplicates
