"""The mess: every fault is what its name says, and no good event is lost to it."""

import json
from collections import Counter
from datetime import date, timedelta
from itertools import islice

import pytest

from local.deliveries import MALFORMATIONS, Delivered, Mess, deliver, split
from local.flights import FlightEvent, flight_events

MESSY = Mess(duplicate_share=0.1, late_share=0.05, malformed_share=0.05, premature_share=0.05)


@pytest.fixture(scope="module")
def events() -> list[FlightEvent]:
    return list(islice(flight_events(date(2013, 1, 1), 1), 4000))


@pytest.fixture(scope="module")
def records(events) -> list[Delivered]:
    return deliver(events, MESSY, seed=7)


def of(records: list[Delivered], kind: str) -> list[Delivered]:
    return [record for record in records if record.kind == kind]


def test_a_seed_gives_the_same_records_again(events, records):
    assert deliver(events, MESSY, seed=7) == records


def test_every_good_event_is_delivered_once_and_unchanged(events, records):
    good = of(records, "good")
    assert Counter(record.event for record in good) == Counter(events)
    for record in good:
        assert record.value == record.event.to_json().encode()
        assert record.key == (record.event.tail_number or record.event.event_id).encode()


def test_a_duplicate_is_a_good_record_again_within_45_minutes(records):
    firsts = {record.value: record for record in of(records, "good")}
    duplicates = of(records, "duplicate")
    for again in duplicates:
        first = firsts[again.value]
        assert (again.key, again.event, again.delayed) == (first.key, first.event, first.delayed)
        assert (
            timedelta(0) <= again.kafka_timestamp - first.kafka_timestamp <= timedelta(minutes=45)
        )
    assert 300 < len(duplicates) < 500


def test_a_delayed_record_comes_1_to_5_days_late_and_the_others_within_the_hour(records):
    delayed = 0
    for record in of(records, "good"):
        late = record.kafka_timestamp - record.event.event_time
        if record.delayed:
            delayed += 1
            assert timedelta(days=1) <= late <= timedelta(days=5)
        else:
            assert timedelta(0) <= late <= timedelta(minutes=60)
    assert 140 < delayed < 260


def test_a_premature_record_is_an_extra_event_2_days_to_10_years_ahead(records):
    premature = of(records, "premature")
    for record in premature:
        assert record.event.event_id.endswith("-future")
        assert json.loads(record.value or b"") == record.event.fields()
        ahead = record.event.event_time - record.kafka_timestamp
        assert timedelta(days=2) <= ahead <= timedelta(days=3651)
    assert 140 < len(premature) < 260


def test_every_malformation_occurs_in_turn(records):
    counted = Counter(record.reason for record in of(records, "malformed"))
    assert set(counted) == set(MALFORMATIONS)
    assert max(counted.values()) - min(counted.values()) <= 1
    assert all(record.event is None and not record.delayed for record in of(records, "malformed"))
    assert all(record.reason == "" for record in records if record.kind != "malformed")


@pytest.mark.parametrize("deliveries", [1, 2, 3, 7])
def test_split_cuts_in_arrival_order_into_nearly_equal_parts(records, deliveries):
    parts = split(records, deliveries)
    assert ([record for part in parts for record in part], len(parts)) == (records, deliveries)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
