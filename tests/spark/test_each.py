"""Values with many records over real Kafka, Spark and Delta: the table is what DuckDB's `unnest` makes
of the topic, the account counts values and elements, one bad element is malformed alone.
"""

import copy
import json
import os
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pytest
from confluent_kafka import Producer
from hypothesis import HealthCheck, given, settings, strategies as st

from local import broker
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.undo import undo
from spark_jobs.source.place import Place
from spark_jobs.spec import Aggregate, Field, Pipeline, Topic, Transform, Tumbling
from spark_jobs.storage import failpoint
from tests.harness.command import answer, sluice_here
from tests.harness.crash import Images, copied, over
from tests.harness.long_form import LONG, long_form
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.otel import FORMATS
from tests.spark.test_repair import Repairs
from tests.spark.told import fates
from tests.unit.specs import deployed

pytestmark = alike("a value with many records")

START = datetime(2025, 11, 25, tzinfo=UTC)
FIELDS = (
    Field(name="at", type="timestamp", path="timeUnixNano", format="ns"),
    Field(name="nanos", type="bigint", path="timeUnixNano", format="text"),
    Field(name="body", type="string", path="body.stringValue"),
    Field(name="service", type="string", up=2, required=False,
          path="resource.attributes[key=service.name].value.stringValue"),
    Field(name="scope", type="string", up=1, path="scope.name", required=False),
)  # fmt: skip
TOPIC = Topic(
    name="logs", event_time="at", fields=FIELDS, each="resourceLogs[].scopeLogs[].logRecords[]"
)
RULED = TOPIC.model_copy(
    update={
        "fields": tuple(
            field.model_copy(update={"pattern": "[a-z]+"}) if field.name == "body" else field
            for field in FIELDS
        )
    }
)
"""An element with another body is malformed."""
DEPLOYED = """
from tests.spark.test_each import RULED, SPEC

SPEC = SPEC.model_copy(update={{"topic": RULED.model_copy(update={{"name": "{topic}"}})}})
"""
HOUR = timedelta(hours=1)
SPEC = Pipeline(
    name="by_service",
    about="Log records by service and hour.",
    topic=TOPIC,
    watermark_delay="30 minutes",
    steps=(
        Transform(where="body <> 'dropped'"),
        Aggregate(
            keys=("service",),
            window=Tumbling(size="1 hour"),
            measures={"n": "count(*)", "nanos": "max(nanos)"},
            counts="n",
        ),
    ),
)
CANONICAL = """
WITH resources AS (SELECT unnest(v->'$.resourceLogs[*]') AS r FROM given),
scopes AS (
    SELECT unnest(r->'$.scopeLogs[*]') AS s,
        list_filter((r->'$.resource.attributes')::JSON[],
            lambda a: a->>'$.key' = 'service.name')[1]->>'$.value.stringValue' AS service
    FROM resources
),
records AS (SELECT service, unnest(s->'$.logRecords[*]') AS e FROM scopes),
fields AS (
    SELECT service, try_cast(e->>'$.timeUnixNano' AS BIGINT) AS nanos,
        e->>'$.body.stringValue' AS body
    FROM records
)
SELECT service, make_timestamp(nanos // 3600000000000 * 3600000000) AS hour, count(*), max(nanos)
FROM fields WHERE nanos IS NOT NULL AND body <> 'dropped' AND regexp_full_match(body, ?)
GROUP BY ALL ORDER BY ALL
"""


def record(minute: float, body: object = "b") -> dict[str, Any]:
    at = round((START + timedelta(minutes=minute)).timestamp()) * 10**9 + 123
    return {"timeUnixNano": str(at), "body": {"stringValue": body}}


def value(*lists: list[dict[str, Any]], service: str = "api") -> dict[str, Any]:
    """A value with a scope of each list."""
    of = {"attributes": [{"key": "x"}, {"key": "service.name", "value": {"stringValue": service}}]}
    scopes = [{"scope": {"name": f"s{n}"}, "logRecords": each} for n, each in enumerate(lists)]
    return {"resourceLogs": [{"resource": of, "scopeLogs": scopes}]}


