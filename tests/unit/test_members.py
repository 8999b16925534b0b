"""Members of an array that are found by a key's text, and one value that two fields read."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode.jvm_choice import why_python
from spark_jobs.spec import Avro, Field, Protobuf, Topic
from spark_jobs.values.path import Member, as_text
from tests.harness.schemas import by_fastavro, protoc
from tests.unit.decoding import Decoding

NANOS = 1_544_712_660_123_456_789
AT = datetime(2018, 12, 13, 14, 51, 0, 123_456, tzinfo=UTC)
TIME = (
    Field(name="at", type="timestamp", path="time", format="ns"),
    Field(name="nanos", type="bigint", path="time", format="text"),
)


def decoding(*fields: Field, **more: Any) -> Decoding:
    return Decoding(Topic(name="logs", fields=(*TIME, *fields), event_time="at", **more))


def value(**more: object) -> bytes:
    return json.dumps({"time": str(NANOS)} | more).encode()


SERVICE = Field(name="service", type="string", path="attributes[key=service.name].value.string")


@pytest.mark.parametrize(
    ("attributes", "found", "why"),
    [
        ([{"key": "service.name", "value": {"string": "api"}}], "api", None),
        ([{"key": "a", "value": 1}, {"key": "service.name", "value": {"string": "x"}}], "x", None),
        ([{"value": {"string": "b"}, "key": "service.name"}, {"key": "service.name"}], "b", None),
        ([7, None, "service.name", [], {"key": 7}, {"key": "service.name"}], None, "missing"),
        (
            [{"key": "service.name", "value": {"string": 7}}],
            None,
            "Expected `str | null`, got `int`",
        ),
        ([{"key": "service.names", "value": {"string": "no"}}], None, "missing"),
        ([], None, "missing"),
        (None, None, "missing"),
        ({"service.name": "x"}, None, "Expected `array | null`, got `object`"),
    ],
)
def test_the_first_object_of_an_array_with_that_text_at_that_key_counts(attributes, found, why):
    row, reason = decoding(SERVICE).row(value(attributes=attributes))
    assert row[2] == found
    assert (why or "") in (reason or "")
    assert bool(why) == bool(reason)
    if reason and "attributes" not in reason:
        pytest.fail(f"the reason names no place: {reason}")


def test_a_key_may_be_written_in_escapes_and_in_other_letters():
    written = b'{"time": "1", "attributes": [{"k\\u0065y": "service\\u002ename", "value": '
    row, reason = decoding(SERVICE).row(written + b'{"string": "a"}}]}')
    assert (row[2], reason) == ("a", None)
    city = Field(name="city", type="int", path='a["größe x"="Öl = \\"1\\""].n')
    assert decoding(city).row(value(a=[{"größe x": 'Öl = "1"', "n": 7}]))[0][2] == 7


def test_members_are_read_beside_places_and_below_members():
    fields = (
        Field(name="first", type="string", path="tags[0].name"),
        Field(name="env", type="string", path="tags[name=env].value"),
        Field(name="deep", type="double", path="tags[name=env].of[unit=C].number"),
    )
    tags = [{"name": "x"}, {"name": "env", "value": "dev", "of": [{"unit": "C", "number": 1.5}]}]
    assert decoding(*fields).row(value(tags=tags))[0][2:] == ("x", "dev", 1.5)


@given(
    st.lists(
        st.lists(
            st.fixed_dictionaries(
                {},
                optional={"key": st.sampled_from(["a", "b", 'c"', "é", None]), "value": st.text()},
            ),
            max_size=4,
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["a", 'c"', "é"]),
    st.booleans(),
)
def test_it_is_what_duckdb_filters(lists, wanted, ascii_):
    path = as_text(("tags", Member("key", wanted), "value"))
    values = [
        json.dumps({"time": "1", "tags": tags}, ensure_ascii=ascii_).encode() for tags in lists
    ]
    given_ = Field(name="found", type="string", path=path, required=False)
    columns, reasons = decoding(given_).columns(values)
    sql = (
        'SELECT list_filter(from_json(v->\'tags\', \'[{"key": "VARCHAR", "value": "VARCHAR"}]\'),'
        " lambda t: t.key = ?)[1].value FROM (SELECT unnest(?)::JSON AS v)"
    )
    rows = duckdb.execute(sql, [wanted, [each.decode() for each in values]]).fetchall()
    assert columns[2] == [row[0] for row in rows]
    assert not any(reasons)


def test_a_time_in_nanoseconds_is_the_event_time_and_all_its_digits():
    row, reason = decoding().row(value())
    assert (row, reason) == ((AT, NANOS), None)
    both = Decoding(Topic(name="logs", fields=(TIME[0], TIME[1].model_copy(
        update={"format": None})), event_time="at"))  # fmt: skip
    assert both.row(b'{"time": %d}' % NANOS) == ((AT, NANOS), None)
    assert "in `$.time`" in (both.row(value())[1] or "")
    assert "`$.time` is missing or null" in (both.row(b'{"time": null}')[1] or "")
    assert "time" in (both.row(b"{}")[1] or "")
    assert both.row(b'{"time": 92233720368547758080}')[1] is not None


def test_of_two_readings_one_that_is_not_wanted_still_refuses():
    topic = Topic(name="logs", event_time="at", fields=(
        TIME[0], Field(name="nanos", type="bigint", path="time")))  # fmt: skip
    assert "got `str`" in (Decoding(topic, ["at"]).row(value())[1] or "")


def test_times_in_text_are_cut_as_ever_where_text_is_read_too():
    fields = (
        Field(name="at", type="timestamp"),
        Field(name="text", type="string", path="at"),
        Field(name="day", type="string", path="at", format="json"),
    )
    both = Decoding(Topic(name="logs", fields=fields, event_time="at"))
    written = "2026-01-01T00:00:00.123456789Z"
    row, _ = both.row(json.dumps({"at": written}).encode())
    assert row == (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=123_456), written,
                   json.dumps(written))  # fmt: skip


def test_python_decodes_such_a_topic():
    topic = Topic(name="logs", fields=(TIME[0], SERVICE), event_time="at")
    assert "member of an array" in why_python(topic)


PROTO = """syntax = "proto3";
message R { message T { string key = 1; int32 n = 2; } fixed64 time = 1; repeated T tags = 2; }
"""


def test_avro_and_protobuf_have_members_and_two_readings_too(tmp_path):
    tag = {"type": "record", "name": "T", "fields": [
        {"name": "key", "type": "string"}, {"name": "n", "type": "int"}]}  # fmt: skip
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "time", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": tag}}]}  # fmt: skip
    fields = (TIME[0], TIME[1].model_copy(update={"format": None}),
              Field(name="n", type="int", path="tags[key=b].n"))  # fmt: skip
    record = {"time": NANOS, "tags": [{"key": "a", "n": 1}, {"key": "b", "n": 2}]}
    by_avro = Topic(name="logs", fields=fields, event_time="at",
                    format=Avro(reader=json.dumps(schema)))  # fmt: skip
    assert Decoding(by_avro).row(by_fastavro(schema, record)) == ((AT, NANOS, 2), None)
    protoc(tmp_path, PROTO, "--include_imports", "--descriptor_set_out=set.bin")
    format_ = Protobuf(message="R", descriptor=(tmp_path / "set.bin").read_bytes())
    by_protobuf = Topic(name="logs", fields=fields, event_time="at", format=format_)
    text = f'time: {NANOS} tags {{ key: "a" n: 1 }} tags {{ key: "b" n: 2 }}'
    sent = protoc(tmp_path, PROTO, "--encode=R", given=text.encode()).stdout
    assert Decoding(by_protobuf).row(sent) == ((AT, NANOS, 2), None)
