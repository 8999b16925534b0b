"""Topics in the shapes of real systems, in fifteen lines each: a drain is what DuckDB reads."""

import base64
import inspect
import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from confluent_kafka import Producer

from local import broker
from spark_jobs.spec import Field, Json, Pipeline, Topic, Transform
from tests.harness.scene import Scene

RECORDS = 300
FIRST_MS = 1_764_064_800_000
Sent = tuple[bytes | None, bytes | None]
"""Key and value."""


Published = tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]
"""Key, value and headers."""


class Shape(NamedTuple):
    """What a topic has, how it is declared, and how DuckDB reads the good ones of its values."""

    records: list[Sent]
    topic: Topic
    sql: str
    """Over `sent`: key and j, the value as JSON. Columns in the topic's order."""
    malformed: int
    published: list[Published] | None = None
    """What is published in place of `records`, which say the same."""


def _some(of: random.Random) -> Iterator[tuple[int, int]]:
    """Number and event time of each record."""
    return ((n, FIRST_MS + n * 1000 + of.randrange(1000)) for n in range(RECORDS))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def clickstream() -> Shape:
    of, records = random.Random(1), list[Sent]()
    for n, at in _some(of):
        user = {"id": f"u{n % 9}", "traits": {"plan": of.choice(["free", "pro", None])}}
        price = round(of.uniform(1, 90), 2)
        value = {
            "eventId": str(n),
            "timestamp": at,
            "user": user,
            "page": {"title": "Überblick"},
            "device": {"screen": {"w": 390}},
            "properties": {"price": price, "tags": ["a", "b"]},
        }
        bad = {"eventId": n} if n % 50 == 7 else {"timestamp": f"{at} ms"} if n % 50 == 8 else {}
        records.append((b"k", _json(value | bad)))
    topic = Topic(
        name="clicks",
        event_time="at",
        fields=(
            Field(name="event_id", type="string", path="eventId"),
            Field(name="at", type="timestamp", path="timestamp", format="ms"),
            Field(name="user_id", type="string", path="user.id"),
            Field(name="plan", type="string", path="user.traits.plan", required=False),
            Field(name="width", type="int", path="device.screen.w"),
            Field(name="price", type="decimal(8,2)", path="properties.price"),
            Field(name="tag", type="string", path="properties.tags[0]"),
            Field(name="page", type="struct<title:string>"),
        ),
    )
    sql = """
        SELECT j->>'$.eventId', make_timestamp((j->'$.timestamp')::bigint * 1000), j->>'$.user.id',
               j->>'$.user.traits.plan', (j->'$.device.screen.w')::int, (j->'$.properties.price')::decimal(8,2),
               j->>'$.properties.tags[0]', {'title': j->>'$.page.title'}
        FROM sent WHERE json_type(j->'$.eventId') = 'VARCHAR' AND json_type(j->'$.timestamp') != 'VARCHAR'
    """
    return Shape(records, topic, sql, 12)


def orders() -> Shape:
    of, records = random.Random(2), list[Sent]()
    for n, at in _some(of):
        when = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
        status = "lost" if n % 100 == 9 else of.choice(["placed", "paid"])
        records.append(
            (
                str(n % 40).encode(),
                _json(
                    {
                        "order_id": f"o{n}",
                        "created_at": when,
                        "status": status,
                        "amount": f"{of.uniform(1, 90):.2f}",
                    }
                ),
            )
        )
        if n % 20 == 3:
            records.append((b"4", None))
    topic = Topic(
        name="orders-compacted",
        event_time="created_at",
        tombstones="dropped",
        fields=(
            Field(name="customer_id", type="bigint", part="key"),
            Field(name="order_id", type="string"),
            Field(name="created_at", type="timestamp"),
            Field(name="status", type="string", one_of=("placed", "paid", "shipped")),
            Field(name="amount", type="decimal(10,2)", format="text", at_least=0),
        ),
    )
    sql = """
        SELECT key::bigint, j->>'$.order_id', (j->>'$.created_at')::timestamptz::timestamp, j->>'$.status', (j->>'$.amount')::decimal(10,2)
        FROM sent WHERE j IS NOT NULL AND (j->>'$.status') != 'lost'
    """
    return Shape(records, topic, sql, 3)


def _change(of: random.Random, n: int, at: int, *, wrapped: bool) -> Sent:
    def row(status: str) -> dict[str, Any]:
        cents = of.randrange(-99_999, 99_999).to_bytes(4, "big", signed=True)
        return {"id": n % 50, "status": status, "amount": base64.b64encode(cents).decode(), "created_at": at * 1000}  # fmt: skip

    op = of.choice("ccud")
    before = None if op == "c" else row("placed")
    after = None if op == "d" else row("paid")
    payload = {"before": before, "after": after, "source": {"ts_ms": at, "table": "orders"}, "op": op, "ts_ms": at + 40}  # fmt: skip
    key = {"id": n % 50}
    if wrapped:
        return _json({"schema": {}, "payload": key}), _json({"schema": {"type": "struct"}, "payload": payload})  # fmt: skip
    return _json(key), _json(payload)