COUNTED = ("read", "elements", "with_elements", "empty", "refused", "malformed", "filtered", "late",
           "accepted", "unaccounted")  # fmt: skip
BAD = {"timeUnixNano": "soon", "body": {"stringValue": "x"}}


class Logs:
    """A topic of such values."""

    def __init__(
        self, kafka: str, folder: Any, spec: Pipeline = SPEC, format_: str = "json"
    ) -> None:
        kind, self.encode = FORMATS[format_]
        spec = spec.model_copy(update={"topic": spec.topic.model_copy(update={"format": kind})})
        self.made = Scene(kafka, folder, spec, partitions=2, stores=1)
        broker.create_topic(kafka, self.made.topic, 2)
        self.sent, self.said = list[bytes](), list[str]()

    def send(self, *values: object) -> None:
        how = {"message.max.bytes": 20_000_000, "compression.type": "gzip"}  # it repeats itself
        producer = Producer({"bootstrap.servers": self.made.kafka, **how})
        for n, each in enumerate(values):
            raw = each if isinstance(each, bytes) else self.encode(each)
            self.sent.append(raw)
            self.said += [] if isinstance(each, bytes) else [json.dumps(each)]
            producer.produce(self.made.topic, raw, partition=n % 2, timestamp=_millis())
        assert producer.flush(30) == 0

    def canonical(self, body: str = ".*") -> list[tuple[Any, ...]]:
        """What DuckDB makes of all that was sent, of elements with such a body."""
        with duckdb.connect() as base:
            base.execute("CREATE TABLE given AS SELECT unnest(?)::JSON AS v", [self.said])
            return base.execute(CANONICAL, [body]).fetchall()

    def final(self, body: str = ".*") -> list[tuple[Any, ...]]:
        """Of that the windows that drains write no more, of elements with such a body."""
        ends = (START + HOUR * 11).replace(tzinfo=None)  # 700 minutes less the delay
        return sorted((row for row in self.canonical(body) if row[1] + HOUR <= ends), key=str)

    def rows(self) -> list[tuple[Any, ...]]:
        return rows_of(self.made)

    def account(self, run: str) -> dict[str, int]:
        """The sums of a run's batches; every one closes."""
        total = Counter[str]()
        for row in self.made.ops("batches"):
            after = sum(row[n] for n in ("malformed", "premature", "filtered", "late", "accepted"))
            assert row["elements"] + row["empty"] + row["refused"] == after
            assert row["with_elements"] + row["empty"] + row["refused"] == row["read"]
            assert row["unaccounted"] in {0, None}  # None: a kill has lost its progress
            if row["run_id"] == run:
                names = ("read", "elements", "empty", "refused", "malformed", "filtered", "late")
                total.update({name: row[name] for name in names})
        return dict(total)


def rows_of(made: Scene) -> list[tuple[Any, ...]]:
    found = (
        (row["service"], row["window_start"].replace(tzinfo=None), row["n"], row["nanos"])
        for row in made.table()
    )
    return sorted(found, key=str)


def _millis() -> int:
    return round((START + timedelta(days=3)).timestamp() * 1000)


def places(made: Scene, table: str) -> list[tuple[int, int, int | None, bytes | None]]:
    return sorted(
        ((r["partition"], r["offset"], r["element"], r["value"]) for r in made.ops(table)), key=str
    )


