"""The JVM's decoder of JSON against Python's, which is the reference: the same verdicts and values."""

import random
import struct
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.decode.formats import Records
from spark_jobs.decode.jvm_choice import why_python
from spark_jobs.decode.raw_filter import OVERHEAD, CapturePolicy, RawFilter
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.decode.slices import Slice, SliceCounter, SlicePolicy
from spark_jobs.spec import Avro, Csv, Field, Local, Topic
from spark_jobs.values.gap import Unheld
from tests.harness.jvm_decoding import JvmDecoding, Sent
from tests.harness.long_form import LONG
from tests.harness.odd_records import FLAT, FORMATTED, TOPICS, OddRecords
from tests.unit.decoding import of_headers
from tests.unit.json_records import EDGES, table
from tests.unit.json_values import REFUSED, UNSURE

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


@pytest.mark.parametrize("topic", [*TOPICS.values(), EDGES], ids=lambda topic: topic.name)
def test_each_record_of_the_table_becomes_what_it_says_in_both_decoders(in_jvm, topic):
    prepared, names = prepare(topic, "", None), topic.columns
    values, fates = zip(*table(topic.name), strict=True)
    rows, reasons = by_python(prepared, values)
    for value, fate, row, reason, told in zip(
        values, fates, rows, reasons, in_jvm.of(prepared, values), strict=True
    ):
        wanted = fate if isinstance(fate, str) else exactly(fate.get(name) for name in names)
        python = REFUSED if reason else exactly(row)
        jvm = UNSURE if told is None else REFUSED if told.refused else exactly(told.values)
        assert (value, jvm) == (value, wanted)
        assert wanted in (python, UNSURE), value


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


def test_a_tombstone_that_the_topic_drops_is_good_and_has_no_values(in_jvm):
    [told] = in_jvm.of(prepare(FORMATTED, "", None), [None])
    assert told == ([None] * len(FORMATTED.fields), True, False)


NOW = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTES = st.integers(-30, 30)


TIMES = pa.timestamp("us", "UTC")


def us(at):
    return (at - EPOCH) // timedelta(microseconds=1)


AHEAD = timedelta(minutes=10)
LATE, CLOCK = NOW - timedelta(hours=1), NOW + timedelta(hours=1)
EDGE = (LATE, NOW, NOW + AHEAD, CLOCK, CLOCK + AHEAD)
"""Of a record's time; and of its Kafka timestamp."""
ONE = timedelta(microseconds=1)
JUDGED = FLAT.model_copy(update={"max_ahead": AHEAD})
HEADERS = (None, [], [("a", b"xy")], [("Ä", None), ("b", b"")])


def valued(at: datetime, i: object = 1) -> bytes:
    return f'{{"s":"a","at":"{at:%FT%T.%fZ}","i":{i}}}'.encode()


