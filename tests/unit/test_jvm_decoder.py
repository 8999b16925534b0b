"""The JVM's decoder of JSON against Python's, which is the reference: the same verdicts and values."""

import random
import struct
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.decode.formats import Records
from spark_jobs.decode.jvm_choice import why_python
from spark_jobs.decode.raw_filter import CapturePolicy, RawFilter
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


HEADERS = (None, [], [("a", b"xy")], [("Ä", None), ("b", b"")])


@given(
    records=st.lists(
        st.tuples(MINUTES, st.none() | MINUTES, st.integers(0, 60), st.integers(-1, 9)),
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
    keys = [None if length < 0 else b"k" * length for *_, length in records]
    headers = [HEADERS[length % len(HEADERS)] for *_, length in records]
    prepared = prepare(topic, "", None)
    rows, reasons = by_python(prepared, values)
    at = [None if why else row[1] for row, why in zip(rows, reasons, strict=True)]
    raw = pa.StructArray.from_arrays(
        [pa.array(keys, pa.binary()), pa.array(values, pa.binary()), of_headers(headers)],
        ["key", "value", "headers"],
    )
    kafka = pa.StructArray.from_arrays([pa.array(sent, TIMES), raw], ["timestamp", "raw"])
    found = RawFilter(topic, policy).apply(kafka, {"at": pa.array(at, TIMES)})
    ahead = [None if each is None else us(each) for each in sent]
    told = in_jvm.of(prepared, values, policy, keys, ahead, headers)
    assert [each.kept for each in told] == found.field("raw").is_valid().to_pylist()


AHEAD = timedelta(minutes=10)
LATE, CLOCK = NOW - timedelta(hours=1), NOW + timedelta(hours=1)
EDGE = (LATE, NOW, NOW + AHEAD, CLOCK, CLOCK + AHEAD)
"""Of a record's time; and of its Kafka timestamp."""
ONE = timedelta(microseconds=1)
OFFSETS = 20


def of_a_task(chance: random.Random, partition: int) -> list[Sent]:
    """Records of two partitions, with gaps and times around the EDGEs; some are malformed, and some
    have a key that no field names.
    """
    found, offset = [], -45
    for n in range(450):
        offset += chance.randint(1, 3)
        at = f"{chance.choice(EDGE) + ONE * chance.randint(-1, 1):%FT%T.%fZ}"
        more = "" if n % 7 else ',"z":1'
        value = f'{{"s":"a","at":"{at}","i":{n if n % 50 else "x"}{more}}}'.encode()
        sent = chance.choice([None, *map(us, EDGE)])
        found.append(Sent(partition + n // 300, offset, value, at=sent))
    return found


def slices_by_python(topic: Topic, notes: dict[str, int], records: list[Sent]) -> list[Slice]:
    rows, reasons = by_python(prepare(topic, "", None), [each.value for each in records])
    counter = SliceCounter(topic, SlicePolicy(OFFSETS, notes["late"] // 1000, us(CLOCK) // 1000))
    columns = {
        "partition": pa.array([each.partition for each in records], pa.int32()),
        "offset": pa.array([each.offset for each in records], pa.int64()),
        "timestamp": pa.array([each.at for each in records], TIMES),
    }
    at = [None if why else row[1] for row, why in zip(rows, reasons, strict=True)]
    kafka = pa.StructArray.from_arrays([*columns.values()], [*columns])
    counter.add(kafka, pa.array(at, TIMES))
    return [*counter.slices.values()]


def test_tasks_note_pythons_slices_and_records_with_keys_that_no_field_names(in_jvm):
    chance = random.Random(61)
    topic = FLAT.model_copy(update={"max_ahead": AHEAD})
    first, second = of_a_task(chance, 1), of_a_task(chance, 5)
    sizes = {1: 100_001, 2: 100_000, 3: 60, 4: 60, 100: 60}
    """Of the second task's records with such a key. With the third it has enough."""
    for n, each in enumerate(second):
        value = each.value.replace(b',"z":1', b"")
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
    slices, samples, left = in_jvm.noted(prepare(topic, "", None), [*first, *second], notes)
    wanted = [
        [*each[:4], *each.times, *each.ahead, each.late, *each.late_times]
        for task in (first, second)
        for each in slices_by_python(topic, notes, task)
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
    _, samples, _ = in_jvm.noted(prepare(topic, "", None), first, notes)
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
