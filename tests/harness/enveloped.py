"""Flights as other producers have them in JSON: nested, with keys in camelCase and epoch times; as
Debezium's changes; as CloudEvents.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from spark_jobs.spec import Topic
from spark_jobs.topics.flights import FLIGHTS

Fields = Mapping[str, Any]
"""Of a flat object, by their names; some may be missing, or of another type."""
Wrap = Callable[[Fields, int], dict[str, Any]]
"""Fields and the number of their delivery to a value."""
NESTED: Final = {
    "event_id": "eventId",
    "event_type": "eventType",
    "event_time": "@timestamp",
    "scheduled_time": "plan.departsAt",
    "carrier": "plan.carrier.iataCode",
    "flight": "plan.flightNumber",
    "tail_number": "aircraft.tailNumber",
    "origin": "route[0]",
    "destination": "route[1]",
    "delay_minutes": "status.delayMinutes",
    "cancelled": "status.isCancelled",
    "distance_miles": 'status."distance.miles"',
}
ATTRIBUTES: Final = {"event_id": "id", "event_type": "type", "event_time": "time"}
"""Of a CloudEvent."""
TIMES: Final = ("event_time", "scheduled_time")


def _epochs(fields: Fields, of_second: int) -> dict[str, Any]:
    def epoch(at: Any) -> Any:
        return round(datetime.fromisoformat(at).timestamp()) * of_second if at else at

    return {**fields} | {name: epoch(fields[name]) for name in TIMES if name in fields}


def nested(fields: Fields, _: int) -> dict[str, Any]:
    found = _epochs(fields, 1_000)

    def some(**of: str) -> dict[str, Any]:
        return {key: found[name] for key, name in of.items() if name in found}

    return {
        **some(**{"eventId": "event_id", "eventType": "event_type", "@timestamp": "event_time"}),
        "plan": {
            **some(departsAt="scheduled_time", flightNumber="flight"),
            "carrier": some(iataCode="carrier"),
        },
        "aircraft": some(tailNumber="tail_number") if found.get("tail_number") else None,
        "route": [found.get("origin"), found.get("destination")],
        "status": some(delayMinutes="delay_minutes", isCancelled="cancelled")
        | some(**{"distance.miles": "distance_miles"}),
        "unread": {"events": [{"id": 1}, {"id": 2}]},
    }


def debezium(fields: Fields, delivery: int) -> dict[str, Any]:
    """A cancelled flight is a delete. The second delivery is without Connect's schema."""
    row, gone = _epochs(fields, 1_000_000), bool(fields.get("cancelled"))
    payload = {
        "before": row if gone else None,
        "after": None if gone else row,
        "source": {"connector": "postgresql", "table": "flights", "lsn": 24_023_128},
        "op": "d" if gone else "c",
        "ts_ms": 1_764_064_800_000,
    }
    return payload if delivery else {"schema": {"type": "struct"}, "payload": payload}


def cloudevent(fields: Fields, _: int) -> dict[str, Any]:
    around = {ATTRIBUTES.get(name, name): value for name, value in fields.items()}
    data = {name: around.pop(name) for name in fields if name not in ATTRIBUTES}
    return {"specversion": "1.0", "source": "/flights", **around, "data": data}


def _declared(changes: Mapping[str, dict[str, Any]], **more: Any) -> Topic:
    fields = tuple(each.model_copy(update=changes.get(each.name, {})) for each in FLIGHTS.fields)
    return FLIGHTS.model_copy(update={"fields": fields, **more})


_IN_MS = {name: {"path": path} for name, path in NESTED.items()}
for _name in TIMES:
    _IN_MS[_name]["format"] = "ms"

SHAPES: Final[dict[str, tuple[Topic, Wrap]]] = {
    "nested": (_declared(_IN_MS), nested),
    "debezium": (_declared({name: {"format": "us"} for name in TIMES}, envelope="debezium"), debezium),
    "cloudevents": (_declared({name: {"path": key, "part": "envelope"} for name, key in ATTRIBUTES.items()}, envelope="cloudevents"), cloudevent),
}  # fmt: skip
"""Name -> how it is declared, and what makes it."""
