"""Records beside the generator's: at the watermark and at the ends of windows, to the second."""

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

from local.deliveries import Delivered
from local.flights import FlightEvent
from local.publish import publish
from tests.harness.scene import Scene

WINDOW = timedelta(hours=3)
"""All windows of the forms end where these do, or more often."""
OWN = 900
"""Deliveries from that number on are these."""
SECOND = timedelta(seconds=1)


def settle(made: Scene, delay: timedelta) -> datetime:
    """One record, newer than all, that brings the watermark to a window's end; where that is."""
    newest = max(
        row["event_time"] for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"}
    )
    since = newest.astimezone(UTC) - delay - datetime(1970, 1, 1, tzinfo=UTC)
    watermark = datetime(1970, 1, 1, tzinfo=UTC) + (since // WINDOW + 1) * WINDOW
    send(made, OWN, [watermark + delay], copies=1)
    return watermark


def around(made: Scene, watermark: datetime) -> None:
    """Records at the watermark, and in windows that end there, begin there or lie beside it."""
    sizes = [timedelta(), *(timedelta(minutes=minutes) for minutes in (20, 60, 180))]
    times = {
        watermark + sign * size + beside * SECOND
        for size in sizes
        for sign in (-1, 1)
        for beside in (-1, 0, 1)
    }
    send(made, OWN + 1, sorted(times), copies=3)


def send(made: Scene, delivery: int, times: Iterable[datetime], copies: int) -> None:
    """For each time as many departures of different aircraft, in the ledger as good ones."""
    models = _models(made)[:copies]
    records = []
    for number, at in enumerate(times):
        for model in models:
            event = replace(
                model,
                event_id=f"{model.event_id}-{delivery}-{number}",
                event_time=at,
                scheduled_time=at,
            )
            value = event.to_json().encode()
            records.append(
                Delivered(
                    at + timedelta(minutes=1),
                    event.tail_number.encode(),
                    value,
                    "good",
                    "",
                    False,
                    event,
                )
            )
    publish(made.kafka, made.topic, records, delivery, made.ledger_folder, made.partitions)


def _models(made: Scene) -> list[FlightEvent]:
    """Departures that no Transform leaves out, of one aircraft each."""
    names = [field.name for field in fields(FlightEvent)]
    found = {
        row["tail_number"]: FlightEvent(**{name: row[name] for name in names})
        for row in made.ledger.to_pylist()
        if row["kind"] == "good"
        and row["event_type"] == "departure"
        and row["tail_number"]
        and not row["cancelled"]
        and row["delay_minutes"] is not None
    }
    return [found[tail] for tail in sorted(found)]
