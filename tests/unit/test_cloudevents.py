"""CloudEvents in both modes of their binding to Kafka, as the project's own library writes them
(cloudevents 2.2.0 for Python: to_binary and to_structured of two events), and what is none.
"""

import gzip
import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st
from upath import UPath

from spark_jobs.decode.seen import seen
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Compressed, Csv, Field, Json, Topic
from tests.harness.refused import fails
from tests.unit.decoding import Decoding, Header, records

SIGNED: Header = ("ce_specversion", b"1.0")
JSON_EVENT: Header = ("content-type", b"application/cloudevents+json")
BINARY: list[tuple[list[Header], bytes]] = [
    (
        [
            ("ce_id", b"e0"),
            ("ce_source", b"/shop"),
            ("ce_type", b"order.made"),
            ("ce_time", b"2026-03-01T10:00:00.250000Z"),
            SIGNED,
        ],
        b'{"orderId": 7, "note": "\\u00dcnal"}',
    ),
    (
        [
            ("ce_id", b"e1"),
            ("ce_source", b"/shop"),
            ("ce_type", b"order.made"),
            ("ce_time", b"2026-03-01T10:00:00.250000Z"),
            ("content-type", b"application/json"),
            ("ce_tenant", b"M\xc3\xbcller & S\xc3\xb6hne"),
            ("ce_attempt", b"3"),
            SIGNED,
        ],
        b'{"orderId": -1}',
    ),
]
STRUCTURED: list[tuple[list[Header], bytes]] = [
    (
        [JSON_EVENT],
        b'{"id": "e0", "source": "/shop", "type": "order.made", "time": '
        b'"2026-03-01T10:00:00.250000Z", "specversion": "1.0", "data": {"orderId": 7, "note": '
        b'"\\u00dcnal"}}',
    ),
    (
        [JSON_EVENT],
        b'{"id": "e1", "source": "/shop", "type": "order.made", "time": '
        b'"2026-03-01T10:00:00.250000Z", "datacontenttype": "application/json", "tenant": '
        b'"M\\u00fcller & S\\u00f6hne", "attempt": 3, "specversion": "1.0", "data": {"orderId": '
        b"-1}}",
    ),
]
AT = datetime(2026, 3, 1, 10, 0, 0, 250_000, UTC)
ROWS = [
    ("e0", AT, None, None, None, 7, "Ünal"),
    ("e1", AT, "application/json", "Müller & Söhne", 3, -1, None),
]


def events(**changes: Any) -> Topic:
    usual: dict[str, Any] = {
        "name": "orders",
        "event_time": "time",
        "envelope": "cloudevents",
        "fields": (
            Field(name="id", type="string", part="envelope"),
            Field(name="time", type="timestamp", part="envelope"),
            Field(
                name="of", type="string", part="envelope", path="datacontenttype", required=False
            ),
            Field(name="tenant", type="string", part="envelope", required=False),
            Field(name="attempt", type="bigint", part="envelope", required=False),
            Field(name="order_id", type="bigint", path="orderId"),
            Field(name="note", type="string", required=False),
        ),
    }
    return Topic(**usual | changes)


def decoded(
    sent: list[tuple[list[Header], bytes | None]], made: Topic | None = None
) -> tuple[list[tuple[Any, ...]], list[str | None]]:
    given_ = records([value for _, value in sent], headers=[headers for headers, _ in sent])
    columns, reasons = Decoding(made or events()).of(given_)
    return [*zip(*columns, strict=True)], reasons


def why(headers: list[Header], value: bytes | None, made: Topic | None = None) -> str:
    [row], [reason] = decoded([(headers, value)], made)
    assert set(row) == {None}
    return str(reason)


def test_both_modes_are_read_beside_each_other_by_one_declaration():
    sent = [BINARY[0], STRUCTURED[1], STRUCTURED[0], BINARY[1]]
    rows = [ROWS[0], ROWS[1], ROWS[0], ROWS[1]]
    assert decoded(sent) == (rows, [None] * 4)
    assert decoded(BINARY) == decoded(STRUCTURED) == (ROWS, [None] * 2)
    assert events().reads_headers


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/cloudevents",
        b"application/cloudevents+json; charset=UTF-8",
        b"Application/CloudEvents+JSON",
    ],
)
def test_the_content_type_says_that_an_event_is_structured_whatever_other_headers_say(content_type):
    headers = [("content-type", content_type), ("ce_id", b"another"), SIGNED]
    assert decoded([(headers, STRUCTURED[0][1])]) == ([ROWS[0]], [None])


