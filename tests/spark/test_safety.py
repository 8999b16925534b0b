"""What a drain refuses, what it survives, and what it leaves to the next run."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import CheckpointBroken, StateIncompatible, TableChanged, TableReplaced
from spark_jobs.ops import ops_tables
from spark_jobs.proof.acts import files
from spark_jobs.registry import find as registry
from spark_jobs.runs.account import audit
from spark_jobs.runs.plan import plan
from spark_jobs.spec import Check, Field, Topic
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.log_entries import GENERATION
from tests.harness.cleaned import clean_log
from tests.harness.crash import over
from tests.harness.refused import because, has
from tests.harness.scene import Scene
from tests.harness.turns import alike, held_by

held = held_by("unit/test_restored.py", "spark/test_unjudged_rows.py")
another = alike("another table or checkpoint is refused before a row is written")
classified = alike("what a killed run left is classified as it was")

IMPOSSIBLE = Check(
    type="expect_column_values_to_be_in_set", kwargs={"column": "carrier", "value_set": ["ZZ"]}
)
"""Of the demo's carriers, until somebody changes all rows."""


def test_a_batch_committed_but_not_accounted_for_is_accounted_for_once_by_the_next_run(drained):
    def of_the_first(name: str) -> list[dict]:
        return [row for row in drained.ops(name) if row["batch_id"] <= 1]

    before = {name: len(of_the_first(name)) for name in ("batches", "quarantine", "late")}
    counted = {row["batch_id"]: row for row in of_the_first("batches")}
    read_cursor(drained.paths.cursor).model_copy(update={"audited": -1, "judged": -1}).write(
        drained.paths.cursor
    )

    report = drained.run("after the crash")

    assert report.recovered == (0, 1)
    assert {name: len(of_the_first(name)) for name in before} == before
    for row in of_the_first("batches"):
        assert row["source"] == "reread"
        known = counted[row["batch_id"]]
        for name in (
            "covered",
            "read",
            "malformed",
            "premature",
            "late",
            "accepted",
            "duplicates",
            "rows_out",
            "unaccounted",
        ):
            assert row[name] == known[name], name
    drained.assert_exact()
    assert plan(drained.spec, drained.settings).idle


def test_a_failed_critical_check_fails_the_run_and_its_rows_are_judged_again_until_it_is_but_a_warning(
    drained,
):
    drained.change(output_checks=(IMPOSSIBLE,))
    judged = read_cursor(drained.paths.cursor).judged

    failed = drained.drain("failed")

    assert failed.problem.code == "CHECK_FAILED"
    result = next(check for check in failed.checks if check.suite == "output")
    assert result.outcome == "failed"
    assert result.unexpected == failed.account.rows_out
    assert set(json.loads(result.sample)) <= {row["carrier"] for row in drained.table()}
    assert read_cursor(drained.paths.cursor).judged == judged
    assert not plan(drained.spec, drained.settings).idle, (
        "rows that were never judged good must not be forgotten"
    )

    drained.change(output_checks=(IMPOSSIBLE.model_copy(update={"severity": "warning"}),))
    again = drained.run("warned")
    assert again.table_version_before == failed.table_version_before
    assert [(check.type, check.unexpected) for check in again.failing("warning")] == [
        (IMPOSSIBLE.type, result.unexpected)
    ]
    kept = [
        row
        for row in drained.ops("checks")
        if row["run_id"] == "warned" and row["suite"] == "output"
    ]
    assert [row["outcome"] for row in kept] == ["failed"]
    assert plan(drained.spec, drained.settings).idle
    drained.assert_exact()


@held
def test_a_red_verdict_is_judged_over_all_rows_once_the_tables_log_is_cleaned_up(drained):
    drained.change(output_checks=(IMPOSSIBLE,))
    assert drained.drain("failed").problem.code == "CHECK_FAILED"
    clean_log(Path(str(drained.paths.table)))
    again = drained.drain("still red")
    assert again.problem.code == "CHECK_FAILED"
    assert again.failing("critical")[0].unexpected == len(drained.table())


