"""What a drain refuses, what it survives, and what it leaves to the next run."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from pyspark.sql import functions as F

from spark_jobs import ops
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.contract.checks import Check
from spark_jobs.cursor import read_cursor
from spark_jobs.drain import drain
from spark_jobs.lease import lease
from spark_jobs.plan import plan
from tests.spark.test_drain import run

SMALL = {"events": 600, "deliveries": 2}


@pytest.fixture
def drained(scene):
    """A pipeline that has drained its first delivery."""
    made = scene("flight_events", **SMALL)
    made.deliver()
    report = run(made, "first")
    assert report.status == "succeeded", report.problem
    return made


def test_a_batch_that_was_committed_but_not_accounted_for_is_accounted_for_once_by_the_next_run(drained):
    before = {name: len(drained.ops(name)) for name in ("batches", "quarantine", "late")}
    counted = {row["batch_id"]: row for row in drained.ops("batches")}
    read_cursor(drained.paths.cursor).model_copy(update={"audited": -1, "judged": -1}).write(drained.paths.cursor)
    assert not plan(drained.spec, drained.settings).idle

    report = run(drained, "after the crash")

    assert report.recovered == (0, 1)
    assert {name: len(drained.ops(name)) for name in before} == before
    for row in drained.ops("batches"):
        assert row["source"] == "reread"
        known = counted[row["batch_id"]]
        for name in ("covered", "read", "malformed", "premature", "late", "accepted", "duplicates", "rows_out", "unaccounted"):
            assert row[name] == known[name], name
    drained.assert_exact()
    assert plan(drained.spec, drained.settings).idle


def test_a_batch_that_ran_but_was_not_committed_is_run_again_without_doubling_a_row(drained):
    drained.deliver_all()
    assert run(drained, "second").status == "succeeded"
    last = Checkpoint(drained.paths.checkpoint).committed()[-1]
    (drained.paths.checkpoint / "commits" / str(last)).unlink()
    (drained.paths.checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)

    report = run(drained, "third")

    assert report.status == "succeeded", report.problem
    drained.assert_exact()


def test_a_failed_critical_check_fails_the_run_and_its_rows_are_judged_again(drained):
    impossible = Check(type="expect_column_values_to_be_in_set", kwargs={"column": "carrier", "value_set": ["ZZ"]})
    drained.deliver_all()
    spec, drained.spec = drained.spec, drained.spec.model_copy(update={"output_checks": (impossible,)})

    failed = run(drained, "failed")

    assert failed.problem is not None
    assert failed.problem.code == "CHECK_FAILED"
    result = next(check for check in failed.checks if check.suite == "output")
    assert result.outcome == "failed"
    assert result.unexpected == failed.account.rows_out
    assert set(json.loads(result.sample)) <= {row["carrier"] for row in drained.table()}
    assert not plan(drained.spec, drained.settings).idle, "rows that were never judged good must not be forgotten"
    drained.spec = spec
    again = run(drained, "again")
    assert again.status == "succeeded"
    assert again.table_version_before == failed.table_version_before
    drained.assert_exact()


def test_a_failed_warning_passes_and_is_kept(drained):
    odd = Check(type="expect_column_values_to_be_in_set", kwargs={"column": "carrier", "value_set": ["ZZ"]}, severity="warning")
    drained.deliver_all()
    drained.spec = drained.spec.model_copy(update={"output_checks": (odd,)})
    report = run(drained, "warned")
    assert report.status == "succeeded"
    assert [check.type for check in report.failing("warning")] == [odd.type]
    kept = [row for row in drained.ops("checks") if row["run_id"] == "warned" and row["suite"] == "output"]
    assert [row["outcome"] for row in kept] == ["failed"]


def test_a_check_that_cannot_be_evaluated_is_an_error_and_not_a_verdict(drained):
    broken = Check(type="expect_column_values_to_not_be_null", kwargs={"column": "no_such_column"})
    drained.deliver_all()
    drained.spec = drained.spec.model_copy(update={"output_checks": (broken,)})
    report = run(drained, "broken")
    assert report.problem is not None
    assert report.problem.code == "CHECK_BROKEN"
    assert "no_such_column" in report.problem.what


def test_a_second_drain_is_refused_and_names_the_holder(drained):
    drained.deliver_all()
    with lease(drained.paths.lease, "the holder"):
        report = run(drained, "the second")
    assert report.problem is not None
    assert report.problem.code == "LEASE_HELD"
    assert "the holder" in report.problem.what


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda spec: {"steps": (spec.steps[0].model_copy(update={"keys": ("carrier",)}),)}, "steps[0].keys"),
    ],
    ids=["another key"],
)
def test_a_spec_that_its_state_could_not_obey_is_refused_field_by_field(drained, change, named):
    drained.deliver_all()
    drained.spec = drained.spec.model_copy(update=change(drained.spec))
    report = run(drained, "changed")
    assert report.problem is not None
    assert report.problem.code == "STATE_INCOMPATIBLE"
    assert named in report.problem.what
    assert "sluice reset" in report.problem.remedy


def test_what_the_checkpoint_froze_stays_in_force_and_the_run_says_so(drained):
    drained.deliver_all()
    state = drained.spec.state.model_copy(update={"shuffle_partitions": 3, "provider": "hdfs"})
    drained.spec, said = drained.spec.model_copy(update={"state": state}), []
    report = drain(drained.spec, drained.settings, "changed", said.append)
    assert report.status == "succeeded", report.problem
    assert any("state.shuffle_partitions: the spec says 3, in force is 2" in line for line in said)
    assert any("state.provider: the spec says 'hdfs', in force is 'rocksdb'" in line for line in said)
    operators = [operator for row in drained.ops("batches") if row["run_id"] == "changed" for operator in row["operators"]]
    assert {(operator["numShufflePartitions"], operator["rocksdbGetCount"] is None) for operator in operators} == {(2, False)}
    drained.assert_exact()


def test_a_lost_checkpoint_is_refused_before_it_doubles_the_table(drained):
    rows = len(drained.table())
    drained.paths.checkpoint.rename(drained.paths.checkpoint.with_name("spark-gone"))
    report = run(drained, "without its checkpoint")
    assert report.problem is not None
    assert report.problem.code == "CHECKPOINT_FOREIGN"
    assert len(drained.table()) == rows


@pytest.mark.parametrize(("change", "said"), [
    (lambda rows: rows.drop("carrier"), "cannot take column carrier string: it has event_id, "),
    (lambda rows: rows.withColumn("flight", F.col("flight").cast("string")),
     "cannot take column flight integer: it has it as string"),
], ids=["a column gone", "another type"])
def test_a_table_that_somebody_altered_is_refused_before_a_value_is_written_that_nobody_can_read(drained, spark, change, said):
    path = str(drained.paths.table)
    altered = change(spark.read.format("delta").load(path))
    altered.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    drained.deliver_all()
    report = run(drained, "altered")
    assert report.problem is not None
    assert report.problem.code == "TABLE_CHANGED"
    assert said in report.problem.what


def test_a_new_state_version_on_the_old_table_is_refused_before_it_doubles_it(drained):
    rows = len(drained.table())
    drained.spec = drained.spec.model_copy(update={"state": drained.spec.state.model_copy(update={"version": 2})})
    drained.paths = type(drained.paths)(drained.settings.root, drained.spec)
    report = run(drained, "version 2")
    assert report.problem is not None
    assert report.problem.code == "CHECKPOINT_FOREIGN"
    assert len(drained.table()) == rows


def test_one_clock_in_the_future_makes_no_other_record_late(scene):
    made = scene("departure_delays", **SMALL)
    made.deliver_all()
    report = run(made)
    assert report.account.premature > 0
    newest = max(row["event_time"] for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"})
    assert report.watermark is not None
    assert report.watermark <= newest - timedelta(hours=2)
    made.assert_exact()


def test_the_ops_tables_of_two_pipelines_share_a_root(scene):
    first, second = scene("flight_events", **SMALL), scene("departure_delays", **SMALL)
    for made in (first, second):
        made.deliver_all() if made is first else None
    second.spec = second.spec.model_copy(update={"topic": first.spec.topic})
    for made in (first, second):
        assert run(made).status == "succeeded"
    rows = ops.query(first.paths.root, "runs", "SELECT pipeline, unaccounted FROM runs ORDER BY pipeline").to_pylist()
    assert rows == [{"pipeline": "departure_delays", "unaccounted": 0}, {"pipeline": "flight_events", "unaccounted": 0}]