@pytest.mark.parametrize("headers", [[], [("content-type", b"application/json")], None])
def test_without_a_word_of_its_mode_an_event_is_read_as_structured(headers):
    assert decoded([(headers, STRUCTURED[0][1])]) == ([ROWS[0]], [None])


@pytest.mark.parametrize("form", ["+avro", "+protobuf", "-batch+json", "+xml"])
def test_a_structured_event_in_another_event_format_and_a_batch_of_them_are_malformed(form):
    headers = [("content-type", f"application/cloudevents{form}".encode())]
    assert why(headers, b"[]").startswith(f"its content-type is application/cloudevents{form}: ")


@pytest.mark.parametrize(
    ("headers", "value", "said"),
    [
        ([SIGNED, ("ce_id", b"e")], b'{"orderId": 1}', "header `ce_time` is missing or null"),
        (
            [("ce_specversion", b"0.3"), *BINARY[0][0][:-1]],
            b'{"orderId": 1}',
            "`$.specversion` is a string that breaks its rule one_of=('1.0',)",
        ),
        (BINARY[0][0], b'{"orderId": "7"}', "Expected `int"),
        (BINARY[0][0], b"", "the value is empty"),
        (BINARY[0][0], None, "tombstone: the value is null"),
        ([*BINARY[0][0], ("ce_attempt", b"3.5")], b'{"orderId": 1}', "header `ce_attempt` is text"),
        (BINARY[0][0], STRUCTURED[0][1], "Object missing required field `orderId`"),
        ([JSON_EVENT], BINARY[0][1], "Object missing required field"),
        ([JSON_EVENT], b"[%s]" % STRUCTURED[0][1], "Expected `object`, got `array`"),
    ],
)
def test_what_is_no_event_of_its_mode_is_malformed_with_header_or_field(headers, value, said):
    assert said in why(headers, value)


def test_the_data_of_a_binary_event_is_in_the_topics_format():
    zipped = events(format=Compressed(by="gzip", format=Json()))
    sent = [(headers, gzip.compress(value)) for headers, value in (BINARY[0], STRUCTURED[1])]
    assert decoded(sent, zipped) == (ROWS, [None] * 2)
    csv = events(format=Csv(columns=("orderId", "note")))
    rows = [(BINARY[0][0], "7,Ünal".encode()), STRUCTURED[1]]
    assert (decoded(rows, csv)[1], decoded(rows, csv)[0][0]) == ([None] * 2, ROWS[0])


def test_a_tombstone_among_binary_events_is_dropped_by_declaration():
    rows, reasons = decoded([(BINARY[0][0], None), BINARY[1]], events(tombstones="dropped"))
    assert (reasons, [row[0] for row in rows]) == ([None, None], [None, "e1"])


def test_a_binary_attribute_is_base64_in_either_mode():
    made = events(fields=(*events().fields, Field(name="sign", type="binary", part="envelope")))
    (headers, value), (of_json, event) = BINARY[0], STRUCTURED[0]
    sent = [
        ([*headers, ("ce_sign", b"AQI=")], value),
        (of_json, event.replace(b'"data"', b'"sign": "AQI=", "data"')),
    ]
    assert decoded(sent, made) == ([(*ROWS[0], b"\1\2")] * 2, [None] * 2)
    assert why([*headers, ("ce_sign", b"\1\2")], value, made).startswith("header `ce_sign` is text")


def test_an_attribute_has_no_parts():
    deep = Field(name="x", type="string", part="envelope", path="data.x")
    with fails(SpecInvalid, "fields_refused", fields="path"):
        events(fields=(*events().fields, deep))


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
EVENT = st.fixed_dictionaries(
    {
        "id": TEXT,
        "time": st.timedeltas(timedelta(0), timedelta(days=90_000)).map(lambda at: AT + at),
        "orderId": st.integers(-(2**63), 2**63 - 1),
    },
    optional={"tenant": TEXT, "attempt": st.integers(-(2**31), 2**31), "note": TEXT},
)