@held
def test_a_person_who_mends_rows_may_say_why_in_the_commit(drained, spark):
    path = str(drained.paths.table)
    drained.change(output_checks=(IMPOSSIBLE,))
    assert drained.drain("failed").problem.code == "CHECK_FAILED"
    words = "spark.databricks.delta.commitInfo.userMetadata"
    spark.conf.set(words, "OPS-7: the carrier was wrong")
    try:
        spark.sql(f"UPDATE delta.`{path}` SET carrier = 'ZZ'")
    finally:
        spark.conf.unset(words)
    same = spark.read.format("delta").load(path)
    same.write.format("delta").mode("overwrite").option("userMetadata", "5").save(path)
    report = drained.run("mended")
    assert read_cursor(drained.paths.cursor).judged_table_version == report.table_version
    assert "restore" in " ".join(rewind(drained.spec, drained.settings, 0).lines)


@held
def test_a_restore_behind_a_batch_without_account_is_refused_and_taken_back(drained, monkeypatch):
    table = deltalake.DeltaTable(str(drained.paths.table))
    with monkeypatch.context() as active:
        active.setattr(audit, "balance", None)  # the account fails, after the batch is committed
        assert drained.drain("killed").problem is not None
    table.update_incremental()
    written = table.version()
    table.restore(read_cursor(drained.paths.cursor).judged_table_version)
    because(drained.drain("refused").problem, TableReplaced, "restored")
    intent = doctor(drained.spec, drained.settings)
    assert f"to version {written}" in " ".join(intent.lines)
    intent.execute()
    drained.run("mended")
    drained.assert_exact()


@held
@pytest.mark.parametrize("kept", [False, True])
def test_a_restore_in_sql_is_taken_back_or_kept_and_nothing_lost_or_doubled(drained, spark, kept):
    path = str(drained.paths.table)
    drained.deliver_all()
    drained.run("more")
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 1")
    keeping = has(f"sluice rewind {drained.spec.name} --to-batch 0")
    because(drained.drain("refused").problem, TableReplaced, "restored", keeping=keeping)
    spec, settings = drained.spec, drained.settings
    intent = rewind(spec, settings, 0) if kept else doctor(spec, settings)
    intent.execute()
    report = drained.run("mended")
    assert bool(report.batches) == kept
    drained.assert_exact()


@held
def test_a_restore_beside_a_run_fails_it_before_a_verdict_and_one_goes_back(drained, monkeypatch):
    """It comes when the batches are in the table."""
    drained.deliver_all()

    def at(name: str):
        if name == "checks":
            deltalake.DeltaTable(str(drained.paths.table)).restore(1)

    judged = read_cursor(drained.paths.cursor).judged_table_version
    with monkeypatch.context() as active:
        active.setattr(failpoint, "at", at)
        assert drained.drain("beside").problem.code == "TABLE_REPLACED"
    assert read_cursor(drained.paths.cursor).judged_table_version == judged
    doctor(drained.spec, drained.settings).execute()
    drained.run("mended")
    drained.assert_exact()


def test_what_the_checkpoint_froze_stays_in_force_and_the_run_says_so(drained):
    drained.change(
        state=drained.spec.state.model_copy(update={"shuffle_partitions": 3, "provider": "hdfs"})
    )
    said: list[str] = []
    report = drained.drain("changed", said.append)
    assert report.status == "succeeded", report.problem
    assert any(
        "state.shuffle_partitions: the spec sets 3; the checkpoint uses 1" in line for line in said
    )
    assert any(
        "state.provider: the spec sets 'hdfs'; the checkpoint uses 'rocksdb'" in line
        for line in said
    )
    operators = [
        operator
        for row in drained.ops("batches")
        if row["run_id"] == "changed"
        for operator in row["operators"]
    ]
    assert {
        (operator["numShufflePartitions"], operator["rocksdbGetCount"] is None)
        for operator in operators
    } == {(1, False)}
    drained.assert_exact()


def lose_checkpoint(made: Scene) -> None:
    made.paths.checkpoint.rename(made.paths.checkpoint.with_name("spark-gone"))


def declare_new_state(made: Scene) -> None:
    made.change(state=made.spec.state.model_copy(update={"version": 2}))


