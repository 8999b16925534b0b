"""Records of well-known systems, each from a declaration of at most fifteen lines."""

import inspect
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from spark_jobs.spec import Csv, Field, Local, Topic
from tests.unit.decoding import Decoding

AT = datetime(2026, 11, 25, 10, 0, 0, 123000, UTC)
MS = 1_795_600_800_123


class Shape(NamedTuple):
    topic: Topic
    value: Any
    """Of JSON, or the bytes."""
    row: tuple[Any, ...]


def segment() -> Shape:
    """A track event, with an array of objects."""
    topic = Topic(
        name="track",
        event_time="at",
        fields=(
            Field(name="message_id", type="string", path="messageId"),
            Field(name="at", type="timestamp", path="originalTimestamp"),
            Field(name="user_id", type="string", path=("userId", "anonymousId")),
            Field(name="library", type="string", path='context.library."name"'),
            Field(name="products", type="array<struct<sku:string,price:double>>", path="properties.products"),
            Field(name="integrations", type="string", format="json", required=False),
        ),
    )  # fmt: skip
    value = {
        "messageId": "m1", "type": "track", "userId": None, "anonymousId": "a1", "event": "Order Completed",
        "originalTimestamp": "2026-11-25T10:00:00.123Z", "context": {"library": {"name": "analytics.js"}, "ip": "::1"},
        "properties": {"products": [{"sku": "x", "price": 9.5, "brand": "b"}, {"sku": "y", "price": 1}]},
        "integrations": {"All": True},
    }  # fmt: skip
    products = [{"sku": "x", "price": 9.5}, {"sku": "y", "price": 1.0}]
    return Shape(topic, value, ("m1", AT, "a1", "analytics.js", products, '{"All":true}'))


def mongodb() -> Shape:
    """A document in extended JSON, canonical or relaxed."""
    topic = Topic(
        name="orders",
        event_time="at",
        fields=(
            Field(name="id", type="string", path='_id."$oid"'),
            Field(name="at", type="timestamp", path='createdAt."$date"."$numberLong"', format="ms"),
            Field(name="qty", type="bigint", path='qty."$numberLong"', format="text"),
            Field(name="price", type="decimal(8,2)", path='price."$numberDecimal"', format="text"),
        ),
    )
    value = {"_id": {"$oid": "65"}, "createdAt": {"$date": {"$numberLong": str(MS)}}, "qty": {"$numberLong": "7"}, "price": {"$numberDecimal": "12.5"}}  # fmt: skip
    return Shape(topic, value, ("65", AT, 7, Decimal("12.50")))


def dms() -> Shape:
    """A change by AWS DMS."""
    topic = Topic(
        name="dms",
        event_time="at",
        fields=(
            Field(name="id", type="int", path="data.id"),
            Field(name="status", type="string", path="data.status"),
            Field(name="at", type="timestamp", path="metadata.timestamp"),
            Field(name="op", type="string", path="metadata.operation", one_of=("load", "insert", "update", "delete")),
            Field(name="changed", type="string", path='metadata."table-name"'),
        ),
    )  # fmt: skip
    metadata = {"timestamp": "2026-11-25T10:00:00.123000Z", "record-type": "data", "operation": "update", "table-name": "orders"}  # fmt: skip
    value = {"data": {"id": 7, "status": "paid"}, "metadata": metadata}
    return Shape(topic, value, (7, "paid", AT, "update", "orders"))


def maxwell() -> Shape:
    """A change by Maxwell, with its time in seconds."""
    topic = Topic(
        name="maxwell",
        event_time="ts",
        fields=(
            Field(name="id", type="int", path="data.id"),
            Field(name="was", type="string", path="old.status", required=False),
            Field(name="status", type="string", path="data.status"),
            Field(name="ts", type="timestamp", format="s"),
            Field(name="op", type="string", path="type"),
        ),
    )
    value = {"database": "shop", "table": "orders", "type": "update", "ts": MS // 1000, "xid": 1, "commit": True, "data": {"id": 7, "status": "paid"}, "old": {"status": "placed"}}  # fmt: skip
    return Shape(topic, value, (7, "placed", "paid", AT.replace(microsecond=0), "update"))


def otlp() -> Shape:
    """A log of OpenTelemetry's JSON, one a record."""
    base = "resourceLogs[0].scopeLogs[0].logRecords[0]"
    topic = Topic(
        name="otlp",
        event_time="at",
        fields=(
            Field(name="at", type="timestamp", path=f"{base}.timeUnixNano", format="ns"),
            Field(name="severity", type="string", path=f"{base}.severityText"),
            Field(name="body", type="string", path=f"{base}.body.stringValue"),
            Field(name="attributes", type="string", path=f"{base}.attributes", format="json"),
        ),
    )
    record = {"timeUnixNano": f"{MS}000000", "severityText": "ERROR", "body": {"stringValue": "no"}, "attributes": [{"key": "k"}]}  # fmt: skip
    value = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    return Shape(topic, value, (AT, "ERROR", "no", '[{"key":"k"}]'))


def snowplow() -> Shape:
    """An enriched event: cells between tabs, some of which are JSON."""
    topic = Topic(
        name="enriched",
        event_time="at",
        format=Csv(columns=("app_id", "at", "event", "contexts"), delimiter="\t", quote=None),
        fields=(
            Field(name="app_id", type="string"),
            Field(name="at", type="timestamp", format=Local(pattern="%Y-%m-%d %H:%M:%S.%f", zone="UTC")),
            Field(name="event", type="string", one_of=("page_view", "struct", "unstruct")),
            Field(name="contexts", type="string", required=False),
        ),
    )  # fmt: skip
    value = b'shop\t2026-11-25 10:00:00.123\tpage_view\t{"data":[{"a":"b"}]}'
    return Shape(topic, value, ("shop", AT, "page_view", '{"data":[{"a":"b"}]}'))


SHAPES = [segment, mongodb, dms, maxwell, otlp, snowplow]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_record_is_read_as_it_is(shape):
    topic, value, row = shape()
    given = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    assert Decoding(topic).row(given) == (row, None)


@pytest.mark.parametrize("shape", SHAPES)
def test_its_declaration_has_at_most_fifteen_lines(shape):
    source = inspect.getsource(shape)
    lines = source.split("    topic = Topic(\n")[1].split("\n    )")[0].splitlines()
    assert len(lines) + 2 <= 15