def _debezium(seed: int, *, wrapped: bool) -> Shape:
    of = random.Random(seed)
    records = [_change(of, n, at, wrapped=wrapped) for n, at in _some(of)]
    topic = Topic(
        name="shop.public.orders",
        event_time="changed_at",
        envelope="debezium",
        key=Json(),
        fields=(
            Field(name="id", type="int"),
            Field(name="key_id", type="int", part="key", path=("payload.id", "id")),
            Field(name="status", type="string"),
            Field(name="amount", type="decimal(10,2)", format="base64", required=False),
            Field(name="created_at", type="timestamp", format="us"),
            Field(name="op", type="string", part="envelope", one_of=("c", "u", "d", "r")),
            Field(name="changed_at", type="timestamp", part="envelope", path="source.ts_ms", format="ms"),
        ),
    )  # fmt: skip
    p = "j->'$.payload'" if wrapped else "j"
    row = f"(CASE WHEN ({p}->>'$.op') = 'd' THEN ({p}->'$.before') ELSE ({p}->'$.after') END)"
    raw = f"('0x' || hex(from_base64(({row}->>'$.amount'))))::bigint"
    sql = f"""
        SELECT ({row}->'$.id')::int, ({row}->'$.id')::int, {row}->>'$.status',
               ((CASE WHEN {raw} >= 2147483648 THEN {raw} - 4294967296 ELSE {raw} END)::decimal(18,0) / 100)::decimal(10,2),
               make_timestamp(({row}->'$.created_at')::bigint), {p}->>'$.op',
               make_timestamp(({p}->'$.source.ts_ms')::bigint * 1000)
        FROM sent
    """
    return Shape(records, topic, sql, 0)


def debezium_with_schema() -> Shape:
    return _debezium(3, wrapped=True)


def debezium_without() -> Shape:
    return _debezium(4, wrapped=False)


def cloudevents() -> Shape:
    of, records, published = random.Random(5), list[Sent](), list[Published]()
    for n, at in _some(of):
        when = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
        event = {"specversion": "1.0" if n % 100 else "0.3", "id": str(uuid.UUID(int=n)), "type": "order.created",
                 "time": when, "data": {"orderId": n, "total": round(of.uniform(1, 90), 2)}}  # fmt: skip
        records.append((None, _json(event)))
        headers = [
            (f"ce_{name}", str(of_it).encode()) for name, of_it in event.items() if name != "data"
        ]
        structured = [("content-type", b"application/cloudevents+json")]
        published.append(
            (None, _json(event["data"]), headers)
            if n % 2
            else (None, _json(event), structured if n % 3 else [])
        )
    topic = Topic(
        name="order-events",
        event_time="time",
        envelope="cloudevents",
        fields=(
            Field(name="id", type="string", part="envelope"),
            Field(name="time", type="timestamp", part="envelope"),
            Field(name="type", type="string", part="envelope"),
            Field(name="order_id", type="bigint", path="orderId"),
            Field(name="total", type="double"),
        ),
    )
    sql = """
        SELECT j->>'$.id', (j->>'$.time')::timestamptz::timestamp, j->>'$.type', (j->'$.data.orderId')::bigint, (j->'$.data.total')::double
        FROM sent WHERE (j->>'$.specversion') = '1.0'
    """
    return Shape(records, topic, sql, 3, published)


def kafkas_time() -> Shape:
    records = [(b"a", _json({"n": n})) for n, _ in _some(random.Random(6))]
    topic = Topic(
        name="pings",
        event_time="sent_at",
        fields=(
            Field(name="n", type="int"),
            Field(name="sent_at", type="timestamp", part="timestamp"),
            Field(name="key", type="string", part="key"),
            Field(name="topic", type="string", part="topic"),
        ),
    )
    sql = f"""
        SELECT (j->'$.n')::int, make_timestamp({FIRST_MS}000 + (j->'$.n')::bigint * 1000000), key, 'TOPIC' FROM sent
    """
    return Shape(records, topic, sql, 0)


SHAPES = [clickstream, orders, debezium_with_schema, debezium_without, cloudevents, kafkas_time]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_topic_as_it_is_gives_what_duckdb_reads_of_its_values(kafka, tmp_path, shape):
    made: Shape = shape()
    pipeline = Pipeline(
        name="as_it_is", about="All of it.", topic=made.topic, steps=(Transform(where="true"),)
    )
    scene = Scene(kafka, tmp_path, pipeline, partitions=2)
    broker.create_topic(kafka, scene.topic, 2)
    producer = Producer({"bootstrap.servers": kafka})
    for n, (key, value, headers) in enumerate(
        made.published or ((*each, []) for each in made.records)
    ):
        producer.produce(scene.topic, value, key, headers=headers, timestamp=FIRST_MS + n * 1000)
    assert producer.flush(30) == 0
    account = scene.run().account
    names = [field.name for field in made.topic.fields]
    found = [tuple(_plain(row[name]) for name in names) for row in scene.table()]
    wanted = _read(made.records, made.sql.replace("TOPIC", scene.topic))
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    dropped = sum(value is None for _, value in made.records)
    assert (account.malformed, account.filtered) == (made.malformed, dropped)
    assert account.read == len(made.records) == len(found) + made.malformed + dropped
    assert len({row["reason"] for row in scene.ops("quarantine")}) <= 2


@pytest.mark.parametrize("shape", [clickstream, orders, _debezium, cloudevents, kafkas_time])
def test_its_declaration_has_at_most_fifteen_lines(shape):
    lines = inspect.getsource(shape).split("    topic = Topic(\n")[1].split("\n    )")[0]
    assert len(lines.splitlines()) + 2 <= 15


def _read(records: list[Sent], sql: str) -> list[tuple[Any, ...]]:
    values = {
        "key": [key and key.decode() for key, _ in records],
        "text": [value and value.decode() for _, value in records],
    }
    sent = pa.table(values, schema=pa.schema([("key", pa.string()), ("text", pa.string())]))
    with duckdb.connect() as db:
        db.sql("SET timezone = 'UTC'")
        db.register("given", sent)
        db.sql("CREATE VIEW sent AS SELECT key, text::json AS j FROM given")
        return [tuple(map(_plain, row)) for row in db.sql(sql).fetchall()]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - timedelta(0)).astimezone(UTC).replace(tzinfo=None)
    return value
