"""A drain that the JVM decodes leaves what Python's decoder would have left: rows, kept records,
reasons, counts, slices and keys.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local import broker
from spark_jobs.decode import decoder, jvm as jvm_decoder
from spark_jobs.decode.jvm_choice import NO_JAR
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.errors import StagingStale
from spark_jobs.messages.report import Report
from spark_jobs.repair.compute import judging
from spark_jobs.repair.unit import range_rows
from spark_jobs.runs.plan import plan
from spark_jobs.spec import Aggregate, Csv, Deduplicate, Pipeline, State, Topic, Transform, Tumbling
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from spark_jobs.storage import failpoint
from spark_jobs.table.delta import few_rows
from tests.harness.jvm_decoding import JvmDecoding
from tests.harness.lines import heard
from tests.harness.odd_records import FLAT, TOPICS, OddRecords
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.spark.test_repair import Repairs

pytestmark = held_by("unit/test_jvm_decoder.py")

RECORDS = 900
OF_A_RUN = {
    "planned_at",
    "pipeline",
    "generation",
    "run_id",
    "audited_at",
    "quarantined_at",
    "noted_at",
}
DEEP = b'{"s": "deep", "at": "2013-01-01T01:00:00Z", "i": 1, "z": %s}' % (b"[" * 101 + b"]" * 101)
TWICE = b'{"s": "twice", "at": "2013-01-01T01:00:00Z", "i": "wrong", "i": 1}'
"""Python takes the first and refuses the second; the JVM is sure of neither."""


def pipeline(topic: Topic, *steps: Any, **changes: Any) -> Pipeline:
    usual: dict[str, Any] = {
        "name": "odd",
        "about": "All of it.",
        "topic": topic,
        "steps": steps or (Transform(where="true"),),
    }
    return Pipeline(**usual | changes)


def good(n: int, **more: Any) -> bytes:
    at = f"2013-01-01T{n // 60:02}:{n % 60:02}:00Z"
    return json.dumps({"s": f"s{n}", "at": at, "i": n} | more).encode()


def hourly() -> Pipeline:
    step = Aggregate(
        window=Tumbling(size="1 hour"), keys=("flag",), measures={"n": "count(*)"}, counts="n"
    )
    return pipeline(FLAT, step, watermark_delay="10 minutes", state=State(budget_rows=1_000))


def stricter(ours: Any) -> Any:
    """The description, by which the JVM refuses a text that is null, as Python does not."""

    def told(*given: Any) -> Any:
        of = ours(*given)
        of["root"]["keys"]["text"]["required"] = True
        return of

    return told


@pytest.fixture(scope="module")
def sure(tmp_path_factory) -> Iterator[Any]:
    """Odd records of a topic, without those that the JVM leaves to Python."""
    with JvmDecoding(tmp_path_factory.mktemp("classes")) as decoding:

        def some(topic: Topic, seed: int) -> list[bytes | None]:
            odd = OddRecords(topic, seed)
            made = [odd.record() for _ in range(RECORDS)]
            told = decoding.of(prepare(topic, "", None), made)
            return [value for value, each in zip(made, told, strict=True) if each is not None]

        yield some


@pytest.fixture
def decoded(monkeypatch) -> list[str]:
    """The name of each topic that the JVM has been given."""
    found = []
    ours = decoder.decoded

    def noted(records, prepared, *rest):
        found.append(prepared.topic.name)
        return ours(records, prepared, *rest)

    monkeypatch.setattr(decoder, "decoded", noted)
    return found


@pytest.fixture
def by_python(monkeypatch):
    """Call it, and Python decodes from then on."""
    return lambda: monkeypatch.setattr(decoder, "why_python", lambda *_: "it is asked to")


def left(made: Scene, report: Report) -> dict[str, Any]:
    """All that a drain leaves of its records."""
    tables = {"table": made.table()} | {
        name: made.ops(name) for name in ("quarantine", "slices", "late")
    }
    found: dict[str, Any] = {
        name: sorted(
            repr({key: value for key, value in row.items() if key not in OF_A_RUN}) for row in rows
        )
        for name, rows in tables.items()
    }
    return found | {"account": report.account}


def again(made: Scene, folder: Any) -> Scene:
    """The same topic, by another root."""
    off = made.spec.state_checks_off
    return Scene(made.kafka, folder, made.spec, topic=made.topic, state_checks_off=off)


@pytest.mark.parametrize("name", TOPICS)
def test_rows_reasons_counts_slices_and_keys_are_pythons(
    kafka, tmp_path, sure, decoded, by_python, monkeypatch, name
):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    spec = pipeline(TOPICS[name], max_offsets_per_batch=200)
    made = Scene(kafka, tmp_path / "jvm", spec, state_checks_off=tuple(REJECTIONS))
    broker.create_topic(kafka, made.topic, made.partitions)
    values = sure(TOPICS[name], 11)
    made.send(*values, key=b"k")
    report = made.run()
    assert decoded == [made.topic]
    assert report.account.read == len(values)
    assert report.account.malformed > 50
    assert report.account.rows_out > 10
    by_python()
    other = again(made, tmp_path / "python")
    wanted = left(other, other.run())
    found = left(made, report)
    for what, each in wanted.items():
        assert found[what] == each
    assert decoded == [made.topic], "the second drain is Python's"
    kept = {row["reason"] for row in made.ops("quarantine") if row["kind"] == "malformed"}
    assert len(kept) > 20
    assert jvm_decoder.PENDING not in kept


def test_python_goes_on_where_the_jvm_is_not_sure_also_behind_a_kill(
    kafka, tmp_path, decoded, monkeypatch
):
    spec = pipeline(
        FLAT,
        Deduplicate(keys=("s",)),
        watermark_delay="1 day",
        max_offsets_per_batch=40,
        state=State(budget_rows=1_000),
    )
    made = Scene(kafka, tmp_path, spec, partitions=1, stores=1)
    broker.create_topic(kafka, made.topic, 1)
    sent = [good(n) for n in range(100)]
    made.send(*sent[:40])
    made.run("first")
    made.send(*sent[40:60], DEEP, TWICE, *sent[40:])
    said = list[str]()
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "table.committed", "raise")
        assert made.drain("killed", said.append).status == "failed"
    report = made.drain("whole", said.append)
    assert (report.status, report.account.unaccounted) == ("succeeded", 0)
    unsure = [line for line in said if "is not sure of the record at partition 0 offset 60" in line]
    assert len(unsure) == 2
    assert len(decoded) == 3, "behind it Python decodes what is left of a run"
    rows = sorted((row["s"], row["i"]) for row in made.table())
    assert rows == sorted([("deep", 1), *((f"s{n}", n) for n in range(100))])
    counts = [(row["malformed"], row["duplicates"], row["read"]) for row in made.ops("batches")]
    assert [*map(sum, zip(*counts, strict=True))] == [1, 20, 122]
    [bad] = made.ops("quarantine")
    assert (bad["offset"], bad["value"]) == (61, TWICE)
    made.send(good(100))
    assert made.run("next").account.rows_out == 1
    assert len(decoded) == 4, "the next run is the JVM's again"


def test_a_record_that_the_jvm_alone_refuses_is_unaccounted_and_nothing_is_published(
    kafka, tmp_path, monkeypatch
):
    monkeypatch.setattr(jvm_decoder, "described", stricter(jvm_decoder.described))
    made = Scene(kafka, tmp_path, pipeline(FLAT), checked=True, partitions=1)
    broker.create_topic(kafka, made.topic, 1)
    made.send(*(good(n, text="a") for n in range(20)), good(20, text=None))
    said = list[str]()
    report = made.drain(say=said.append)
    assert report.account.unaccounted == 1
    assert report.status == "failed"
    assert any("the record at" in line and "offset 20" in line for line in said)


@pytest.mark.parametrize("absent", [True, False], ids=["none", "another form"])
def test_without_its_jar_or_by_that_of_another_sluice_python_decodes(
    kafka, tmp_path, decoded, monkeypatch, absent
):
    monkeypatch.setattr(jvm_decoder, "FORM", None if absent else jvm_decoder.FORM + 1)
    made = Scene(kafka, tmp_path, pipeline(FLAT), partitions=1)
    broker.create_topic(kafka, made.topic, 1)
    made.send(good(1), b"none")
    account = made.run().account
    assert (account.rows_out, account.malformed, decoded) == (1, 1, [])


def test_a_plan_says_who_decodes_and_why(kafka, tmp_path):
    made = Scene(kafka, tmp_path, pipeline(FLAT), partitions=1)
    broker.create_topic(kafka, made.topic, 1)
    lines = plan(made.spec, made.settings).lines
    assert f"{made.topic} is decoded by the JVM" in lines
    lines = plan(made.spec, made.settings._replace(jars=tmp_path)).lines
    assert f"{made.topic} is decoded by Python: {NO_JAR}" in lines
    names = tuple(field.name for field in FLAT.fields)
    topic = made.spec.topic.model_copy(update={"format": Csv(columns=names)})
    made.change(topic=topic)
    lines = plan(made.spec, made.settings).lines
    assert f"{made.topic} is decoded by Python: they are csv" in lines


@pytest.mark.parametrize("unsure", [False, True], ids=["sure", "unsure"])
def test_a_day_computed_again_is_decoded_as_a_drain_is_and_proved_by_python(
    spark, kafka, tmp_path, decoded, monkeypatch, unsure
):
    made = Scene(kafka, tmp_path, hourly(), partitions=1, stores=1)
    broker.create_topic(kafka, made.topic, 1)
    made.send(*(good(n) for n in range(100)), DEEP if unsure else b"none")
    made.run("first")
    made.send(good(30), good(200))
    made.run("late")
    assert sorted(row["n"] for row in made.table()) == [40 + unsure, 60]
    del decoded[:]
    read, by_driver = list[Any](), few_rows.few_rows
    monkeypatch.setattr(
        few_rows, "few_rows", lambda *given: read.append(by_driver(*given)) or read[-1]
    )
    work, first = Repairs(made), datetime(2013, 1, 1, tzinfo=UTC)
    said = list[str]()
    with heard(said.append):
        report, swapped = work.done("backfill", first, first + timedelta(hours=2))
    assert swapped is not None
    assert (report.change.changed, report.change.merged, report.change.unexplained) == (1, 1, 0)
    assert sorted(row["n"] for row in made.table()) == [40 + unsure, 61]
    assert decoded == [made.topic], "and by Python alone where it was not sure"
    assert read
    assert None not in read, "the table's rows are read by the driver"
    assert any("offset 100" in line for line in said) == unsure
    assert not spark.sparkContext._jsc.getPersistentRDDs()  # noqa: SLF001 - no Python form
    report, _ = work.done("verify", first, first + timedelta(hours=2))
    assert report.change.differs == 0
    assert decoded == [made.topic]


def test_a_record_that_the_jvm_alone_refuses_is_taken_by_python_when_a_day_is_computed_again(
    kafka, tmp_path, decoded, monkeypatch
):
    made = Scene(kafka, tmp_path, hourly(), partitions=1, stores=1)
    broker.create_topic(kafka, made.topic, 1)
    made.send(*(good(n, text="a") for n in range(100)), good(100, text=None), good(200))
    made.run("first")
    monkeypatch.setattr(jvm_decoder, "described", stricter(jvm_decoder.described))
    first = datetime(2013, 1, 1, tzinfo=UTC)
    report, _ = Repairs(made).done("backfill", first, first + timedelta(hours=2))
    assert (report.change.differs, report.change.newly_bad) == (0, 0)
    assert report.account.malformed == 0
    assert decoded == [made.topic, made.topic], "the drain, and the first try"


@pytest.mark.parametrize("by", ["jvm", "python"])
def test_what_retention_takes_is_computed_once_more_only_where_the_jvm_has_decoded(
    kafka, tmp_path, monkeypatch, by
):
    made = Scene(kafka, tmp_path, hourly(), partitions=1, stores=1)
    broker.create_topic(kafka, made.topic, 1)
    made.send(*(good(n) for n in range(100)), good(200))
    made.run("first")
    tries = []

    def gone(*_: Any) -> Any:
        tries.append(1)
        raise StagingStale.bad_records_gone(pipeline="odd", counted=2, found=1)

    monkeypatch.setattr(range_rows.RangeRows, "compute", gone)
    if by == "python":
        monkeypatch.setattr(judging, "why_python", lambda *_: "it is asked to")
    work, first = Repairs(made), datetime(2013, 1, 1, tzinfo=UTC)
    problem = work.stage(work.plan("backfill", first, first + timedelta(hours=2))).problem
    assert problem is not None
    assert problem.code == "STAGING_STALE"
    assert len(tries) == (2 if by == "jvm" else 1)
