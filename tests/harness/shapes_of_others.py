"""Topics in the shapes of real systems, as `sluice new` meets them: with copies, late and bad
records, rivals of time and key. Written here from what such systems publish; the values are made.
"""

import gzip
import json
import random
import struct
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from spark_jobs.draft.sample import Sampled
from tests.harness.schemas import by_fastavro, framed

RECORDS: Final = 1_200
COPIES: Final = 0.02
LATE: Final = 0.004
HOURS: Final = 20
PARTITIONS: Final = 2
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


class Sent(NamedTuple):
    """A record before it has a place."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes]] = ()


Make = Callable[[random.Random, int, int], Sent]
"""Of chance, number and event time in milliseconds."""


def sample(make: Make, end: datetime, seed: int = 1, records: int = RECORDS) -> list[Sampled]:
    """The records of HOURS up to then, in two partitions, as a consumer reads them."""
    of = random.Random(seed)
    last = int(end.timestamp() * 1000)
    times = sorted(last - of.randrange(HOURS * 3_600_000) for _ in range(records))
    found, next_ = list[Sampled](), [0] * PARTITIONS

    def put(sent: Sent, at: int) -> None:
        partition = of.randrange(PARTITIONS)
        found.append(
            Sampled(partition, next_[partition], at, sent.key, sent.value, [*sent.headers])
        )
        next_[partition] += 1

    for number, at in enumerate(times):
        late = of.random() < LATE
        sent = make(of, number, at - (of.randrange(4, 30) * 3_600_000 if late else 0))
        arrived = at + of.randrange(5, 900)
        put(sent, arrived)
        if of.random() < COPIES:
            again = arrived + of.randrange(100, 20_000)
            put(stamped(sent, again), again)
    return sorted(found, key=lambda each: (each.partition, each.offset))


def stamped(sent: Sent, at: int) -> Sent:
    """As it is sent again: its producer says when, if it says so at all."""
    if b'"published_at"' not in (sent.value or b""):
        return sent
    return sent._replace(value=by_json(json.loads(sent.value or b"") | {"published_at": iso(at)}))


def iso(at: int, unit: str = "milliseconds") -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec=unit).replace("+00:00", "Z")


def hexed(of: random.Random, bits: int) -> str:
    return f"{of.getrandbits(bits):0{bits // 4}x}"


def uuid4(of: random.Random) -> str:
    return str(uuid.UUID(int=of.getrandbits(128), version=4))


def by_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


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


def wiki(of: random.Random, number: int, at: int) -> Sent:
    """A wiki's recent changes: an edit and its categories are of one request."""
    kind = of.choices(["edit", "new", "log", "categorize"], [70, 8, 7, 15])[0]
    asked = of.getrandbits(120) if number % 9 else number // 18
    uri = f"https://{(lang := of.choice(['de', 'en', 'fr']))}.wiki.example/wiki/Page_{of.randint(1, 900)}"
    value: dict[str, Any] = {
        "$schema": "/mediawiki/recentchange/1.0.0",
        "meta": {
            "uri": uri, "request_id": str(uuid.UUID(int=asked)), "id": uuid4(of), "dt": iso(at), "domain": f"{lang}.wiki.example",
            "stream": "mediawiki.recentchange", "topic": "eqiad.mediawiki.recentchange", "partition": 0, "offset": 5_000_000 + number,
        },
        "id": None if kind == "log" else 1_900_000_000 + number, "type": kind, "namespace": of.choice([0, 0, 0, 1, 4, 14]),
        "title": uri.rpartition("/")[2], "comment": of.choice(["typo", "", "/* Leben */ Beleg"]), "timestamp": at // 1000,
        "user": of.choice(["Ada", "2001:db8::1", "CleanBot"]), "bot": of.random() < 0.3, "server_name": f"{lang}.wiki.example", "wiki": f"{lang}wiki",
    }  # fmt: skip
    if kind in {"edit", "new"}:
        value |= {
            "minor": of.random() < 0.2,
            "length": {"old": None if kind == "new" else 4_000, "new": 4_100},
        }
        value |= {
            "revision": {"old": None if kind == "new" else number, "new": 80_000_000 + number}
        }
    if kind == "log":
        value |= {
            "log_id": number,
            "log_type": "delete",
            "log_params": [] if number % 2 else {"ids": ["7"]},
        }
    return Sent(by_json(value))


