"""One record: what is accepted with which values, and what is malformed for which reason."""

import base64
import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from local.deliveries import MALFORMATIONS
from spark_jobs.spec import Field, Topic
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.field_types import FIELD_TYPES
from tests.unit.decoding import Decoding

EVENT: dict[str, Any] = {
    "event_id": "2013-01-01-UA-1545-EWR-000001-dep", "event_type": "departure",
    "event_time": "2013-01-01T10:17:00Z", "scheduled_time": "2013-01-01T10:15:00Z",
    "carrier": "UA", "flight": 1545, "tail_number": "N14228", "origin": "EWR",
    "destination": "IAH", "delay_minutes": 2, "cancelled": False, "distance_miles": 1400,
}  # fmt: skip
GOOD = json.dumps(EVENT).encode()
DECODER = Decoding(FLIGHTS)
TYPES = Topic(
    name="types",
    event_time="at",
    fields=(
        *(Field(name=f"a_{kind}", type=kind, required=False) for kind in FIELD_TYPES),
        Field(name="at", type="timestamp"),
        Field(name="class", type="string"),
    ),
)


def reason(value: bytes | None) -> str:
    """Why it is malformed; empty where it is not."""
    row, why = DECODER.row(value)
    assert (why is None) == (row != (None,) * len(EVENT)), (
        "a malformed record has nulls only, a good one has values"
    )
    return why or ""


def with_(**fields: Any) -> bytes:
    return json.dumps(EVENT | fields).encode()


def put(field: str, raw: bytes) -> bytes:
    """The good record with these very bytes as the field's value."""
    return json.dumps(EVENT | {field: "@"}).encode().replace(b'"@"', raw)


def test_a_good_record_has_its_values_in_the_topics_order():
    row, why = DECODER.row(GOOD)
    assert why is None
    assert row == tuple(
        datetime.fromisoformat(value) if name.endswith("_time") else value
        for name, value in EVENT.items()
    )


# What the generator breaks, and which words of the reason tell where.
NAMED = {
    "broken_json": "truncated", "missing_event_id": "`event_id`",
    "null_event_time": "`$.event_time`", "missing_event_time": "`event_time`",
    "wrong_type": "`$.flight`", "empty_value": "empty", "tombstone": "tombstone",
    "trailing_garbage": "trailing characters", "two_objects": "trailing characters",
    "wrong_case_key": "'Event_Id'", "integer_overflow": "`$.flight`",
    "fraction_into_integer": "`$.delay_minutes`", "not_an_object": "got `array`",
    "invalid_utf8": "utf-8",
}  # fmt: skip


@pytest.mark.parametrize("malformation", MALFORMATIONS)
def test_every_malformation_of_the_generator_is_refused_with_its_field(malformation):
    assert NAMED[malformation] in reason(MALFORMATIONS[malformation](dict(EVENT)))


