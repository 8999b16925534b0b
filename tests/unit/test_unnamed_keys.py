"""Keys of the records that no field names: each is told once, with the line that declares it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode.json.unnamed import MOST, Seen, UnnamedKeys, is_named, names_of
from spark_jobs.errors import SpecInvalid
from spark_jobs.messages.new_keys import NewKey
from spark_jobs.root.paths import Paths
from spark_jobs.runs.new_keys import MOST as MOST_TOLD, MOST_LINES, _new_key, declarations, tell
from spark_jobs.spec import Field, Topic
from spark_jobs.values import path as paths
from spark_jobs.values.names import snake
from tests.unit.decoding import Decoding, records
from tests.unit.specs import deduplicate, pipeline

FIELDS = (
    Field(name="at", type="timestamp"),
    Field(name="user_id", type="string", path="data.user.id"),
    Field(name="old", type="string", path=("new", "old"), required=False),
    Field(name="tags", type="map<string,string>", required=False),
    Field(name="page", type="struct<title:string>", required=False),
)
ROW: dict[str, Any] = {"at": "2026-01-02T03:04:05Z", "data": {"user": {"id": "a"}}}


def topic(*more: Field, **changes: Any) -> Topic:
    return Topic(**{"name": "t", "event_time": "at", "fields": (*FIELDS, *more), **changes})


def seen(values: list[bytes | None], of: Topic | None = None) -> dict[str, Seen]:
    """Path of a key -> what one task finds."""
    of = of or topic()
    given_records = records(values)
    _, reasons = Decoding(of).of(given_records)
    keys = UnnamedKeys(of)
    keys.look(given_records, reasons)
    return {paths.as_text(each.path): each for each in keys.seen}


def row(**more: Any) -> bytes:
    return json.dumps(ROW | more).encode()


def test_a_key_is_found_with_its_kinds_its_count_and_the_first_record_that_has_it() -> None:
    found = seen([row(), row(coupon=1), None, b"{", row(coupon=None, old="x", new="y")])
    assert found == {"coupon": Seen(("coupon",), frozenset({"bigint", "null"}), 2, 3, 0, 1)}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"data": {"user": {"id": "a", "mail": "b"}, "n": 1.5}}, ["data.n", "data.user.mail"]),
        ({"tags": {"any": "x"}}, []),
        ({"page": {"title": "x", "url": "y"}}, ["page.url"]),
        ({"": 1, "x" * 200: 1}, []),
        ({"user-agent": "x", "a.b": True}, ['"a.b"', "user-agent"]),
    ],
)
def test_objects_that_fields_lead_into_are_looked_into_and_what_a_field_has_whole_is_not(
    more: dict[str, Any], wanted: list[str]
) -> None:
    assert sorted(seen([row(**more)])) == wanted


def test_of_many_records_few_are_looked_at() -> None:
    [few] = seen([row(coupon=1)] * 100).values()
    [many] = seen([row(coupon=1)] * 10_000).values()
    assert (few.looked_at, many.looked_at) == (50, 50)


def test_a_record_whose_keys_are_data_ends_at_a_bound() -> None:
    assert len(seen([row(**{f"k{n}": n for n in range(1000)})])) == MOST


def test_in_an_envelope_the_row_is_looked_at() -> None:
    of = topic(envelope="debezium", fields=(FIELDS[0],))
    after = {"at": ROW["at"], "status": "x"}
    value = json.dumps({"before": None, "after": after, "op": "c", "source": {"db": "d"}})
    assert [*seen([value.encode()], of)] == ["status"]


KEYS = st.text(min_size=1, max_size=20)
VALUES = st.sampled_from(
    [1, 1.5, True, None, "x", "2026-01-02", "2026-01-02T03:04:05Z", {"a": 1}, [1, "x"], 2**63 - 1]
)


@given(st.dictionaries(KEYS, st.lists(VALUES, min_size=1, max_size=3), min_size=1, max_size=4))
def test_the_proposed_lines_are_a_spec_that_reads_every_value_whatever_a_producer_calls_its_keys(
    given_keys: dict[str, list[Any]],
) -> None:
    try:
        values = [
            row(more={key: of[n % len(of)] for key, of in given_keys.items()}) for n in range(3)
        ]
        values = [value.decode().encode() for value in values]
    except UnicodeEncodeError:
        return
    base = topic(Field(name="inner", type="bigint", path="more.x-y-z", required=False))
    found = [_new_key(each) for each in seen(values, base).values()]
    lines, taken = list[str](), {*base.columns}
    for key in found:
        assert key.line.isprintable()
        taken.add(name := key.name(taken))
        line = key.declaration(name)
        assert bool(line) is paths.readable(paths.parsed(key.path))
        lines += [line] if line else []
    fields = eval(f"({' '.join(lines)})", {"Field": Field})
    declared = topic(*base.fields[len(FIELDS) :], *fields)
    columns, reasons = Decoding(declared).columns(values)
    assert reasons == [None] * 3
    left = [key.path for key in found if not is_named(names_of(declared), paths.parsed(key.path))]
    assert sorted(seen(values, declared)) == sorted(left)
    assert not any(paths.readable(paths.parsed(path)) for path in left)
    for field, column in zip(declared.fields, columns, strict=True):
        if field in fields:
            key = str(paths.parsed(field.path or field.name)[-1])
            nulls = [given_keys[key][n % len(given_keys[key])] is None for n in range(3)]
            assert [value is None for value in column] == nulls


@pytest.mark.parametrize("key", ['a\\"b', "a\\\\b", "a\nb"])
def test_a_key_that_no_decoder_reads_is_refused_where_it_is_declared(key: str) -> None:
    with pytest.raises(SpecInvalid, match="no decoder reads a key"):
        Field(name="a", type="string", path=f'"{key}"')


def test_the_line_of_an_ordinary_key_is_what_a_person_would_write() -> None:
    key = NewKey(path="data.couponCode", kinds=("null", "string"), records=3, looked_at=60, partition=1, offset=7)  # fmt: skip
    wanted = (
        "Field(name='data_coupon_code', type='string', path='data.couponCode', required=False),"
    )
    assert key.declaration(key.name(())) == wanted
    assert key.name({snake(("data", "couponCode"))}) == "data_coupon_code_2"


def test_what_was_told_is_not_told_again_and_there_is_an_end_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spec = pipeline(topic=topic(), steps=(deduplicate(keys=("user_id",)),))
    where = Paths(str(tmp_path), spec)
    where.version.mkdir(parents=True)

    def told(*names: str) -> list[str]:
        found = [Seen((name,), frozenset({"string"}), 1, 1, 0, 7) for name in names]
        return [key.path for key in tell(spec, where, found, lambda: None)]

    assert told("a", "b") == ["a", "b"]
    assert told("b", "c") == ["c"]
    assert told("a") == []
    assert len(told(*(f"k{n}" for n in range(100)))) == MOST_TOLD - 3
    assert "no more than 50" in caplog.messages[-1]
    count = len(caplog.messages)
    assert told("z") == []
    assert len(caplog.messages) == count
    lines = declarations(spec.topic, where)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1].startswith(f"{MOST_TOLD - MOST_LINES} other keys")
    wider = topic(Field(name="a", type="string", required=False))
    assert "'a'" in lines[0]
    assert "'a'" not in declarations(wider, where)[0]