def code(of: random.Random, number: int, at: int) -> Sent:
    """A code host's events: a number in text is the id, and a payload of each type's own."""
    kind = of.choice(["PushEvent", "IssuesEvent", "WatchEvent", "CreateEvent"])
    who, repo = of.randint(1, 90), of.randint(1, 40)
    payload: dict[str, Any] = {
        "PushEvent": {"push_id": 9_000_000 + number, "size": 1, "ref": "refs/heads/main", "head": hexed(of, 160),
                      "before": hexed(of, 160), "commits": [{"sha": hexed(of, 160), "author": {"name": "A", "email": "a@b.example"}}]},
        "IssuesEvent": {"action": of.choice(["opened", "closed"]), "issue": {
            "id": 70_000 + number, "number": number % 300, "title": "It fails", "state": "open", "created_at": iso(at - 86_400_000, "seconds"),
            "user": {"login": f"u{who}", "id": who}, "labels": [{"id": 3, "name": "bug"}]}},
        "WatchEvent": {"action": "started"},
        "CreateEvent": {"ref": "v1", "ref_type": "tag", "master_branch": "main", "description": None},
    }[kind]  # fmt: skip
    value = {
        "id": str(42_000_000_000 + number), "type": kind, "actor": {"id": who, "login": f"u{who}", "url": f"https://api.code.example/users/u{who}"},
        "repo": {"id": repo, "name": f"o/r{repo}", "url": f"https://api.code.example/repos/o/r{repo}"},
        "payload": payload, "public": True, "created_at": iso(at, "seconds"),
    }  # fmt: skip
    if number % 3 == 0:
        value |= {"org": {"id": 7, "login": "o"}}
    return Sent(by_json(value), str(repo).encode())