@another
@pytest.mark.parametrize("change", [lose_checkpoint, declare_new_state])
def test_a_checkpoint_that_did_not_write_the_table_is_refused_before_it_doubles_it(drained, change):
    rows = len(drained.table())
    change(drained)
    assert drained.drain("another checkpoint").problem.code == "CHECKPOINT_FOREIGN"
    assert len(drained.table()) == rows


@another
@pytest.mark.parametrize(
    ("change", "name", "wanted", "actual"),
    [
        (
            lambda rows: rows.drop("carrier"),
            "carrier",
            "string",
            has("the table has only event_id, "),
        ),
        (
            lambda rows: rows.withColumn("flight", F.col("flight").cast("string")),
            "flight",
            "integer",
            "the table has it as string",
        ),
    ],
    ids=["a column gone", "another type"],
)
def test_a_table_that_somebody_altered_is_refused_before_a_value_is_written_that_nobody_can_read(
    drained, spark, change, name, wanted, actual
):
    path = str(drained.paths.table)
    altered = change(spark.read.format("delta").load(path))
    altered.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    told = {"name": name, "wanted": wanted, "actual": actual}
    because(drained.drain("altered").problem, TableChanged, "column_unfit", **told)


def drop(made: Scene) -> None:
    made.paths.table.rename(made.paths.root / "dropped")


def make_anew(made: Scene) -> None:
    """With the same columns and properties, so that only Delta's id tells one from the other."""
    path = str(made.paths.table)
    rows = pa.Table.from_pylist(made.table())
    properties = deltalake.DeltaTable(path).metadata().configuration
    assert GENERATION in properties
    schema = deltalake.DeltaTable(path).schema()
    drop(made)
    deltalake.DeltaTable.create(
        path, schema, configuration=properties, raise_if_key_not_exists=False
    )
    deltalake.write_deltalake(path, rows, mode="append")


def restore_to_before_the_last_audited_batch(made: Scene) -> None:
    known = read_cursor(made.paths.cursor).judged_table_version
    assert known
    deltalake.DeltaTable(str(made.paths.table)).restore(known - 1)


def forget_the_last_batch(made: Scene) -> None:
    """In checkpoint and account, as a disk may lose what was written last; the table has it."""
    last = read_cursor(made.paths.cursor)
    last.model_copy(update={"audited": last.audited - 1, "judged": last.audited - 1}).write(
        made.paths.cursor
    )
    for log in ("commits", "offsets"):
        for name in (str(last.audited), f".{last.audited}.crc"):
            (made.paths.checkpoint / log / name).unlink(missing_ok=True)


@another
@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        (drop, TableReplaced, "dropped"),
        (make_anew, TableReplaced, "created_anew"),
        (restore_to_before_the_last_audited_batch, TableReplaced, "restored"),
        (forget_the_last_batch, CheckpointBroken, "file_damaged"),
    ],
)
def test_another_table_than_the_one_that_the_checkpoint_wrote_is_refused_before_a_row_is_written(
    drained, change, kind, reason
):
    change(drained)
    before = of_the_pipeline(drained)
    report = drained.drain("refused")
    because(report.problem, kind, reason)
    assert (report.seconds, report.batches) == ({}, ()), "it came as far as Spark"
    assert of_the_pipeline(drained) == before


def of_the_pipeline(scene: Scene) -> dict[str, object]:
    """All files but those that say who held the lease last, and that there was such a run."""
    lease_file = str(scene.paths.lease.relative_to(scene.paths.root))
    found = files(Path(scene.settings.root))
    return {
        name: file
        for name, file in found.items()
        if name != lease_file and not name.startswith("ops/runs/")
    }