def kept_in_both(in_jvm, records: list[Sent], most: int) -> list[bool]:
    """Whether the bytes of each record are kept, within a budget."""
    policy, prepared = (
        CapturePolicy(us(LATE) // 1000, most, us(CLOCK) // 1000),
        prepare(JUDGED, "", None),
    )
    raw = pa.StructArray.from_arrays(
        [
            pa.array([each.key for each in records], pa.binary()),
            pa.array([each.value for each in records], pa.binary()),
            of_headers([each.headers for each in records]),
        ],
        ["key", "value", "headers"],
    )
    sent = pa.array([each.at for each in records], TIMES)
    kafka = pa.StructArray.from_arrays([sent, raw], ["timestamp", "raw"])
    found = RawFilter(JUDGED, policy).apply(kafka, {"at": times_by_python(records)})
    kept = found.field("raw").is_valid().to_pylist()
    assert [each.kept for each in in_jvm.told(prepared, records, policy)] == kept
    return kept


def times_by_python(records: list[Sent]) -> pa.Array:
    """The event times, null of malformed records."""
    rows, reasons = by_python(prepare(JUDGED, "", None), [each.value for each in records])
    return pa.array(
        [None if why else row[1] for row, why in zip(rows, reasons, strict=True)], TIMES
    )


@given(
    records=st.lists(
        st.tuples(MINUTES, st.none() | MINUTES, st.integers(-1, 9), st.sampled_from(HEADERS)),
        min_size=1,
        max_size=30,
    ),
    most=st.integers(0, 4_000),
)
def test_the_bytes_of_the_same_records_are_kept(in_jvm, records, most):
    given_ = []
    for n, (minutes, sent, length, headers) in enumerate(records):
        value = valued(NOW + 10 * timedelta(minutes=minutes), length or "-")
        key = None if length < 0 else b"k" * length
        at = None if sent is None else us(NOW + 10 * timedelta(minutes=sent))
        given_.append(Sent(3, n, value, key, at, headers))
    kept_in_both(in_jvm, given_, most)


def test_bytes_are_kept_up_to_the_last_one_of_the_budget(in_jvm):
    records = [Sent(3, n, b"-", b"k" * n, headers=HEADERS[n % 4]) for n in range(8)]
    records += [each._replace(key=None, value=None) for each in records]
    names = [each.headers or () for each in records]
    sizes = [
        OVERHEAD + len(each.value or b"") + len(each.key or b"")
        + sum(len(name.encode()) + len(value or b"") for name, value in headers)
        for each, headers in zip(records, names, strict=True)
    ]  # fmt: skip
    for count, spent in enumerate(accumulate(sizes), 1):
        for more in (-1, 0, 1):
            assert sum(kept_in_both(in_jvm, records, spent + more)) == count - (more < 0)


def test_bytes_are_kept_by_times_to_the_microsecond(in_jvm):
    records = [
        Sent(3, 0, valued(at + more * ONE), at=None if sent is None else us(sent))
        for at in EDGE
        for more in (-1, 0, 1)
        for sent in (None, *EDGE)
    ]
    assert {*kept_in_both(in_jvm, records, 10**9)} == {True, False}


OFFSETS = 20
KEY = ',"z":1'


def of_a_task(chance: random.Random, partition: int) -> list[Sent]:
    """Records of two partitions in turns, with gaps and times around the EDGEs; some are malformed, and some
    have a key that no field names.
    """
    found, offset = [], -45
    for n in range(450):
        offset += chance.randint(1, 3)
        at = chance.choice(EDGE) + ONE * chance.randint(-1, 1)
        value = valued(at, f"{n if n % 50 else 'x'}{'' if n % 7 else KEY}")
        sent = chance.choice([None, *map(us, EDGE)])
        found.append(Sent(partition + n // 7 % 2, offset, value, at=sent))
    return found


def slices_by_python(records: list[Sent]) -> list[Slice]:
    counter = SliceCounter(JUDGED, SlicePolicy(OFFSETS, us(LATE) // 1000, us(CLOCK) // 1000))
    columns = {
        "partition": pa.array([each.partition for each in records], pa.int32()),
        "offset": pa.array([each.offset for each in records], pa.int64()),
        "timestamp": pa.array([each.at for each in records], TIMES),
    }
    kafka = pa.StructArray.from_arrays([*columns.values()], [*columns])
    counter.add(kafka, times_by_python(records))
    return [*counter.slices.values()]


def test_tasks_note_pythons_slices_and_records_with_keys_that_no_field_names(in_jvm):
    chance = random.Random(61)
    first, second = of_a_task(chance, 0), of_a_task(chance, 5)
    sizes = {1: 100_001, 2: 100_000, 3: 60, 4: 60, 100: 60}
    """Of the second task's records with such a key. With the third it has enough."""
    for n, each in enumerate(second):
        value = each.value.replace(KEY.encode(), b"")
        if n in sizes:
            value = value[:-1] + b',"z":"' + b"x" * (sizes[n] - len(value) - 7) + b'"}'
            assert len(value) == sizes[n] or n > 2
        second[n] = each._replace(value=value)
    notes = {
        "offsets": OFFSETS,
        "ahead": AHEAD // ONE,
        "clock": us(CLOCK),
        "late": us(LATE),
        "sampling": True,
    }
    slices, samples, left = in_jvm.noted(prepare(JUDGED, "", None), [*first, *second], notes)
    wanted = [
        [*each[:4], *each.times, *each.ahead, each.late, *each.late_times]
        for task in (first, second)
        for each in slices_by_python(task)
    ]
    assert sorted(slices) == sorted(wanted)
    good = [n for n in range(450) if n % 50]
    looked_at = [*good[:100], good[200], good[400]]
    unnamed = [first[n] for n in looked_at if n % 7 == 0] + [second[2], second[3]]
    assert samples == [
        str(len(looked_at) + 3),
        *(f"{each.partition} {each.offset} {b64encode(each.value).decode()}" for each in unnamed),
    ]
    assert left == "0", "what was taken is gone"
    notes["sampling"] = False
    _, samples, _ = in_jvm.noted(prepare(JUDGED, "", None), first, notes)
    assert samples == ["0"]


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