def log(of: random.Random, number: int, at: int) -> Sent:
    """A line of OpenTelemetry, one a record: nanoseconds in text, seen some seconds later."""
    at_ns = at * 1_000_000 + of.randrange(1_000_000)
    severity = of.choice([("INFO", 9), ("WARN", 13), ("ERROR", 17)])
    value = {
        "resource": {"service.name": of.choice(["checkout", "cart"]), "host.name": f"h{of.randint(1, 5)}"},
        "timeUnixNano": str(at_ns), "observedTimeUnixNano": str(at_ns + of.randrange(5_000_000_000)),
        "severityNumber": severity[1], "severityText": severity[0], "traceId": hexed(random.Random(number // 3), 128),
        "spanId": hexed(of, 64), "body": {"stringValue": of.choice(["paid", "timeout after 30 s"])},
        "attributes": [{"key": "http.status_code", "value": {"intValue": str(of.choice([200, 500]))}}],
    }  # fmt: skip
    return Sent(
        by_json(value), value["traceId"].encode(), [("tenant", of.choice([b"blue", b"red"]))]
    )


def logs(of: random.Random, number: int, at: int) -> Sent:
    """A batch of an exporter: one value has many lines."""

    def lines(count: int) -> list[dict[str, Any]]:
        return [
            {"timeUnixNano": str((at + n) * 1_000_000), "severityText": "INFO", "traceId": hexed(of, 128),
             "body": {"stringValue": f"line {n}"}, "attributes": []}
            for n in range(count)
        ]  # fmt: skip

    of_service = [
        {"key": "service.name", "value": {"stringValue": of.choice(["checkout", "cart"])}}
    ]
    scope = {"scope": {"name": "app"}, "logRecords": lines(of.randint(1, 4))}
    return Sent(
        by_json({"resourceLogs": [{"resource": {"attributes": of_service}, "scopeLogs": [scope]}]})
    )


def sensor(of: random.Random, number: int, at: int) -> Sent:
    """Who, when and which firmware are beside the value."""
    value = {
        "t": round(of.gauss(21, 3), 1),
        "rh": of.randint(20, 80),
        "bat_mv": of.randint(2_900, 3_300),
    }
    told = {
        "measured-at": str(at),
        "seq": str(number),
        "firmware": of.choice(["1.4.2", "1.5.0"]),
        "content-type": "application/json",
    }
    return Sent(
        by_json(value),
        f"s-{of.randint(1, 30)}".encode(),
        [(name, text.encode()) for name, text in told.items()],
    )


def payment(of: random.Random, number: int, at: int) -> Sent:
    """A webhook: seconds, cents, and an object that has its own id and time."""
    paid = {
        "id": f"ch_{number // 2:07d}", "object": "charge", "amount": of.randint(100, 90_000), "currency": "eur",
        "created": at // 1000 - (3 if number % 2 else 90), "customer": f"cus_{of.randint(1, 99):04d}", "paid": True, "metadata": {},
        "card": {"brand": "visa", "last4": f"{of.randint(0, 9999):04d}", "exp_month": of.randint(1, 12), "exp_year": 2030},
    }  # fmt: skip
    value = {
        "id": f"evt_{hexed(of, 96)}", "object": "event", "api_version": "2026-02-01", "created": at // 1000, "livemode": True,
        "type": of.choice(["charge.succeeded", "charge.refunded"]), "pending_webhooks": 1,
        "request": {"id": f"req_{hexed(of, 64)}", "idempotency_key": uuid4(of)}, "data": {"object": paid},
    }  # fmt: skip
    return Sent(by_json(value))


def vessels() -> Make:
    """Position reports: no id but the vessel's number and the time; some are heard twice."""
    heard = dict[str, Any]()

    def make(of: random.Random, number: int, at: int) -> Sent:
        new = {
            "mmsi": 211_000_000 + of.randint(1, 60), "lat": round(of.uniform(53, 55), 5), "lon": round(of.uniform(7, 9), 5),
            "sog": round(of.uniform(0, 20), 1), "cog": of.randint(0, 359), "navStatus": of.choice([0, 0, 1, 5]), "reportedAt": iso(at),
        }  # fmt: skip
        again, when = number % 20 == 7, at + of.randrange(200, 9_000)
        value = dict(heard) if again else new | {"receivedAt": iso(when), "station": "helgoland"}
        heard.clear()
        heard.update(new | {"receivedAt": iso(when + of.randrange(900)), "station": "cuxhaven"})
        return Sent(by_json(value), str(value["mmsi"]).encode())

    return make


def shipment(of: random.Random, number: int, at: int) -> Sent:
    """A producer that sends again stamps anew; its times have no zone."""
    value = {
        "event_id": uuid4(of), "shipment": f"S{of.randint(1, 300):05d}", "status": of.choice(["packed", "sent", "delivered"]),
        "happened": f"{datetime.fromtimestamp(at / 1000, UTC) + timedelta(hours=1):%Y-%m-%d %H:%M:%S}", "weight_kg": round(of.uniform(0.1, 30), 3),
        "release": of.choice(["2.1", "2.2"]), "published_at": iso(at + of.randrange(1, 400)),
    }  # fmt: skip
    return Sent(by_json(value))


def access(of: random.Random, number: int, at: int) -> Sent:
    """A web server's line: its own form of a time, and numbers in text."""
    when = datetime.fromtimestamp(at / 1000, UTC) + timedelta(hours=1)
    value = {
        "time_local": f"{when:%d/%b/%Y:%H:%M:%S} +0100", "remote_addr": f"10.0.{of.randint(0, 9)}.{of.randint(1, 250)}",
        "request": f"GET /p/{of.randint(1, 90)} HTTP/1.1", "status": str(of.choice([200, 200, 404, 500])), "body_bytes_sent": str(of.randint(0, 90_000)),
        "request_time": f"{of.expovariate(20):.3f}", "request_id": hexed(of, 128), "http_user_agent": of.choice(["curl/8.5", "-"]),
    }  # fmt: skip
    return Sent(by_json(value))


def cluster(of: random.Random, number: int, at: int) -> Sent:
    """An event of a cluster's scheduler: the same object again with a greater count."""
    which, count = number % 150, number // 150 + 1
    uid = str(uuid.UUID(int=random.Random(which).getrandbits(128), version=4))
    value = {
        "metadata": {"name": f"web-{which}.17f", "namespace": of.choice(["shop", "kube-system"]), "uid": uid,
                     "resourceVersion": str(880_000 + number), "creationTimestamp": iso(1_764_000_000_000 + which * 1000, "seconds")},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": f"web-{which}", "uid": uid[::-1]}, "reason": of.choice(["BackOff", "Pulled"]),
        "message": "Back-off restarting failed container", "source": {"component": "kubelet", "host": f"n{which % 4}"},
        "firstTimestamp": iso(1_764_000_000_000 + which * 1000, "seconds"), "lastTimestamp": iso(at, "seconds"),
        "count": count, "type": of.choice(["Warning", "Normal"]), "eventTime": None, "reportingComponent": "",
    }  # fmt: skip
    return Sent(by_json(value))


TWELVE: Final[Mapping[str, Callable[[], Make]]] = {
    "orders": lambda: order, "clickstream": lambda: click, "shop.public.orders": lambda: changes(wrapped=True),
    "shopflat.public.orders": lambda: changes(wrapped=False), "order-events": lambda: cloud, "orders-avro": lambda: by_avro,
    "orders-proto": lambda: by_protobuf, "orders-csv": lambda: row, "orders-gz": lambda: packed,
    "orders-eu": lambda: lambda of, n, at: order(of, n, at, "eu"), "orders-us": lambda: lambda of, n, at: order(of, n, at, "us"),
    "orders-compacted": lambda: compacted,
}  # fmt: skip
OTHERS: Final[Mapping[str, Callable[[], Make]]] = {
    "wiki.changes": lambda: wiki, "code.events": lambda: code, "otel.log": lambda: log, "otel.logs": lambda: logs,
    "sensors": lambda: sensor, "payments": lambda: payment, "vessels": vessels, "access": lambda: access,
    "cluster.events": lambda: cluster, "shipments": lambda: shipment,
}  # fmt: skip
