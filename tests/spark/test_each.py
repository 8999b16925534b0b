"""Values with many records over real Kafka, Spark and Delta: the table is what DuckDB's `unnest` makes
of the topic, the account counts values and elements, one bad element is malformed alone.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pytest
from confluent_kafka import Producer

from local import broker
from spark_jobs.spec import Aggregate, Field, Pipeline, Topic, Transform, Tumbling
from spark_jobs.storage import failpoint
from tests.harness.crash import Images, over
from tests.harness.long_form import long_form
from tests.harness.scene import Scene
from tests.harness.turns import alike

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
FROM fields WHERE nanos IS NOT NULL AND body <> 'dropped'
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

    def __init__(self, kafka: str, folder: Any, spec: Pipeline = SPEC) -> None:
        self.made = Scene(kafka, folder, spec, partitions=2, stores=1)
        broker.create_topic(kafka, self.made.topic, 2)
        self.sent = list[bytes]()

    def send(self, *values: object) -> None:
        how = {"message.max.bytes": 20_000_000, "compression.type": "gzip"}  # it repeats itself
        producer = Producer({"bootstrap.servers": self.made.kafka, **how})
        for n, each in enumerate(values):
            raw = each if isinstance(each, bytes) else json.dumps(each).encode()
            self.sent.append(raw)
            producer.produce(self.made.topic, raw, partition=n % 2, timestamp=_millis())
        assert producer.flush(30) == 0

    def canonical(self) -> list[tuple[Any, ...]]:
        """What DuckDB makes of all that was sent."""
        good = [each.decode() for each in self.sent if _is_object(each)]
        with duckdb.connect() as base:
            base.execute("CREATE TABLE given AS SELECT unnest(?)::JSON AS v", [good])
            return base.execute(CANONICAL).fetchall()

    def rows(self) -> list[tuple[Any, ...]]:
        return rows_of(self.made)

    def account(self, run: str) -> dict[str, int]:
        """The sums of a run's batches; every one closes."""
        total = Counter[str]()
        for row in self.made.ops("batches"):
            after = sum(row[n] for n in ("malformed", "premature", "filtered", "late", "accepted"))
            assert row["elements"] + row["empty"] + row["refused"] == after
            assert row["with_elements"] + row["empty"] + row["refused"] == row["read"]
            assert row["unaccounted"] == 0
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


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except ValueError:
        return False


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
    logs = Logs(kafka, folder)
    logs.send(value([record(1), BAD]), value([record(400)]))
    logs.made.run("first")
    taking = Images(logs.made, folder)
    with pytest.MonkeyPatch.context() as active:
        active.setattr(failpoint, "at", taking.at)
        logs.send(value([record(2), BAD, record(410)], [record(3), BAD]), value([record(700)]))
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
        assert len(places(crashed, table)) == (2 if table == "late" else 3)
    assert rows_of(crashed) == rows_of(logs.made)
    sums = [
        {name: sum(row[name] or 0 for row in made.ops("batches")) for name in COUNTED}
        for made in (crashed, logs.made)
    ]
    assert sums[0] == sums[1]
    assert sums[0]["unaccounted"] == 0


@pytest.mark.parametrize("by", [pytest.param("the driver", marks=long_form), "executors"])
def test_rejected_elements_that_were_not_observed_are_read_again(kafka, tmp_path, monkeypatch, by):
    logs = Logs(kafka, tmp_path)
    logs.send(value([record(1), BAD]), value([record(400)]))
    logs.made.run("first")
    monkeypatch.setattr("spark_jobs.decode.raw_filter.BUDGET", 0)
    if by == "executors":
        monkeypatch.setattr("spark_jobs.audit.second_read.COLLECTED_BYTES", 0)
    logs.send(value([record(2), BAD, record(410)], [record(3), BAD]), b"x")
    logs.made.run("second")
    assert logs.account("second") == {
        "read": 2, "elements": 5, "empty": 0, "refused": 1, "malformed": 3, "filtered": 0, "late": 2,
    }  # fmt: skip
    raw = logs.sent[2]
    assert places(logs.made, "late") == [(0, 1, 0, raw), (0, 1, 3, None)]
    assert places(logs.made, "quarantine")[1:] == [
        (0, 1, 1, raw), (0, 1, 4, None), (1, 1, None, b"x")]  # fmt: skip
