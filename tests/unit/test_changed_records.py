"""Records of JSON, bare, in an envelope and compressed: what other libraries write comes back equal,
and changed bytes are malformed or what those libraries read.
"""

import gzip
import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from spark_jobs.spec import Compressed, Field, Topic
from tests.harness.long_form import examples
from tests.unit.decoding import Decoding

FIELDS = (
    Field(name="id", type="string", path="orderId"),
    Field(name="n", type="bigint", required=False),
    Field(name="x", type="double", required=False),
    Field(name="ok", type="boolean", required=False),
    Field(name="at", type="timestamp", part="timestamp"),
)
Row = dict[str, Any]
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
ROW = st.fixed_dictionaries(
    {"orderId": TEXT},
    optional={
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "x": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "ok": st.none() | st.booleans(),
        "other": TEXT | st.lists(st.integers(), max_size=2),
    },
)


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _changed_row(document: Row) -> Row | None:
    inside = document.get("payload") or {}
    rows = (inside.get("after"), inside.get("before"), document.get("after"))
    return next((row for row in (*rows, document.get("before")) if row is not None), None)


def _unpacked(value: bytes) -> bytes:
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(value), read_across_frames=True)
    return reader.read()


class Form(NamedTuple):
    """How a row is sent."""

    how: dict[str, Any]
    sent: Callable[[Row], bytes]
    read: Callable[[bytes], Row | None]


FORMS = {
    "bare": Form({}, _bytes, json.loads),
    "debezium": Form(
        {"envelope": "debezium"},
        lambda row: _bytes({"before": None, "after": row, "op": "c"}),
        lambda value: _changed_row(json.loads(value)),
    ),
    "debezium with its schema, a delete": Form(
        {"envelope": "debezium"},
        lambda row: _bytes({"schema": {}, "payload": {"before": row, "after": None, "op": "d"}}),
        lambda value: _changed_row(json.loads(value)),
    ),
    "cloudevents": Form(
        {"envelope": "cloudevents"},
        lambda row: _bytes({"specversion": "1.0", "id": "e", "data": row}),
        lambda value: json.loads(value)["data"],
    ),
    "gzip": Form(
        {"format": Compressed(by="gzip")},
        lambda row: gzip.compress(_bytes(row)),
        lambda value: json.loads(gzip.decompress(value)),
    ),
    "zstd": Form(
        {"format": Compressed(by="zstd")},
        lambda row: zstandard.compress(_bytes(row)),
        lambda value: json.loads(_unpacked(value)),
    ),
}
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["cut", "put", "set"]), st.integers(0, 255)),
    min_size=1,
    max_size=3,
)


def _edited(value: bytes, edits: list[tuple[float, str, int]]) -> bytes:
    changed = bytearray(value)
    for share, how, byte in edits:
        at = int(share * len(changed))
        changed[at : at + (how != "put")] = b"" if how == "cut" else bytes([byte])
    return bytes(changed)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(150))
@given(row=ROW, edits=EDITS)
def test_what_is_sent_comes_back_equal_and_what_was_changed_is_malformed_or_read_alike(
    form, row, edits
):
    how, sent, read = FORMS[form]
    decoding = Decoding(Topic(name="t", event_time="at", fields=FIELDS, **how))
    good = sent(row)
    columns, [reason, changed] = decoding.columns([good, value := _edited(good, edits)])
    for number, why in ((0, reason), (1, changed)):
        if why is None:
            theirs = row if number == 0 else read(value)
            assert theirs is not None
            wanted = [theirs.get(key) for key in ("orderId", "n", "x", "ok")]
            assert [column[number] for column in columns[:-1]] == wanted
    assert reason is None