def test_elements_are_drained_counted_and_kept_alone(kafka, tmp_path):
    logs = Logs(kafka, tmp_path)
    one = value([record(1), BAD, record(2)], [record(3), record(70, "dropped"), 7], service="a")
    two = value([record(5)], service="b")
    logs.send(one, two, {"resourceLogs": []}, b"nonsense", {"resourceLogs": [{}]}, {"other": 1})
    logs.made.run("first")
    assert logs.account("first") == {
        "read": 6, "elements": 7, "empty": 2, "refused": 2, "malformed": 4, "filtered": 3, "late": 0,
    }  # fmt: skip
    kept = [
        (p, o, e, None if v is None else v[:12]) for p, o, e, v in places(logs.made, "quarantine")
    ]
    assert kept == [
        (0, 0, 1, logs.sent[0][:12]), (0, 0, 5, None), (1, 1, None, b"nonsense"),
        (1, 2, None, logs.sent[5][:12]),
    ]  # fmt: skip
    whole = [r["value"] for r in logs.made.ops("quarantine") if r["element"] == 1]
    assert whole == [logs.sent[0]], "the value is kept once, byte for byte"

    logs.send(value([record(300)]))
    logs.made.run("second")
    logs.send(value([record(4), record(310)], [record(6)], service="late"), value([record(600)]))
    logs.made.run("third")
    assert logs.account("third")["late"] == 2
    assert [(p, o, e, v and v[:9]) for p, o, e, v in places(logs.made, "late")] == [
        (0, 4, 0, logs.sent[7][:9]), (0, 4, 2, None)]  # fmt: skip


MANY = 100_000


def test_the_table_is_what_duckdb_unnests_with_many_elements_in_one_value(kafka, tmp_path):
    """A list of 100,000 in one value among random ones, read in several batches."""
    chance = Random(7)
    logs = Logs(kafka, tmp_path, SPEC.model_copy(update={"max_offsets_per_batch": 12}))

    def records(most: int) -> list[dict[str, Any]]:
        made = [record(chance.uniform(0, 1200), chance.choice("ab")) for _ in range(most)]
        return [BAD if chance.random() < 0.05 else each for each in made]

    values = [
        value(*(records(chance.randint(0, 5)) for _ in range(chance.randint(0, 3))),
              service=chance.choice("xyz"))
        for _ in range(20)
    ]  # fmt: skip
    many = value([record(chance.uniform(0, 1200)) for _ in range(MANY)], service="many")
    logs.made.change(watermark_delay=timedelta(days=2))
    logs.send(*values[:10], many, *values[10:])
    logs.made.run("random")
    logs.made.change(watermark_delay=timedelta(days=2))
    logs.send(value([record(4200)], service="end"))
    logs.made.run("end")
    wanted = [row for row in logs.canonical() if row[0] != "end"]
    assert logs.rows() == sorted(wanted, key=str)
    counted = logs.account("random")
    assert counted["elements"] > MANY
    assert counted["late"] == 0
    assert counted["malformed"] == len(logs.made.ops("quarantine")) > 0


@pytest.fixture(scope="module")
def images(kafka, tmp_path_factory) -> tuple[Logs, Images]:
    """A delivery drained, and a second one with late and bad elements, an image at each place."""
    folder = tmp_path_factory.mktemp("each")
    logs = Logs(kafka, folder, SPEC.model_copy(update={"topic": RULED}))
    logs.send(value([record(1), BAD, record(9, "9")]), value([record(400)]))
    logs.made.run("first")
    taking = Images(logs.made, folder)
    with pytest.MonkeyPatch.context() as active:
        active.setattr(failpoint, "at", taking.at)
        late = value([record(2), BAD, record(410)], [record(3), record(8, "9")])
        logs.send(late, value([record(700)]))
        logs.made.run("second")
    return logs, taking


PLACES = ["table.committed", "audit"]
PLACES += [pytest.param(place, marks=long_form) for place in ("planned", "audited")]


