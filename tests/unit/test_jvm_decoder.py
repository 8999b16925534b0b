"""The JVM's decoder of JSON against Python's, which is the reference: the same verdicts and values."""

import struct
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.decode.formats import Records
from spark_jobs.decode.jvm_choice import why_python
from spark_jobs.decode.raw_filter import CapturePolicy, RawFilter
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.spec import Avro, Csv, Field, Local, Topic
from spark_jobs.values.gap import Unheld
from tests.harness.jvm_decoding import JvmDecoding
from tests.harness.long_form import LONG
from tests.harness.odd_records import FLAT, FORMATTED, TOPICS, OddRecords
from tests.unit.decoding import of_headers

CASES = 400 if LONG else 12
RECORDS = 100
"""Of one case."""


@pytest.fixture(scope="module")
def in_jvm(tmp_path_factory):
    with JvmDecoding(tmp_path_factory.mktemp("classes")) as decoding:
        yield decoding


def by_python(prepared, values):
    """Of each record its values, times in microseconds and dates in days, and the reason."""
    count = len(values)
    places, none = pa.array([0] * count, pa.int32()), pa.nulls(count, pa.binary())
    sent = pa.nulls(count, pa.timestamp("us", "UTC"))
    offsets = pa.array(range(count), pa.int64())
    given_ = Records(
        pa.array(values, pa.binary()), none, places, offsets, sent, of_headers([[]] * count)
    )
    columns, reasons = prepared.decoder().decode(given_)
    as_numbers = [
        column.cast({"t": pa.int64(), "d": pa.int32()}[str(column.type)[0]])
        if pa.types.is_temporal(column.type)
        else column
        for column in columns
    ]
    return [*zip(*(column.to_pylist() for column in as_numbers), strict=True)], reasons


def exactly(values):
    """Numbers of floating point by their bits."""
    return [struct.pack("d", each) if isinstance(each, float) else each for each in values]


@pytest.mark.parametrize("name", TOPICS)
@settings(max_examples=CASES)
@given(seed=st.integers(0, 2**64), wanted=st.sampled_from([None, None, ["at"]]))
def test_each_record_gets_pythons_verdict_and_values_or_is_left_to_python(
    in_jvm, name, seed, wanted
):
    prepared = prepare(TOPICS[name], "", None, wanted)
    odd = OddRecords(TOPICS[name], seed)
    values = [odd.record() for _ in range(RECORDS)]
    assert not why_python(TOPICS[name])
    rows, reasons = by_python(prepared, values)
    for value, row, reason, told in zip(
        values, rows, reasons, in_jvm.of(prepared, values), strict=True
    ):
        if told is not None:
            assert (value, told.refused) == (value, reason is not None)
            assert (value, exactly(told.values)) == (value, exactly(row))


def test_most_of_these_records_are_not_left_to_python(in_jvm):
    for topic in TOPICS.values():
        odd = OddRecords(topic, 7)
        told = in_jvm.of(prepare(topic, "", None), [odd.record() for _ in range(1_000)])
        good = [each for each in told if each is not None and not each.refused]
        unsure = told.count(None)
        assert len(good) > 100
        assert unsure < 450


REFUSED, UNSURE = "refused", "unsure"
NAMED = {
    "a good one": ('{"s":"a","at":"2013-01-31T22:00:00Z","i":1}', ["a", 1_359_669_600_000_000, 1]),
    "the last of two": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":1,"i":2}', ["a", 0, 2]),
    "a wrong one of two": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":"1","i":2}', UNSURE),
    "seven digits of a second": ('{"s":"","at":"1970-01-01T00:00:00.9999999Z","i":1}', ["", 999_999, 1]),
    "text behind it": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":1} x', REFUSED),
    "a number as text": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":"1"}', REFUSED),
    "a whole number with a point": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":1.0}', REFUSED),
    "a number beyond its type": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":2147483648}', REFUSED),
    "a time without a zone": ('{"s":"a","at":"1970-01-01T00:00:00","i":1}', REFUSED),
    "no such day": ('{"s":"a","at":"1970-02-29T00:00:00Z","i":1}', REFUSED),
    "half of a pair": ('{"s":"\\ud83d","at":"1970-01-01T00:00:00Z","i":1}', REFUSED),
    "a pair": ('{"s":"\\ud83d\\ude00","at":"1970-01-01T00:00:00Z","i":1}', ["\N{GRINNING FACE}", 0, 1]),
    "no UTF-8 where no field is": (b'{"s":"a","at":"1970-01-01T00:00:00Z","i":1,"z":"\xff"}', REFUSED),
    "a mark of byte order": (b'\xef\xbb\xbf{"s":"a","at":"1970-01-01T00:00:00Z","i":1}', REFUSED),
    "an optional key in the wrong case": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":1,"TEXT":"b"}', REFUSED),
    "null where one must be": ('{"s":null,"at":"1970-01-01T00:00:00Z","i":1}', REFUSED),
    "deeper than is sure": ('{"s":"a","at":"1970-01-01T00:00:00Z","i":1,"z":' + "[" * 101 + "]" * 101 + "}", UNSURE),
    "empty": ("", REFUSED),
    "a tombstone": (None, REFUSED),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMED)
