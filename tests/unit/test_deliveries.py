"""The mess: every fault is what its name says, and no good event is lost to it."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from itertools import islice, pairwise

import pytest
from pydantic import ValidationError

from local.deliveries import CLEAN, MALFORMATIONS, Delivered, Mess, deliver, split
from local.flights import FlightEvent, flight_events

MESSY = Mess(duplicate_share=0.1, late_share=0.05, malformed_share=0.05, premature_share=0.05)


@pytest.fixture(scope="module")
def events() -> list[FlightEvent]:
    return list(islice(flight_events(date(2013, 1, 1), 1), 4000))


@pytest.fixture(scope="module")
def records(events: list[FlightEvent]) -> list[Delivered]:
    return deliver(events, MESSY, seed=7)


def of(records: list[Delivered], kind: str) -> list[Delivered]:
    return [record for record in records if record.kind == kind]


def test_a_seed_gives_the_same_records_again(events, records):
    assert deliver(events, MESSY, seed=7) == records


def test_another_seed_gives_other_records(events, records):
    assert deliver(events, MESSY, seed=8) != records


def test_every_good_event_is_delivered_once_and_unchanged(events, records):
    good = of(records, "good")
    assert Counter(record.event for record in good) == Counter(events)
    for record in good:
        assert record.value == record.event.to_json().encode()
        assert record.key == (record.event.tail_number or record.event.event_id).encode()


def test_records_are_ordered_by_arrival_and_no_more_by_event_time(records: list[Delivered]) -> None:
    assert all(one.kafka_timestamp <= other.kafka_timestamp for one, other in pairwise(records))
    times = [record.event.event_time for record in of(records, "good") if record.event]
    assert times != sorted(times)


def test_arrivals_are_whole_milliseconds(records: list[Delivered]) -> None:
    assert all(record.kafka_timestamp.microsecond % 1000 == 0 for record in records)


def test_a_duplicate_is_a_good_record_again_within_45_minutes(records: list[Delivered]) -> None:
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


def test_every_malformation_occurs_in_turn(records: list[Delivered]) -> None:
    counted = Counter(record.reason for record in of(records, "malformed"))
    assert set(counted) == set(MALFORMATIONS)
    assert max(counted.values()) - min(counted.values()) <= 1
    assert all(record.event is None and not record.delayed for record in of(records, "malformed"))
    assert all(record.reason == "" for record in records if record.kind != "malformed")


def loaded(value: bytes | None) -> dict[str, object]:
    result = json.loads(value or b"")
    assert isinstance(result, dict)
    return result


def unreadable(value: bytes | None) -> bool:
    try:
        json.loads(value or b"")
    except json.JSONDecodeError:
        return True
    return False


def first_object(value: bytes | None) -> tuple[dict[str, object], str]:
    """The first JSON value, and the text after it."""
    text = (value or b"").decode()
    found, end = json.JSONDecoder().raw_decode(text)
    return found, text[end:]


BROKEN: dict[str, Callable[[bytes | None], bool]] = {
    "broken_json": lambda value: unreadable(value) and (value or b"").startswith(b'{"event_id":'),
    "missing_event_id": lambda value: (
        "event_id" not in loaded(value) and "event_time" in loaded(value)
    ),
    "null_event_time": lambda value: loaded(value)["event_time"] is None,
    "missing_event_time": lambda value: (
        "event_time" not in loaded(value) and "event_id" in loaded(value)
    ),
    "wrong_type": lambda value: loaded(value)["flight"] == "UA12x",
    "empty_value": lambda value: value == b"",
    "tombstone": lambda value: value is None,
    "trailing_garbage": lambda value: first_object(value)[1] == " 0xDEADBEEF",
    "two_objects": lambda value: loaded(first_object(value)[1].encode()) != first_object(value)[0],
    "wrong_case_key": lambda value: "Event_Id" in loaded(value) and "event_id" not in loaded(value),
    "integer_overflow": lambda value: loaded(value)["flight"] == 99999999999,
    "fraction_into_integer": lambda value: loaded(value)["delay_minutes"] == 3.7,
    "not_an_object": lambda value: isinstance(json.loads(value or b""), list),
    "invalid_utf8": lambda value: b'"carrier":"\xff\xfe"' in (value or b""),
}


@pytest.mark.parametrize("reason", MALFORMATIONS)
def test_a_malformation_is_what_its_name_says(records: list[Delivered], reason: str) -> None:
    values = [record.value for record in records if record.reason == reason]
    assert values
    assert all(BROKEN[reason](value) for value in values)


def test_a_malformed_record_never_has_a_good_events_id(events, records):
    """A job that wrongly lets one through shows an event too many, not a duplicate more."""
    ids = {f'"{event.event_id}"'.encode() for event in events}
    for record in of(records, "malformed"):
        quoted = {b'"' + part + b'"' for part in (record.value or b"").split(b'"')}
        assert not quoted & ids


def test_the_clean_mess_delivers_good_records_only(events: list[FlightEvent]) -> None:
    clean = deliver(events, CLEAN, seed=7)
    assert len(clean) == len(events)
    assert {(record.kind, record.delayed) for record in clean} == {("good", False)}


def test_the_usual_mess_has_its_default_shares(events: list[FlightEvent]) -> None:
    counted = Counter(record.kind for record in deliver(events))
    assert counted["good"] == len(events)
    assert 80 < counted["duplicate"] < 160
    assert 3 < counted["malformed"] < 25


def test_a_share_above_one_is_refused() -> None:
    with pytest.raises(ValidationError):
        Mess(late_share=1.5)


@pytest.mark.parametrize("deliveries", [1, 2, 3, 7])
def test_split_cuts_in_arrival_order_into_nearly_equal_parts(records, deliveries):
    parts = split(records, deliveries)
    assert [record for part in parts for record in part] == records
    assert len(parts) == deliveries
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_split_into_no_delivery_is_refused(records: list[Delivered]) -> None:
    with pytest.raises(ValueError, match="1 delivery or more"):
        split(records, 0)