@pytest.mark.parametrize("place", PLACES)
def test_a_killed_run_goes_on_and_no_element_is_lost_or_kept_twice(images, place):
    logs, taking = images
    batch = min(number for at, number in taking.taken if at == place)
    crashed = over(logs.made, taking.taken[place, batch])
    crashed.run("after the crash")
    for table in ("late", "quarantine"):
        assert places(crashed, table) == places(logs.made, table)
        assert len(places(crashed, table)) == (2 if table == "late" else 4)
    assert rows_of(crashed) == rows_of(logs.made)
    sums = [
        {name: sum(row[name] or 0 for row in made.ops("batches")) for name in COUNTED}
        for made in (crashed, logs.made)
    ]
    assert sums[0] == sums[1]
    assert sums[0]["unaccounted"] == 0


@pytest.fixture
def closed(images, tmp_path) -> Logs:
    """A copy, in which drains write none of these rows any more."""
    logs = copy.copy(images[0])
    logs.made = copied(logs.made, tmp_path / "root")
    return logs


def told(logs: Logs) -> dict[tuple[int, ...], str]:
    return {
        at: str(each.became)
        for at, each in fates(logs.made.spec, logs.made.settings, [(0, 0), (0, 1)]).items()
    }


def by_command(made: Scene, *words: str) -> dict[str, str]:
    """What `sluice where` tells."""
    own = made.settings.environment() | {"SLUICE_PIPELINES": os.environ["SLUICE_PIPELINES"]}
    done = sluice_here(own, "where", SPEC.name, *words, "--format", "json")
    rows = map(json.loads, answer(done).splitlines())
    return {row["record"]: row["outcome"] for row in rows}


def test_late_and_bad_elements_are_repaired_and_replayed_alone(closed, tmp_path, monkeypatch):
    logs, made = closed, closed.made
    of_elements = {
        (0, 0, 0): "accepted", (0, 0, 1): "malformed", (0, 0, 2): "malformed",
        (0, 1, 0): "late", (0, 1, 1): "malformed", (0, 1, 2): "accepted", (0, 1, 3): "late",
        (0, 1, 4): "malformed",
    }  # fmt: skip
    assert told(logs) == of_elements
    deployed(tmp_path, monkeypatch, DEPLOYED.format(topic=made.topic), SPEC.name)
    assert by_command(made, "0:0:1,0:1:0") == {"0:0:1": "malformed", "0:1:0": "late"}
    assert by_command(made, "0:0:0") == {"0:0:0": "accepted"}
    done = Repairs(made)
    before = logs.rows()
    report, _ = done.done()
    assert (report.account.read, report.account.kept_aside) == (5, 2)
    assert report.change.merged == 2
    assert logs.rows() == logs.final("[a-z]+")
    merged = {Place.of_row(row): row["fate"] for row in made.ops("merged")}
    assert merged == {Place(0, 1, 0): "merged", Place(0, 1, 3): "merged"}
    assert done.plan().idle, "no element waits for a repair"
    undo(made.spec, made.settings.root, report.repair_id, "undo")
    assert logs.rows() == before
    done.done()

    made.change(topic=made.spec.topic.model_copy(update={"fields": FIELDS}))
    replay, _ = done.done("replay")
    assert (replay.change.replayed, replay.change.unaccounted) == (2, 0)
    assert logs.rows() == logs.final()
    assert done.done("verify", START, START + 5 * HOUR)[0].status == "succeeded"
    assert done.plan("replay").idle, "BAD is bad by every spec"


def test_what_a_stricter_spec_finds_bad_is_kept_with_its_value_and_comes_back(closed):
    logs, made = closed, closed.made
    done = Repairs(made)
    done.done()
    body = next(field for field in FIELDS if field.name == "service")
    strict = body.model_copy(update={"one_of": ("nobody",)})
    fields = tuple(strict if field == body else field for field in RULED.fields)
    named = made.spec.topic.model_copy(update={"fields": fields})
    looser, made.spec = made.spec, made.spec.model_copy(update={"topic": named})
    report = done.stage(plan := done.plan("backfill", START, START + HOUR))
    assert report.change.newly_bad == 3  # of the values at 0:0 one, at 0:1 two
    approve(made.paths, plan.repair_id, "test")
    done.swap(plan)
    assert not [row for row in logs.rows() if row[1] == START.replace(tzinfo=None)]
    kept = [(p, o, e, v) for p, o, e, v in places(made, "quarantine") if v is not None]
    assert {(0, 0, 0, logs.sent[0]), (0, 1, 0, logs.sent[2])} <= {*kept}
    made.spec = looser
    done.done("replay")
    assert logs.rows() == logs.final("[a-z]+")


