"""A shop's topics: orders in all formats and envelopes, and what its visitors click."""

import gzip
import random
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from tests.harness.others.sample import Make, Sent, by_json, hexed, iso, uuid4
from tests.harness.schemas import by_fastavro, framed

AVRO_ID, PROTOBUF_ID = 7, 9
AVRO: Final = {
    "type": "record", "name": "Order", "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "created_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "country", "type": "string"}, {"name": "amount", "type": "double"},
    ],
}  # fmt: skip
PROTO: Final = """syntax = "proto3";
message Order { string order_id = 1; int64 created_at_ms = 2; string country = 3; double amount = 4; }
"""
COUNTRIES: Final = ("DE", "FR", "US", "NL", "JP")


def order(of: random.Random, number: int, at: int, region: str = "") -> Sent:
    value = {
        "order_id": f"o-{region}{number:06d}", "created_at": iso(at), "status": of.choice(["placed", "paid", "shipped"]),
        "customer_id": of.randint(1, 400), "country": of.choice(COUNTRIES), "amount": round(of.lognormvariate(3, 1), 2),
        "items": of.randint(1, 9), "coupon": of.choice([None, None, "BF26"]),
    }  # fmt: skip
    text = by_json(value)
    if of.random() < 0.003:
        text = text[:-7]
    elif of.random() < 0.002:
        text = by_json(value | {"amount": str(value["amount"])})
    return Sent(text, str(value["customer_id"]).encode())


def click(of: random.Random, number: int, at: int) -> Sent:
    user = {
        "id": f"u{of.randint(1, 300)}",
        "anonymousId": uuid4(of),
        "traits": {"plan": of.choice(["free", "pro"])},
    }
    value = {
        "eventId": uuid4(of), "eventType": of.choice(["pageView", "addToCart", "click", "purchase"]), "timestamp": at,
        "user": user, "page": {"url": f"https://shop.example/p/{of.randint(1, 90)}", "referrer": None, "title": "Überblick"},
        "device": {"type": of.choice(["mobile", "desktop"]), "os": "iOS", "screen": {"w": 390, "h": 844}},
        "properties": {"price": round(of.uniform(1, 90), 2), "tags": ["a", "b"]},
    }  # fmt: skip
    return Sent(by_json(value), user["id"].encode())


_ROW: Final = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "status"},
    {"type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal", "version": 1,
     "parameters": {"scale": "2", "connect.decimal.precision": "10"}, "field": "amount"},
    {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "created_at"},
]  # fmt: skip
_CHANGE: Final = {
    "type": "struct", "optional": False, "name": "shop.public.orders.Envelope", "fields": [
        *({"type": "struct", "fields": _ROW, "optional": True, "field": each} for each in ("before", "after")),
        {"type": "string", "optional": False, "field": "op"}, {"type": "int64", "optional": True, "field": "ts_ms"},
    ],
}  # fmt: skip


def changes(wrapped: bool) -> Make:
    """Of a table, by Debezium; each call begins anew."""
    rows = dict[int, dict[str, Any]]()

    def make(of: random.Random, number: int, at: int) -> Sent:
        id_ = of.randint(1, 200)
        old = rows.get(id_)
        status = "placed" if old is None else of.choice(["paid", "shipped"])
        amount = b64encode(of.randint(100, 99_999).to_bytes(4, "big")).decode()
        new = {"id": id_, "status": status, "amount": amount, "created_at": at * 1000}
        op, after = ("c", new) if old is None else ("d", None) if of.random() < 0.1 else ("u", new)
        rows.pop(id_, None)
        rows.update({id_: new} if after else {})
        source = {
            "version": "3.0.5.Final", "connector": "postgresql", "name": "shop", "ts_ms": at, "db": "shop",
            "snapshot": "false", "schema": "public", "table": "orders", "txId": 500 + number, "lsn": 24_023_128 + number,
        }  # fmt: skip
        change = {
            "before": old,
            "after": after,
            "source": source,
            "transaction": None,
            "op": op,
            "ts_ms": at + 40,
        }
        key: Any = {"id": id_}
        if wrapped:
            change = {"schema": _CHANGE, "payload": change}
            key = {"schema": {"type": "struct", "fields": _ROW[:1]}, "payload": key}
        return Sent(by_json(change), by_json(key))

    return make


def cloud(of: random.Random, number: int, at: int) -> Sent:
    value = {
        "specversion": "1.0", "id": uuid4(of), "source": "/shop/checkout", "type": of.choice(["order.created", "order.paid"]),
        "subject": f"order/{number}", "time": iso(at), "datacontenttype": "application/json",
        "dataschema": "https://schemas.example/order/1", "traceparent": f"00-{hexed(of, 128)}-{hexed(of, 64)}-01",
        "data": {"orderId": number, "total": round(of.uniform(1, 90), 2), "currency": "EUR"},
    }  # fmt: skip
    return Sent(
        by_json(value), None, [("content-type", b"application/cloudevents+json; charset=UTF-8")]
    )


def by_avro(of: random.Random, number: int, at: int) -> Sent:
    value = {
        "order_id": f"o-{number:06d}", "created_at": datetime.fromtimestamp(at / 1000, UTC),
        "country": of.choice(COUNTRIES), "amount": round(of.uniform(1, 90), 2),
    }  # fmt: skip
    return Sent(framed(AVRO_ID, by_fastavro(AVRO, value)))


def by_protobuf(of: random.Random, number: int, at: int) -> Sent:
    """Written by hand: each field's tag, and its content."""
    id_, country = f"o-{number:06d}".encode(), of.choice(COUNTRIES).encode()
    amount = round(of.uniform(1, 90), 2)
    content = b"\x0a" + varint(len(id_)) + id_ + b"\x10" + varint(at)
    content += b"\x1a" + varint(len(country)) + country + b"\x21" + doubled(amount)
    return Sent(framed(PROTOBUF_ID, b"\0" + content))


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def doubled(number: float) -> bytes:
    return struct.pack("<d", number)


def row(of: random.Random, number: int, at: int) -> Sent:
    return Sent(
        f'o-{number:06d},{iso(at)},{of.choice(COUNTRIES)},{of.uniform(1, 90):.2f},"Doe, Jane"'.encode()
    )


def packed(of: random.Random, number: int, at: int) -> Sent:
    value, key, _ = order(of, number, at)
    return Sent(gzip.compress(value or b""), key)


def compacted(of: random.Random, number: int, at: int) -> Sent:
    value, key, _ = order(of, number, at)
    return Sent(None if of.random() < 0.05 else value, key)


TWELVE: Final[Mapping[str, Callable[[], Make]]] = {
    "orders": lambda: order, "clickstream": lambda: click, "shop.public.orders": lambda: changes(wrapped=True),
    "shopflat.public.orders": lambda: changes(wrapped=False), "order-events": lambda: cloud, "orders-avro": lambda: by_avro,
    "orders-proto": lambda: by_protobuf, "orders-csv": lambda: row, "orders-gz": lambda: packed,
    "orders-eu": lambda: lambda of, n, at: order(of, n, at, "eu"), "orders-us": lambda: lambda of, n, at: order(of, n, at, "us"),
    "orders-compacted": lambda: compacted,
}  # fmt: skip