# What is stated is a part of the reason; "" is accepted by the decoder: the guard and the watermark
# come after it.
ACCEPTED = ""
FATES: dict[str, tuple[bytes | None, str]] = {
    "empty": (b"", "the value is empty"),
    "a tombstone": (None, "tombstone"),
    "a list": (b"[" + GOOD + b"]", "got `array`"),
    "truncated": (GOOD[:-1], "truncated"),
    "two objects": (GOOD + b"\n" + GOOD, "set Topic.each"),
    "an integer of seventy bits": (with_(flight=2**70), "`$.flight`"),
    "a fraction into an integer": (with_(flight=3.7), "`$.flight`"),
    "epoch seconds": (with_(event_time=1357035420), "`$.event_time`"),
    "a null time": (with_(event_time=None), "`$.event_time`"),
    "not JSON": (b"plain text", "not JSON"),
    "blank": (b"  \n", "not JSON"),
    "null": (b"null", "got `null`"),
    "a string": (b'"x"', "got `str`"),
    "trailing garbage": (GOOD + b"x", "trailing characters"),
    "a trailing zero byte": (GOOD + b"\0", "trailing characters"),
    "space around it": (b" \t" + GOOD + b"\r\n", ACCEPTED),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, "not JSON"),
    "duplicate keys, of which the last counts": (GOOD[:-1] + b', "flight": 7}', ACCEPTED),
    "a duplicate key of another type": (GOOD[:-1] + b', "flight": "x", "flight": 7}', "Expected `int`"),
    "a wrong-case key of an optional field": (GOOD.replace(b"tail_n", b"Tail_N"), "key 'Tail_Number' is in the wrong case"),
    "a wrong-case key that is escaped": (GOOD.replace(b"tail_n", rb"\u0054ail_n"), "key 'Tail_number' is in the wrong case"),
    "a wrong-case key beside the right word as a value": (
        GOOD.replace(b"tail_n", b"Tail_N").replace(b'"UA"', b'"tail_number"'),
        "key 'Tail_Number' is in the wrong case",
    ),
    "a wrong-case key beside the right one within an object": (
        GOOD.replace(b'"tail_n', b'"x": {"tail_number": 1}, "TAIL_n'),
        "key 'TAIL_number' is in the wrong case",
    ),
    "a null in the right case beside a key in the wrong one": (with_(tail_number=None, Tail_number=1), ACCEPTED),
    "a key in both cases": (with_(Flight=7), ACCEPTED),
    "an extra field": (with_(gate="B12"), ACCEPTED),
    "an optional field left out": (json.dumps({k: v for k, v in EVENT.items() if k != "tail_number"}).encode(), ACCEPTED),
    "integer overflow": (with_(flight=2**31), "`$.flight`"),
    "integer underflow": (with_(flight=-(2**31) - 1), "`$.flight`"),
    "the largest integer": (with_(flight=2**31 - 1), ACCEPTED),
    "a whole fraction into an integer": (put("flight", b"3.0"), "`$.flight`"),
    "an exponent into an integer": (put("flight", b"1e2"), "`$.flight`"),
    "a number as text": (with_(flight="1545"), "`$.flight`"),
    "a number as text with a unit": (with_(delay_minutes="15 min"), "`$.delay_minutes`"),
    "a truth as a number": (with_(cancelled=1), "`$.cancelled`"),
    "NaN": (put("delay_minutes", b"NaN"), "not JSON"),
    "infinity": (put("delay_minutes", b"Infinity"), "not JSON"),
    "a leading zero": (put("flight", b"015"), "not JSON"),
    "an impossible date": (with_(event_time="2013-02-30T10:17:00Z"), "`$.event_time`"),
    "an hour of 24": (with_(event_time="2013-02-28T24:00:00Z"), "`$.event_time`"),
    "a leap second": (with_(event_time="2016-12-31T23:59:60Z"), "`$.event_time`"),
    "a time without a zone": (with_(event_time="2013-01-01T10:17:00"), "timezone"),
    "a date where a time is meant": (with_(event_time="2013-01-01"), "`$.event_time`"),
    "epoch milliseconds": (with_(event_time=1357035420000), "`$.event_time`"),
    "the year 131971": (with_(event_time="131971-01-01T00:00:00Z"), "`$.event_time`"),
    "the first hours of the year 1, east of Greenwich": (with_(event_time="0001-01-01T00:00:00+05:30"), "outside the years"),
    "a time a day ahead, which the guard judges": (with_(event_time="2099-01-01T00:00:00Z"), ACCEPTED),
    "a time in 1970, which the watermark judges": (with_(event_time="1970-01-01T00:00:00Z"), ACCEPTED),
    "a null key": (with_(event_id=None), "`$.event_id`"),
    "an empty key": (with_(event_id=""), ACCEPTED),
    "an unpaired surrogate": (put("carrier", rb'"\ud800"'), "surrogate"),
    "a surrogate pair": (put("carrier", rb'"\ud83d\ude00"'), ACCEPTED),
    "a surrogate in UTF-8": (put("carrier", b'"\xed\xa0\x80"'), "utf-8"),
    "invalid UTF-8": (put("carrier", b'"\xff\xfe"'), "utf-8"),
    "invalid UTF-8 in a field that is ignored": (with_(gate="@").replace(b"@", b"\xff"), "utf-8"),
    "invalid UTF-8 in a key that is ignored": (with_(**{"@": 1}).replace(b"@", b"\xff"), "utf-8"),
    "a line break within a string": (put("carrier", b'"U\nA"'), "not JSON"),
    "5 MB in one field": (with_(carrier="x" * 5_000_000), ACCEPTED),
    "5 MB in a field of another type": (with_(flight="x" * 5_000_000), "`$.flight`"),
    "5 MB that are not JSON": (b"x" * 5_000_000, "not JSON"),
    "ten thousand nested brackets": (b"[" * 10_000, "got `array`"),
    "ten thousand nested brackets in an ignored field": (put("gate", b"[" * 10_000 + b"]" * 10_000), "nested too deeply"),
    "ten thousand nested objects": (b'{"x":' * 10_000 + b"1" + b"}" * 10_000, "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("case", FATES)
def test_a_bad_record_has_its_stated_reason_in_short_and_never_harms_its_neighbours(case):
    value, said = FATES[case]
    assert said in reason(value) if said else reason(value) == ACCEPTED
    assert len(reason(value)) < 200
    columns, reasons = DECODER.columns([GOOD, value, GOOD])
    assert (reasons[0], reasons[2]) == (None, None)
    assert (tuple(column[1] for column in columns), reasons[1]) == DECODER.row(value)
    for place in (0, 2):
        assert [column[place] for column in columns] == [*DECODER.row(GOOD)[0]]


def test_of_duplicate_keys_the_last_counts():
    row, _ = DECODER.row(GOOD[:-1] + b', "flight": 7}')
    assert row[list(EVENT).index("flight")] == 7


def test_no_records_give_a_column_for_each_field():
    assert DECODER.columns([]) == ([[]] * len(EVENT), [])


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(lambda any_: json.dumps(any_).encode())
)
def test_no_bytes_whatsoever_raise(value):
    assert reason(value), "nothing so arbitrary is a flight"