KILLED = ("planned", "table.committed", "audit", "audited", "checks", "judged")


@pytest.mark.parametrize("format_", FORMATS)
@settings(max_examples=4 if LONG else 1, deadline=None, suppress_health_check=[*HealthCheck])
@given(st.integers(0, 10**6))
def test_random_values_become_what_duckdb_unnests_after_kills_a_repair_and_a_replay(
    kafka, tmp_path_factory, format_, seed
):
    """Of each value some elements are late, some are bad by a rule, and some by any."""
    chance = Random(seed)
    spec = SPEC.model_copy(update={"topic": RULED})
    logs = Logs(kafka, tmp_path_factory.mktemp(format_), spec, format_)

    def records(newest: int) -> list[dict[str, Any]]:
        made = [
            record(chance.uniform(0, newest), chance.choice(["a", "b", "9", "dropped"]))
            for _ in range(chance.randint(0, 5))
        ]
        return [BAD if chance.random() < 0.1 else each for each in made]

    for number, newest in enumerate((120, 400, 700)):
        lists = ([records(newest) for _ in range(chance.randint(0, 3))] for _ in range(6))
        logs.send(*(value(*each, service=chance.choice("xyz")) for each in lists))
        logs.send(value([record(newest)]), value([record(newest)]))
        killed = f"killed-{number}"
        failpoint.ACTIVE[chance.choice(KILLED)] = "raise"
        try:
            with suppress(failpoint.Failure):
                logs.made.drain(killed)
        finally:
            failpoint.ACTIVE.clear()
        logs.made.run(f"run-{number}")
    for run in ("killed-0", "run-0", "run-2"):
        logs.account(run)
    counts = [{**row} for row in logs.made.ops("batches")]
    done = Repairs(logs.made)
    if not done.plan().idle:
        done.done()
    assert logs.rows() == logs.final("[a-z]+")
    logs.made.change(topic=logs.made.spec.topic.model_copy(update={"fields": FIELDS}))
    if not done.plan("replay").idle:
        report, _ = done.done("replay")
        assert report.account.unaccounted == 0
    assert logs.rows() == logs.final()
    assert done.done("verify", START, START + 11 * HOUR)[0].status == "succeeded"
    bad = sum(row["malformed"] for row in counts)
    assert len({each[:3] for each in places(logs.made, "quarantine")}) == bad


@pytest.mark.parametrize("by", [pytest.param("the driver", marks=long_form), "executors"])
def test_rejected_elements_that_were_not_observed_are_read_again(kafka, tmp_path, monkeypatch, by):
    logs = Logs(kafka, tmp_path)
    logs.send(value([record(1), BAD]), value([record(400)]))
    logs.made.run("first")
    monkeypatch.setattr("spark_jobs.decode.raw_filter.BUDGET", 0)
    if by == "executors":
        monkeypatch.setattr("spark_jobs.runs.account.second_read.COLLECTED_BYTES", 0)
    logs.send(value([record(2), BAD, record(410)], [record(3), BAD]), b"x")
    logs.made.run("second")
    assert logs.account("second") == {
        "read": 2, "elements": 5, "empty": 0, "refused": 1, "malformed": 3, "filtered": 0, "late": 2,
    }  # fmt: skip
    raw = logs.sent[2]
    assert places(logs.made, "late") == [(0, 1, 0, raw), (0, 1, 3, None)]
    assert places(logs.made, "quarantine")[1:] == [
        (0, 1, 1, raw), (0, 1, 4, None), (1, 1, None, b"x")]  # fmt: skip
