"""One record's bytes as a view shows them: bounded, as text, in hexadecimal, and decoded."""

import json
from functools import partial

import pytest
from hypothesis import given, strategies as st

from spark_jobs.ops.record_shown import RawShown
from spark_jobs.ops.rejected import (
    MOST_FIELD,
    MOST_FIELDS,
    MOST_HEX,
    MOST_TEXT,
    headers_shown,
    of_json,
    raw_shown,
)

DECLARED = {"id": "string", "n": "long"}


def shown_of(raw: bytes | None, declared: dict[str, str]) -> RawShown | None:
    return raw_shown(raw, partial(of_json, declared=declared))


def test_the_declared_fields_come_first_and_one_that_is_missing_is_named():
    shown = shown_of(b'{"extra": [1, {"a": null}], "id": "x"}', DECLARED)
    assert [(each.name, each.declared, each.value) for each in shown.fields] == [
        ("id", "string", '"x"'),
        ("n", "long", None),
        ("extra", None, '[1, {"a": null}]'),
    ]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[1]", "it is JSON, and not an object"),
        (b'{"n": ' + b"9" * 10_000 + b"}", "it is not JSON"),
        (b"", "it is not JSON"),
        (b" " * (2**20 + 1), "it has more than 1,048,576 bytes"),
    ],
)
def test_what_cannot_be_decoded_says_why(raw, why):
    shown = shown_of(raw, DECLARED)
    assert (shown.fields, shown.not_decoded[: len(why)]) == ((), why)


def test_what_is_nested_just_not_too_deeply_to_be_read_is_shown_too():
    """Writing a value again goes some calls deeper than reading it."""
    for depth in range(800, 1000):
        assert shown_of(b'{"a":' + b"[" * depth + b"]" * depth + b"}", {}) is not None


def test_null_is_not_an_empty_value():
    assert shown_of(None, DECLARED) is None
    empty = shown_of(b"", {})
    assert (empty.size, empty.text, empty.hexadecimal) == (0, "", ())


@given(st.binary(max_size=3000))
def test_all_bytes_are_in_the_hexadecimal_lines_up_to_the_bound(raw):
    shown = shown_of(raw, {})
    found = bytes.fromhex("".join(line[10:57] for line in shown.hexadecimal))
    assert found == raw[:MOST_HEX]
    assert shown.hexadecimal_whole == (len(raw) <= MOST_HEX)
    assert shown.text.isprintable()
    assert all(line.isascii() and line.isprintable() for line in shown.hexadecimal)


def test_five_megabytes_and_a_thousand_fields_are_cut_and_it_is_said():
    long = shown_of(b"x" * 5_000_000, {})
    assert (long.size, len(long.text), long.text_whole) == (5_000_000, MOST_TEXT, False)
    many = shown_of(json.dumps({f"f{n}": n for n in range(1000)}).encode(), {})
    assert (len(many.fields), many.not_decoded) == (MOST_FIELDS, "900 more fields")


def test_headers_are_shown_in_their_order_with_what_is_declared_of_them_and_are_cut():
    hostile = [("id", b"x\x1b[31m"), ("more\n", b"\xff" * 5_000), ("id", None), ("none", b"")]
    shown = headers_shown([{"key": k, "value": v} for k, v in hostile], {"id": "string"})
    assert [(each.name, each.declared, each.size) for each in shown] == [
        ("id", "string", 6),
        ("more\\n", None, 5_000),
        ("id", "string", None),
        ("none", None, 0),
    ]
    assert [each.value for each in shown][::2] == ["x\\x1b[31m", None]
    assert len(str(shown[1].value)) < MOST_FIELD + 50
    assert headers_shown(None, {}) is None
    many = headers_shown([{"key": "a", "value": b"b"}] * 1_000, {})
    assert many is not None
    assert len(many) == MOST_FIELDS