def test_a_record_is_good_refused_or_not_sure(in_jvm, case):
    value, becomes = NAMED[case]
    given_ = value.encode() if isinstance(value, str) else value
    [told] = in_jvm.of(prepare(FLAT, "", None, ["s", "at", "i"]), [given_])
    found = UNSURE if told is None else REFUSED if told.refused else told.values
    assert found == becomes


def test_a_tombstone_that_the_topic_drops_is_good_and_has_no_values(in_jvm):
    [told] = in_jvm.of(prepare(FORMATTED, "", None), [None])
    assert told == ([None] * len(FORMATTED.fields), True, False)


NOW = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTES = st.integers(-30, 30)


def us(at):
    return (at - EPOCH) // timedelta(microseconds=1)


@given(
    records=st.lists(
        st.tuples(MINUTES, st.none() | MINUTES, st.integers(0, 60), st.none() | st.integers(0, 9)),
        min_size=1,
        max_size=30,
    ),
    most=st.integers(0, 4_000),
)
def test_the_bytes_of_the_same_records_are_kept(in_jvm, records, most):
    topic = FLAT.model_copy(update={"max_ahead": timedelta(minutes=10)})
    policy = CapturePolicy(us(NOW) // 1000 - 600_000, most, us(NOW) // 1000)
    times = [NOW + timedelta(minutes=minutes) for minutes, *_ in records]
    sent = [None if each is None else NOW + timedelta(minutes=each) for _, each, *_ in records]
    values = [
        f'{{"s":"{"x" * length}","at":"{at:%FT%TZ}","i":{"1" if length % 7 else "-"}}}'.encode()
        for at, (_, _, length, _) in zip(times, records, strict=True)
    ]
    keys = [None if length is None else b"k" * length for *_, length in records]
    prepared, count = prepare(topic, "", None), len(records)
    rows, reasons = by_python(prepared, values)
    at = [None if why else row[1] for row, why in zip(rows, reasons, strict=True)]
    raw = pa.StructArray.from_arrays(
        [pa.array(keys, pa.binary()), pa.array(values, pa.binary()), of_headers([None] * count)],
        ["key", "value", "headers"],
    )
    kafka = pa.StructArray.from_arrays(
        [pa.array(sent, pa.timestamp("us", "UTC")), raw], ["timestamp", "raw"]
    )
    found = RawFilter(topic, policy).apply(kafka, {"at": pa.array(at, pa.timestamp("us", "UTC"))})
    told = in_jvm.of(
        prepared, values, policy, keys, [None if each is None else us(each) for each in sent]
    )
    assert [each.kept for each in told] == found.field("raw").is_valid().to_pylist()


WITH = {
    "csv": {"format": Csv(columns=("s", "at"))},
    "a registry's key": {"key": Avro(registry="reg")},
    "an envelope": {"envelope": "debezium"},
    "a payload": {"fields": (Field(name="n", type="string", path="payload.n"),)},
    "a rule": {"fields": (Field(name="n", type="int", at_least=1),)},
    "two paths": {"fields": (Field(name="n", type="int", path=("a", "b")),)},
    "a key": {"fields": (Field(name="n", type="string", part="key"),)},
    "a header": {"fields": (Field(name="n", type="string", part="header"),)},
    "seconds": {"fields": (Field(name="n", type="timestamp", format="s"),)},
    "a pattern": {"fields": (Field(name="n", type="date", format=Local(pattern="%d.%m.%Y")),)},
    "an array": {"fields": (Field(name="n", type="array<int>"),)},
    "bytes": {"fields": (Field(name="n", type="binary"),)},
    "a member of a member": {"fields": (Field(name="n", type="int", path="a[0].b"),)},
    "one path twice": {
        "fields": (Field(name="a", type="int"), Field(name="n", type="int", path="a"))
    },
    "one key in two cases": {
        "fields": (
            Field(name="a", type="int", path="u.id"),
            Field(name="n", type="int", path="U.x"),
        )
    },
    "an umlaut": {"fields": (Field(name="n", type="int", path="Größe"),)},
}


@pytest.mark.parametrize("what", WITH)
def test_a_topic_with_what_the_jvm_does_not_read_is_pythons_as_a_whole(what):
    more = dict(WITH[what])
    fields = (
        Field(name="s", type="string"),
        Field(name="at", type="timestamp"),
        *more.pop("fields", ()),
    )
    topic = Topic(name="t", event_time="at", fields=fields, **more)
    assert why_python(topic)
    assert not why_python(Topic(name="t", event_time="at", fields=fields[:2]))


def test_a_group_state_that_does_not_hold_all_times_leaves_the_topic_to_python():
    assert why_python(FLAT, [Unheld("at", (), "why", ())])
