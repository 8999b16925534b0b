"""Kafka's headers as fields: what each declaration reads, and what each bad header gets."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode.headers import NOT_KEPT, Headers
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Field, Topic
from tests.unit.decoding import Decoding, Header, of_headers, records
from tests.unit.test_record_forms import WHEN, topic, value


def declared(kind: str = "string", **how: Any) -> Topic:
    return topic(Field(name="x", type=kind, part="header", **how))


def got(of: Topic, *headers: Header) -> tuple[Any, str | None]:
    """The field's value of a record with these headers, and why the record is malformed."""
    columns, [why] = Decoding(of).of(records([value()], headers=[headers]))
    return columns[0][0], why


@pytest.mark.parametrize(
    ("kind", "sent", "found"),
    [
        ("string", "Überblick".encode(), "Überblick"),
        ("string", b"", ""),
        ("bigint", b"-7", -7),
        ("boolean", b"true", True),
        ("binary", b"\xff\x00", b"\xff\x00"),
        ("timestamp", b"2025-11-25T10:00:00.123Z", WHEN),
    ],
)
def test_a_header_is_text_in_its_fields_type_or_the_bytes_that_it_is(kind, sent, found):
    assert got(declared(kind), ("x", sent)) == (found, None)


def test_its_format_is_a_texts():
    assert got(declared("timestamp", format="ms"), ("x", b"1764064800123")) == (WHEN, None)
    found, why = got(declared("decimal(4,2)"), ("x", b"12.345"))
    assert (found, why) == (None, "header `x` is a number that decimal(4,2) has not")


def test_of_a_header_that_comes_twice_the_last_one_counts_or_all_by_declaration():
    twice: list[Header] = [("x", b"a"), ("y", b"-"), ("x", b"b")]
    assert got(declared(), *twice) == ("b", None)
    assert got(declared("array<string>"), *twice) == (["a", "b"], None)
    assert got(declared("array<binary>"), ("x", b"\xff"), ("x", None)) == ([b"\xff", None], None)
    assert got(declared(required=False), ("x", b"a"), ("x", None)) == (None, None)


@pytest.mark.parametrize("kind", ["string", "bigint", "binary", "array<string>"])
@pytest.mark.parametrize("headers", [[], [("X", b"1")], [("y", b"1")]])
def test_a_missing_header_is_null_or_malformed(kind, headers):
    assert got(declared(kind, required=False), *headers) == (None, None)
    assert got(declared(kind), *headers) == (None, "header `x` is missing or null")


def test_of_several_names_the_first_with_a_value_counts():
    of = declared(path=('"trace.id"', "traceparent"))
    assert got(of, ("traceparent", b"b"), ("trace.id", b"a")) == ("a", None)
    assert got(of, ("traceparent", b"b"), ("trace.id", None)) == ("b", None)
    assert got(of) == (None, 'header `"trace.id"` is missing or null')


@pytest.mark.parametrize("kind", ["string", "bigint", "array<string>"])
@pytest.mark.parametrize("required", [True, False])
def test_a_header_that_is_no_utf_8_is_malformed(kind, required):
    assert got(declared(kind, required=required), ("x", b"\xff")) == (
        None,
        "header `x` is no UTF-8",
    )


def test_a_rule_is_held_and_a_field_that_nobody_wants_is_judged():
    of = topic(Field(name="x", type="string", part="header", one_of=("a",)))
    for wanted in (None, ["at"]):
        given = records([value()] * 2, headers=[[("x", b"a")], [("x", b"b")]])
        columns, reasons = Decoding(of, wanted).of(given)
        assert columns[-1] == [WHEN, None]
        assert reasons == [None, "header `x` is a string that breaks its rule one_of=('a',)"]


def test_the_event_time_may_be_a_header():
    of = Topic(
        name="t",
        event_time="at",
        fields=(Field(name="at", type="timestamp", part="header", path="sent", format="ms"),),
    )
    given = records([b"{}"], headers=[[("sent", b"1764064800123")]])
    assert Decoding(of).of(given) == ([[WHEN]], [None])


def test_a_record_whose_headers_were_not_read_lacks_them_and_its_reason_says_so():
    """As rows from before a field more: null where it is optional."""
    sent = records([value()] * 2, headers=[None, []])
    optional = Decoding(declared(required=False)).of(sent)
    assert optional == ([[None, None], [WHEN, WHEN]], [None, None])
    columns, reasons = Decoding(declared()).of(sent)
    assert columns == [[None, None], [None, None]]
    assert reasons == [NOT_KEPT, "header `x` is missing or null"]


def test_a_topic_reads_headers_only_if_it_uses_them():
    assert not topic(Field(name="x", type="string")).reads_headers
    assert declared().reads_headers


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("string", {"path": "a.b"}),
        ("string", {"path": "a[0]"}),
        ("string", {"format": "json"}),
        ("array<bigint>", {}),
        ("struct<a:string>", {}),
        ("map<string,string>", {}),
    ],
)
def test_what_a_header_cannot_be_is_refused_when_it_is_declared(kind, how):
    with pytest.raises(SpecInvalid):
        declared(kind, **how)


NAMES = st.sampled_from(["a", "b", "ü", ""])
SENT = st.lists(
    st.none() | st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=4)), max_size=5),
    max_size=8,
)


@given(SENT, st.data())
def test_headers_are_those_that_a_loop_over_them_finds(sent, data):
    first = data.draw(st.integers(0, len(sent)))
    headers = Headers(of_headers(sent)[first:])
    for name in ("a", "b", "ü", "", "c"):
        every = [[v for n, v in each or () if n == name] or None for each in sent[first:]]
        assert headers.all(name).to_pylist() == every
        assert headers.last(name).to_pylist() == [each and each[-1] for each in every]
