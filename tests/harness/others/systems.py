"""Other systems' topics: a wiki, a code host, OpenTelemetry, sensors, payments, vessels, a web server,
a cluster, a carrier.
"""

import random
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.harness.others.sample import Make, Sent, by_json, hexed, iso, uuid4


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


OTHERS: Final[Mapping[str, Callable[[], Make]]] = {
    "wiki.changes": lambda: wiki, "code.events": lambda: code, "otel.log": lambda: log, "otel.logs": lambda: logs,
    "sensors": lambda: sensor, "payments": lambda: payment, "vessels": vessels, "access": lambda: access,
    "cluster.events": lambda: cluster, "shipments": lambda: shipment,
}  # fmt: skip
