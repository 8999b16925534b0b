"""A value as a page shows it, field by field, in each format."""

import gzip

import pytest
from upath import UPath

from spark_jobs.decode.seen import seen
from spark_jobs.spec import Avro, Compressed, Csv, Field, Format, Json, Lines, Topic

FIELDS = (
    Field(name="at", type="timestamp"),
    Field(name="n", type="int", at_most=5),
    Field(name="note", type="string"),
)
COLUMNS = ("at", "n", "note")
AVRO = """{"type": "record", "name": "R", "fields": [{"name": "at", "type": "string"},
    {"name": "n", "type": ["int", "string"]}, {"name": "note", "type": ["null", "string"]}]}"""
AT = '"2026-11-26 10:00:00+00:00"'
Shown = dict[str, str | None]


def shown(format_: Format, value: bytes, root: UPath) -> Shown | str:
    topic = Topic(name="t", event_time="at", fields=FIELDS, format=format_)
    fields, why = seen(topic, root, value, None)
    assert [each.declared for each in fields] in ([], [field.type for field in FIELDS])
    return {each.name: each.value or each.wrong for each in fields} or why


def event(format_: Format, value: bytes, root: UPath, **headers: bytes) -> Shown | str:
    """An event of CloudEvents as it is shown, but for its specversion."""
    attributes = (
        Field(name="id", type="string", part="envelope"),
        Field(name="sign", type="binary", part="envelope", required=False),
    )
    topic = Topic(
        name="t",
        event_time="at",
        fields=(*FIELDS, *attributes),
        format=format_,
        envelope="cloudevents",
    )
    sent = [{"key": name.replace("_type", "-type"), "value": of} for name, of in headers.items()]
    fields, why = seen(topic, root, value, sent)
    return {
        each.name: each.value or each.wrong for each in fields if each.name != "specversion"
    } or why


NO_INT = "Expected `int | null`, got `array`"
BINARY = {"ce_specversion": b"1.0", "ce_id": b"e", "ce_sign": b"\xff"}
JSON_EVENT = b"application/cloudevents+json"


@pytest.mark.parametrize(
    ("format_", "value"), [(Json(), b'{"n": 1, "note": "hi"}'), (Csv(columns=COLUMNS), b",1,hi")]
)
def test_an_event_is_shown_by_its_mode(format_, value, tmp_path):
    root = UPath(tmp_path)
    data = {"at": None, "n": "1", "note": '"hi"'}
    wrong = "header `ce_sign` is no UTF-8"
    assert event(format_, value, root, **BINARY) == data | {"id": '"e"', "sign": wrong}
    structured = b'{"specversion": "1.0", "id": "e", "data": {"n": 1, "note": "hi"}}'
    found = event(format_, structured, root, content_type=JSON_EVENT, ce_specversion=b"1.0")
    assert found == data | {"id": '"e"', "sign": None}
    batch = event(format_, structured, root, content_type=JSON_EVENT.replace(b"+", b"-batch+"))
    assert isinstance(batch, str)
    assert "cloudevents-batch+json" in batch


LINES = Lines(pattern=r"(?P<at>\S+) (?P<n>\S+)(?: (?P<note>.*))?")
TEXT = b"\x282026-11-26T10:00:00Z"


@pytest.mark.parametrize(
    ("format_", "value", "wanted"),
    [
        (Csv(columns=COLUMNS), b"2026-11-26T10:00:00Z,x,", {"at": AT, "n": "`$.n` is text that is no int", "note": None}),
        (Csv(columns=COLUMNS), b"a,b", "it has 2 cells, not 3"),
        (LINES, b"now 7 hi", {"at": "`$.at` is text that is no timestamp", "n": "7", "note": '"hi"'}),
        (Compressed(by="gzip"), gzip.compress(b'{"n": 1, "at": null}', mtime=0), {"at": None, "n": "1", "note": None}),
        (Compressed(by="gzip"), b"{}", "it is no gzip"),
        (Avro(writer=AVRO), TEXT + b"\x02\x02x\0", {"at": AT, "n": "`$.n` is text, not int", "note": None}),
        (Avro(registry="main"), b"\0\0\0\0\7rest", "schema 7 is not kept here"),
    ],
)  # fmt: skip
def test_what_is_good_of_a_value_is_shown_beside_what_is_not(format_, value, wanted, tmp_path):
    found = shown(format_, value, UPath(tmp_path))
    assert found[: len(wanted)] == wanted if isinstance(wanted, str) else found == wanted


@pytest.mark.parametrize(
    ("value", "element", "told"),
    [
        (b'{"l": [{"n": 1}, {"n": []}]}', 1, {"n": f"{NO_INT} - at `$.n`", "note": None}),
        (b'{"l": [{"n": 1}, 2]}', 7, "by today's spec its value has 2 records"),
        (b'{"l": []}', 0, "by today's spec its value has 0 records"),
        (b'{"m": []}', None, "`$.l` is missing or null: an empty list is []"),
        (b"{", None, "not JSON: Input data was truncated"),
    ],
    ids=["bad", "gone", "of none", "no list", "no JSON"],
)
def test_an_element_is_shown_and_where_its_value_has_none_it_is_told_why(
    value, element, told, tmp_path
):
    at = Field(name="at", type="timestamp", part="timestamp")
    topic = Topic(name="t", event_time="at", fields=(at, *FIELDS[1:]), each="l[]")
    fields, why = seen(topic, UPath(tmp_path), value, None, element)
    assert ({each.name: each.wrong for each in fields} or why) == told
