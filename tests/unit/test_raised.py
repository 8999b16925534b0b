"""A record on which a decoder raises is malformed, and no other is."""

import json
import logging
from decimal import InvalidOperation

import pytest
from hypothesis import given, strategies as st
from upath import UPath

from spark_jobs.decode import raised
from spark_jobs.decode.formats import Decoded, Records
from spark_jobs.decode.json.decoder import JsonDecoder
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.decode.seen import seen
from spark_jobs.errors import SparkFailed
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


@pytest.mark.parametrize(("most", "many"), [(None, 300), (20, 20)])
def test_of_many_in_a_batch_each_is_malformed_and_one_is_told(caplog, most, many):
    found = raised.decoded(decode, sent(["good", *["breaks"] * many]), TYPES, most)
    assert found.reasons == [None, *[WHY] * many]
    assert [column.null_count for column in found.columns] == [many] * len(TYPES)
    assert len(caplog.records) == 1


def test_a_decoder_that_raises_on_more_of_a_batch_is_wrong_itself():
    with pytest.raises(InvalidOperation):
        raised.decoded(decode, sent(["good", *["breaks"] * 21]), TYPES, 20)


def test_one_that_raises_without_a_record_is_wrong_itself():
    def raises(_: Records) -> Decoded:
        raise KeyError

    with pytest.raises(KeyError):
        raised.decoded(raises, sent([]), TYPES)


@pytest.mark.parametrize(
    "error", [MemoryError(), OSError(), SparkFailed("no", "."), KeyboardInterrupt()]
)
def test_what_is_no_records_fault_ends_the_task(error):
    def ends(_: Records) -> Decoded:
        raise error

    with pytest.raises(type(error)):
        raised.decoded(ends, sent(["good"] * 2), TYPES)


def test_a_page_says_of_each_field_that_the_decoder_fails_on_it(monkeypatch):
    def decode(*_: object) -> Decoded:
        return {}["at"]  # type: ignore[no-any-return]

    monkeypatch.setattr(JsonDecoder, "decode", decode)
    found, why = seen(TOPIC, UPath("memory://none"), b"{}", None)
    assert (found, why) == ((), "the decoder fails on it: KeyError in decode")
