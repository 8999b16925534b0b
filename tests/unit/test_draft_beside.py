"""A draft reads Kafka's key and headers where they have what the value has not."""

import json
from datetime import timedelta

import pytest

from spark_jobs.draft.drafted import draft
from spark_jobs.draft.folder import text
from spark_jobs.draft.golden import golden
from spark_jobs.draft.sample import Sampled
from spark_jobs.draft.tried import tried
from spark_jobs.spec import Json
from tests.unit.test_new import CLOCK, NOON, sampled, written


def reading(n, key=None, **headers):
    """A sensor's: who, when and its firmware are beside the value."""
    at = int(CLOCK) + n * 1000
    sent = (NOON + timedelta(seconds=n, milliseconds=900)).isoformat()
    told = {"measured-at": str(at), "firmware": f"1.{n % 3}", "content-type": "application/json"}
    pairs = [(name, value.encode()) for name, value in (told | headers).items()]
    value = json.dumps({"celsius": n / 7, "sent": sent}).encode()
    return Sampled(0, n, at + 1000, (key or f"s-{n % 9}").encode(), value, pairs)


def test_who_and_when_are_read_of_key_and_headers_and_what_is_always_the_same_is_said():
    records = [reading(n) for n in range(200)]
    made = draft("readings", "readings", records)
    spec = written(made)
    assert spec == made.spec
    assert {(each.name, each.part, each.type, each.format) for each in spec.topic.fields} == {
        ("celsius", "value", "double", None), ("sent", "value", "timestamp", None),
        ("kafka_key", "key", "string", None), ("measured_at", "header", "timestamp", "ms"),
        ("firmware", "header", "string", None),
    }  # fmt: skip
    assert spec.topic.event_time == "measured_at", "the sensor measured before it sent"
    assert not made.tried.malformed
    row = made.tried.rows[5]
    assert (row["kafka_key"], row["measured_at"]) == ("s-5", NOON + timedelta(seconds=5))
    assert "content-type" in made.shown["headers"]
    assert "# headers: content-type" in text(made, 200)


def test_its_first_case_has_the_headers_too():
    made = draft("readings", "readings", [reading(n) for n in range(200)])
    case = golden(made)
    assert '"headers": {"measured-at"' in case
    assert "malformed" not in case


def test_a_key_that_the_value_has_too_is_no_field_more():
    records = [
        Sampled(0, n, int(CLOCK), str(n % 7).encode(), json.dumps({"who": n % 7, "n": n}).encode())
        for n in range(99)
    ]
    made = draft("x", "x", records)
    assert "kafka_key" not in {each.name for each in made.topic.fields}
    assert made.shown["kafka_key"] == "it is who of the value"


def test_of_a_key_in_json_what_the_value_lacks_is_read():
    records = sampled(
        [{"n": n, "id": n} for n in range(99)], [{"id": n, "tenant": f"t{n % 3}"} for n in range(99)]
    )  # fmt: skip
    made = draft("x", "x", records)
    assert written(made) == made.spec
    assert {each.name: each.part for each in made.topic.fields}["tenant"] == "key"
    assert made.topic.key == Json()
    assert made.tried.rows[4]["tenant"] == "t1"


@pytest.mark.parametrize("key", [None, b"\xff\x00"])
def test_a_key_that_is_no_text_is_said_and_none_is_no_field(key):
    records = [Sampled(0, n, int(CLOCK), key, json.dumps({"n": n}).encode()) for n in range(60)]
    made = draft("x", "x", records)
    found = {each.name: each.type for each in made.topic.fields}
    assert "kafka_key" not in found
    assert ("kafka_key" in made.shown) is (key is not None)
    assert written(made) == made.spec
    assert len(tried(made.topic, records).rows) == 60