@given(st.lists(st.tuples(EVENT, st.booleans()), max_size=6))
def test_an_event_is_the_same_row_in_either_mode(given_):
    sent: list[tuple[list[Header], bytes | None]] = []
    wanted = []
    for event, binary in given_:
        at = event["time"]
        attributes = {"specversion": "1.0", "id": event["id"], "time": at.isoformat()}
        attributes |= {name: event[name] for name in ("tenant", "attempt") if name in event}
        data = {name: event[name] for name in ("orderId", "note") if name in event}
        if binary:
            headers = [(f"ce_{name}", str(of).encode()) for name, of in attributes.items()]
            sent.append((headers, json.dumps(data).encode()))
        else:
            sent.append(([JSON_EVENT], json.dumps(attributes | {"data": data}).encode()))
        found = [event.get(name) for name in ("tenant", "attempt", "orderId", "note")]
        wanted.append((event["id"], at, None, *found))
    assert decoded(sent) == (wanted, [None] * len(sent))


@given(st.lists(st.tuples(st.sampled_from(["content-type", "ce_specversion", "ce_id", "ce_time", "x"]), st.none() | st.binary(max_size=6) | st.sampled_from([b"1.0", JSON_EVENT[1]])), max_size=5), st.none() | st.binary(max_size=8) | st.sampled_from([BINARY[0][1], STRUCTURED[0][1]]))  # fmt: skip
def test_no_headers_and_no_value_make_it_raise(headers, value):
    [row], [reason] = decoded([(headers, value)])
    assert reason or None not in row[:2]


def carried(content: bytes, /, **around: Any) -> bytes:
    event = json.loads(STRUCTURED[0][1]) | {"data_base64": b64encode(content).decode()}
    del event["data"]
    return json.dumps({**event, **around}).encode()


def test_data_in_base64_is_the_data_and_its_lack_is_none():
    """Fields of the data may be null, so that only the carrier tells one event from the other."""
    fields = (*events().fields[:-2], Field(name="order_id", type="bigint", path="orderId", required=False), events().fields[-1])  # fmt: skip
    for optional in (False, True):
        decoder = Decoding(events(fields=fields) if optional else events())
        values = [
            STRUCTURED[0][1],
            carried(b'{"orderId": 7, "note": "\\u00dcnal"}'),
            carried(b'{"orderId": "7"}'),
            carried(b"no JSON"),
            carried(b"", data_base64="%%%"),
            carried(b"{}", data_base64=5),
            carried(b'{"orderId": 8}', data={"orderId": 7}),
            carried(b'{"orderId": 8}', specversion="0.3"),
            carried(b"", data_base64=None, data={"orderId": 9}),
        ]
        columns, reasons = decoder.columns(values)
        by_time = Decoding(decoder.prepared.topic, ["time"]).columns(values)[1]
        assert by_time == reasons, "a replay's plan wants the time alone"
        rows = [*zip(*columns, strict=True)]
        assert rows[0] == rows[1] == ROWS[0]
        assert rows[8][5] == 9
        assert [number for number, why in enumerate(reasons) if why] == [2, 3, 4, 5, 6, 7]
        named = (
            "$.orderId",
            "not JSON",
            "data_base64",
            "data_base64",
            "data_base64",
            "specversion",
        )
        assert all(name in str(why) for name, why in zip(named, reasons[2:8], strict=True))


def test_data_in_base64_is_in_the_topics_own_format():
    fields = (Field(name="id", type="string", part="envelope"), Field(name="time", type="timestamp", part="envelope"), Field(name="n", type="int"))  # fmt: skip
    of = events(fields=fields, format=Csv(columns=("n",)))
    assert Decoding(of).columns([carried(b"5")])[0] == [["e0"], [AT], [5]]
    zipped = events(format=Compressed(by="gzip", format=Json()))
    value = gzip.compress(carried(b'{"orderId": 7, "note": "\\u00dcnal"}'))
    assert Decoding(zipped).row(value) == (ROWS[0], None)


def test_who_declares_the_base64_has_its_bytes():
    fields = (*events().fields[:2], Field(name="raw", type="binary", part="envelope", path="data_base64"))  # fmt: skip
    assert Decoding(events(fields=fields)).row(carried(b"abc"))[0] == ("e0", AT, b"abc")


def test_a_page_shows_the_fields_of_data_in_base64_and_which_of_them_are_wrong():
    def shown(value: bytes):
        fields, why = seen(events(), UPath("memory://none"), value, None)
        assert why == ""
        return fields

    assert shown(carried(b'{"orderId": 7, "note": "\\u00dcnal"}')) == shown(STRUCTURED[0][1])
    wrong = {each.name for each in shown(carried(b"", data_base64="%%%")) if each.wrong}
    assert wrong == {field.name for field in events().fields if field.part == "value"}
