"""A record on which a decoder raises is malformed, and no other is."""

import json
import logging
from decimal import InvalidOperation

import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode import raised
from spark_jobs.decode.formats import Decoded, Records
from spark_jobs.decode.prepared import prepare
from spark_jobs.spec import Field, Topic
from tests.unit.decoding import records

TOPIC = Topic(
    name="t",
    event_time="at",
    fields=(
        Field(name="at", type="timestamp"),
        Field(name="n", type="int"),
        Field(name="lists", type="array<struct<a:int,b:map<string,decimal(5,2)>>>"),
        Field(name="key", type="string", part="key"),
        Field(name="who", type="string", part="header"),
    ),
)
TYPES = [field.type for field in TOPIC.fields]
DECODER = prepare(TOPIC, "memory://none", None).decoder()
BREAKS = b"a value that is nobody's business"
WHY = "the decoder fails on it: InvalidOperation in _breaks"
KINDS = {"malformed": b"{", "breaks": BREAKS, "tombstone": None}


def decode(given: Records) -> Decoded:
    """By a decoder with a fault."""
    if BREAKS in given.values.to_pylist():
        _breaks()
    return DECODER.decode(given)


def _breaks() -> None:
    raise InvalidOperation(BREAKS.decode())


def sent(which: list[str]) -> Records:
    good = [
        json.dumps(
            {"at": "2026-01-01T00:00:00Z", "n": n, "lists": [{"a": n, "b": {"x": 1.5}}]}
        ).encode()
        for n in range(len(which))
    ]
    return records(
        [KINDS.get(kind, good[at]) for at, kind in enumerate(which)],
        [b"key"] * len(which),
        headers=[[("who", b"me")]] * len(which),
    )


@given(st.lists(st.sampled_from(["good", *KINDS]), max_size=40))
def test_the_others_are_decoded_as_if_it_were_malformed(which):
    found = raised.decoded(decode, sent(which), TYPES)
    usual = DECODER.decode(sent(["malformed" if kind == "breaks" else kind for kind in which]))
    assert found.columns == usual.columns
    broken = [kind == "breaks" for kind in which]
    assert found.reasons == [
        WHY if no else why for no, why in zip(broken, usual.reasons, strict=True)
    ]


def test_neither_reason_nor_log_has_anything_of_the_record(caplog):
    with caplog.at_level(logging.DEBUG):
        [reason] = raised.decoded(decode, sent(["breaks"]), TYPES).reasons
    assert "InvalidOperation" in caplog.text
    assert "business" not in f"{reason}{caplog.text}"


def test_of_many_in_a_batch_each_is_malformed_and_one_is_told(caplog):
    found = raised.decoded(decode, sent(["good", *["breaks"] * 300]), TYPES)
    assert found.reasons == [None, *[WHY] * 300]
    assert [column.null_count for column in found.columns] == [300] * len(TYPES)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("error", [MemoryError(), OSError(), KeyboardInterrupt()])
def test_what_is_no_records_fault_ends_the_task(error):
    def ends(_: Records) -> Decoded:
        raise error

    with pytest.raises(type(error)):
        raised.decoded(ends, sent(["good"] * 2), TYPES)