@given(st.integers(0, len(GOOD) - 1))
def test_a_record_cut_off_anywhere_is_malformed(length):
    assert reason(GOOD[:length])


@given(st.binary(min_size=1))
def test_anything_but_space_after_a_record_is_malformed(garbage):
    assume(garbage.strip(b" \t\r\n"))
    assert reason(GOOD + garbage)


zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones)  # noqa: DTZ001 - hypothesis adds the zone
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), 2**31 - 1]),
    "bigint": st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1]),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "float": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "boolean": st.booleans(),
    "binary": st.binary(),
    "timestamp_ntz": st.datetimes(),
    "timestamp": moments,
    "date": st.dates(),
}


def written(value: Any) -> str:
    """As a producer writes what JSON has not."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value.isoformat()


records = st.fixed_dictionaries(
    {
        **{
            field.name: VALUES[field.type] if field.required else st.none() | VALUES[field.type]
            for field in TYPES.fields
        }
    }
)


@given(records, st.booleans())
def test_a_record_of_valid_values_decodes_to_exactly_those(record, escaped):
    value = json.dumps(record, default=written, ensure_ascii=escaped).encode()
    row, why = Decoding(TYPES).row(value)
    assert why is None
    wanted = tuple(record[name] for name in TYPES.columns)
    assert (row, [type(got) for got in row]) == (wanted, [type(value) for value in wanted])
    assert {got.utcoffset() for got in row if isinstance(got, datetime)} <= {timedelta(), None}


@given(st.lists(records, max_size=5))
def test_what_decodes_fits_the_types_that_spark_is_told(rows):
    values = [json.dumps(record, default=written).encode() for record in rows]
    columns, _ = Decoding(TYPES).arrays(values)
    for field, column in zip(TYPES.fields, columns, strict=True):
        assert column.type == arrow_type(field.type)
        assert column.to_pylist() == [record[field.name] for record in rows]


FEW = Topic(
    name="few",
    event_time="at",
    fields=(
        Field(name="at", type="timestamp"),
        Field(name="name", type="string"),
        Field(name="delay", type="int", required=False),
    ),
)
"""Most of its records have all fields, and times in UTC: nothing makes them doubtful."""
REQUIRED = FEW.model_copy(update={"fields": FEW.fields[:2]})
MOSTLY_UTC = st.datetimes(timezones=st.just(UTC)) | moments


@st.composite
def messy(draw: st.DrawFn, topic: Topic) -> bytes | None:
    """A record as a producer may send it: good, incomplete, miscased, out of range or cut."""
    record = {
        field.name: draw(MOSTLY_UTC if field.type == "timestamp" else VALUES[field.type])
        for field in topic.fields
    }
    for name in draw(st.lists(st.sampled_from(topic.columns), max_size=2)):
        value = record.pop(name, None)
        how = draw(st.sampled_from(["left out", "wrong case", "out of range", "undeclared"]))
        if how == "wrong case":
            record[name.title()] = value
        elif how == "out of range":
            record[name] = draw(
                st.sampled_from(["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 2**63])
            )
        elif how == "undeclared":
            record |= {name: value, f"{name}_too": value}
    value = json.dumps(record, default=written, ensure_ascii=draw(st.booleans())).encode()
    if draw(st.integers(0, 3)):
        return value
    start, end = sorted(draw(st.tuples(st.integers(0, len(value)), st.integers(0, len(value)))))
    return draw(
        st.sampled_from([None, b"", value[:start], value[start:], value[:start] + value[end:]])
        | st.binary(min_size=1, max_size=3).map(lambda new: value[:start] + new + value[start:])
    )


@pytest.mark.parametrize("topic", [TYPES, FEW, REQUIRED], ids=["all types", "few", "required"])
@given(st.data())
def test_records_decoded_at_once_are_what_each_is_alone(topic, data):
    """By their texts: 1 is not 1.0 nor True, -0.0 is not 0.0, and a time has a zone."""
    values = data.draw(st.lists(messy(topic), max_size=8))
    decoder = Decoding(topic)
    columns, reasons = decoder.columns(values)
    alone = [decoder.row(value) for value in values]
    assert (reasons, len(columns)) == ([reason for _, reason in alone], len(topic.columns))
    for number, column in enumerate(columns):
        assert repr([*column]) == repr([row[number] for row, _ in alone])


@pytest.mark.parametrize("topic", [TYPES, FEW], ids=["all types", "few"])
@given(st.data())
def test_columns_that_nobody_wants_change_no_other_and_no_reason(topic, data):
    values = data.draw(st.lists(messy(topic), max_size=8))
    wanted = data.draw(st.lists(st.sampled_from(topic.columns), min_size=1, unique=True))
    columns, reasons = Decoding(topic).columns(values)
    some, same = Decoding(topic, wanted).columns(values)
    assert same == reasons
    assert repr(some) == repr([columns[topic.columns.index(name)] for name in wanted])


def test_a_time_that_nobody_wants_is_judged_all_the_same():
    value = b'{"at": "0001-01-01T00:00:00+05:30", "name": "x"}'
    _, reasons = Decoding(FEW, ["name"]).columns([value])
    assert "outside the years" in reasons[0]


TURNS = str.upper, str.lower, str.title, lambda key: "".join(f"\\u{ord(c):04x}" for c in key)
KEYS = st.builds(
    lambda turn, key: turn(key),
    st.sampled_from(TURNS),
    st.sampled_from(["key", "ok", "x", "\N{KELVIN SIGN}ey", 'a"key', "key "]),
)


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> str:
    """An object with such keys, and with the same texts as values, nested or not."""
    value = KEYS.map(lambda text: '"' + text.replace('"', '\\"') + '"') | st.just("null")
    inner = value | objects(depth - 1) if depth else value
    members = [
        draw(value.filter(lambda text: text != "null"))
        + draw(st.sampled_from([":", " : "]))
        + draw(inner)
        for _ in range(draw(st.integers(0, 3)))
    ]
    return "{" + ",".join(members) + "}"


OPTIONAL = Topic(
    name="optional",
    event_time="at",
    fields=(
        Field(name="at", type="timestamp"),
        Field(name="key", type="string", required=False),
        Field(name="ok", type="string", required=False),
    ),
)


@given(objects())
def test_no_key_in_the_wrong_case_is_taken_for_a_missing_one(members):
    """By what json.loads reads, which the decoder leaves out where no name looks odd."""
    at = '{"at":"2013-01-01T00:00:00Z"'
    value = (at + ("," if members != "{}" else "") + members[1:]).encode()
    keys = json.loads(value).keys()
    wrong = [key for key in keys if key.lower() in {"key", "ok"} and key.lower() not in keys]
    _, reason = Decoding(OPTIONAL).row(value)
    assert ("wrong case" in (reason or "")) == bool(wrong)


def test_a_date_with_a_time_is_malformed():
    value = json.dumps(
        {"a_date": "2013-01-01T00:00:00Z", "at": "2013-01-01T00:00:00Z", "class": "x"}
    ).encode()
    assert "`$.a_date`" in str(Decoding(TYPES).row(value)[1])
    row, _ = Decoding(TYPES).row(value.replace(b"T00:00:00Z", b"", 1))
    assert row[TYPES.columns.index("a_date")] == date(2013, 1, 1)