def test_a_clock_in_the_future_and_one_that_kafka_has_too_make_no_other_record_late(scene):
    """With CreateTime the producer stamps both. The audit that reads Kafka again says the same."""
    made = scene("departure_delays", events=600, deliveries=1)
    made.deliver_all()
    ahead = datetime.now(UTC) + timedelta(days=365)
    value = {
        "event_id": "ahead",
        "event_type": "departure",
        "event_time": ahead.isoformat(),
        "scheduled_time": ahead.isoformat(),
        "carrier": "UA",
        "flight": 1,
        "origin": "EWR",
        "destination": "SFO",
        "cancelled": False,
        "distance_miles": 2565,
    }
    made.send(json.dumps(value), timestamp=int(ahead.timestamp() * 1000))
    expected = sum(row["kind"] == "premature" for row in made.ledger.to_pylist()) + 1
    with pytest.MonkeyPatch.context() as lost:
        lost.setattr(audit, "captured", lambda *_: None)
        again = made.drain("read again")
    assert (again.problem, again.account.unaccounted) == (None, 0)
    assert again.account.premature == expected
    assert again.watermark is not None
    good = (row for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"})
    assert again.watermark <= max(row["event_time"] for row in good) - timedelta(hours=2)
    [reason] = {
        row["reason"].partition(" past ")[2]
        for row in made.ops("quarantine")
        if row["kind"] == "premature" and row["event_time"] > ahead - timedelta(days=1)
    }
    assert reason.startswith("the moment at which its batch was planned")


def test_the_ops_tables_of_two_pipelines_share_a_root(drained):
    other = over(drained, Path(drained.settings.root), registry.load("departure_delays"))
    other.change(output_checks=())
    other.run()
    other.assert_exact()
    rows = ops_tables.query(
        other.paths.root, "runs", "SELECT pipeline, unaccounted FROM runs ORDER BY pipeline"
    ).to_pylist()
    assert rows == [
        {"pipeline": "departure_delays", "unaccounted": 0},
        {"pipeline": "flight_events", "unaccounted": 0},
    ]


@classified
def test_a_batch_that_a_killed_run_left_is_accounted_for_by_what_its_records_were_classified_with(
    scene, spark, monkeypatch
):
    made = scene("flight_events", events=600, deliveries=1)
    made.deliver_all()
    first = made.spec.topic
    # Or the batch of no records behind it is committed, or in the table alone (which is refused,
    # see below), or not begun when the audit fails: whichever comes first.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    try:
        with monkeypatch.context() as killed:
            killed.setattr(no_data_batch, "due", lambda *_: None)
            killed.setitem(failpoint.ACTIVE, "audit", "raise")
            assert made.drain("killed").problem is not None
    finally:
        spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
    assert Checkpoint(made.paths.checkpoint).planned() == [0]
    made.change(topic=more_patient(first))
    report = made.run("after")
    assert report.recovered == (0,)
    premature = sum(row["kind"] == "premature" for row in made.ledger.to_pylist())
    assert report.account.premature == premature > 0
    made.assert_exact()


@classified
def test_a_batch_in_the_table_and_not_in_the_state_is_not_classified_otherwise(scene, monkeypatch):
    made = scene("flight_events", events=600, deliveries=1)
    made.deliver_all()
    first = made.spec.topic
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "table.committed", "raise")
        assert made.drain("killed").problem is not None
    made.change(topic=more_patient(first))
    what = has("topic (max_ahead, required, rules or fields)")
    because(made.drain("refused").problem, StateIncompatible, "batch_half_done", what=what)
    made.change(topic=first)
    made.run("as before")
    made.assert_exact()


def more_patient(topic: Topic) -> Topic:
    """The topic, with records in time that were premature."""
    return topic.model_copy(update={"max_ahead": timedelta(days=800)})


def test_a_change_whose_first_batch_fails_can_be_taken_back(delays, monkeypatch):
    made, spec = delays, delays.spec
    more = Field(name="gate", type="string", required=False, about="of the airport")
    made.change(
        topic=spec.topic.model_copy(update={"fields": (*spec.topic.fields, more)}),
        watermark_delay=timedelta(hours=9),
    )
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "planned", "raise")
        assert made.drain("failed").problem is not None
    known = read_identity(made.paths)
    assert "topic.fields.gate" in known.fingerprint
    made.spec = spec
    made.run("as before")
    made.assert_exact()
    again = read_identity(made.paths)
    assert ("topic.fields.gate" in again.fingerprint, again.before) == (False, None)
