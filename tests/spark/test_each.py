"""Values with many records over real Kafka, Spark and Delta: the table is what DuckDB's `unnest` makes
of the topic, the account counts values and elements, one bad element is malformed alone.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
from confluent_kafka import Producer

from local import broker
from spark_jobs.spec import Aggregate, Field, Pipeline, Topic, Transform, Tumbling
from tests.harness.scene import Scene

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
scopes AS (SELECT r, unnest(r->'$.scopeLogs[*]') AS s FROM resources),
records AS (SELECT r, s, unnest(s->'$.logRecords[*]') AS e FROM scopes),
fields AS (
    SELECT try_cast(e->>'$.timeUnixNano' AS BIGINT) AS nanos, e->>'$.body.stringValue' AS body,
        list_filter((r->'$.resource.attributes')::JSON[],
            lambda a: a->>'$.key' = 'service.name')[1]->>'$.value.stringValue' AS service
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


BAD = {"timeUnixNano": "soon", "body": {"stringValue": "x"}}


class Logs:
    """A topic of such values."""

    def __init__(self, kafka: str, folder: Any, spec: Pipeline = SPEC) -> None:
        self.made = Scene(kafka, folder, spec, partitions=2, stores=1)
        broker.create_topic(kafka, self.made.topic, 2)
        self.sent = list[bytes]()

    def send(self, *values: object) -> None:
        producer = Producer({"bootstrap.servers": self.made.kafka})
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
        return sorted(
            ((r["service"], r["window_start"].replace(tzinfo=None), r["n"], r["nanos"])
             for r in self.made.table()), key=str)  # fmt: skip

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
