"""Keys of the records that no field names: each is told once, with the line that declares it."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode.json.unnamed import MOST, Seen, UnnamedKeys, is_named, names_of, of_all
from spark_jobs.errors import LeaseLost, SpecInvalid
from spark_jobs.messages.part import FEWEST, NewKey
from spark_jobs.runs.new_keys import MOST as MOST_TOLD, MOST_LINES, _new_key, declarations, tell
from spark_jobs.spec import Field, Pipeline, Topic
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values import path as paths
from spark_jobs.values.path import snake
from tests.harness.refused import fails
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
    return {paths.as_text(each.path): each for each in of_all([keys.task])}


def row(**more: Any) -> bytes:
    return json.dumps(ROW | more).encode()


def test_a_key_is_found_with_its_kinds_its_count_and_the_first_record_that_has_it():
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
    more, wanted
):
    assert sorted(seen([row(**more)])) == wanted


def test_of_many_records_few_are_looked_at():
    [few] = seen([row(coupon=1)] * 100).values()
    [many] = seen([row(coupon=1)] * 10_000).values()
    assert (few.looked_at, many.looked_at) == (50, 50)


def test_a_record_whose_keys_are_data_ends_at_a_bound():
    assert len(seen([row(**{f"k{n}": n for n in range(1000)})])) == MOST


def test_in_an_envelope_the_row_is_looked_at():
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
    given_keys,
):
    try:
        values = [
            row(more={key: of[n % len(of)] for key, of in given_keys.items()}) for n in range(3)
        ]
        values = [value.decode().encode() for value in values]
    except UnicodeEncodeError:
        return
    base = topic(Field(name="inner", type="bigint", path="more.x-y-z", required=False))
    found = [_new_key(each, Topics([base])) for each in seen(values, base).values()]
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
    left = [
        key.path for key in found if not is_named(names_of((declared,)), paths.parsed(key.path))
    ]
    assert sorted(seen(values, declared)) == sorted(left)
    assert not any(paths.readable(paths.parsed(path)) for path in left)
    for field, column in zip(declared.fields, columns, strict=True):
        if field in fields:
            key = str(paths.parsed(field.path or field.name)[-1])
            nulls = [given_keys[key][n % len(given_keys[key])] is None for n in range(3)]
            assert [value is None for value in column] == nulls


@pytest.mark.parametrize("key", ['a\\"b', "a\\\\b", "a\nb"])
def test_a_key_that_no_decoder_reads_is_refused_where_it_is_declared(key):
    with fails(SpecInvalid, "fields_refused"):
        Field(name="a", type="string", path=f'"{key}"')


def test_the_line_of_an_ordinary_key_is_what_a_person_would_write():
    key = NewKey(path="data.couponCode", kinds=("null", "string"), records=3, looked_at=60, partition=1, offset=7)  # fmt: skip
    wanted = (
        "Field(name='data_coupon_code', type='string', path='data.couponCode', required=False),"
    )
    assert key.declaration(key.name(())) == wanted
    assert key.name({snake(("data", "couponCode"))}) == "data_coupon_code_2"


@pytest.fixture
def spec_and_paths(tmp_path) -> tuple[Pipeline, Paths]:
    fields = (*FIELDS, Field(name="n", type="bigint", path="users.total", required=False))
    spec = pipeline(topic=topic(fields=fields), steps=(deduplicate(keys=("user_id",)),))
    where = Paths(str(tmp_path), spec)
    where.version.mkdir(parents=True)
    return spec, where


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig"
DATA = ("ann.smith@example.org", "4111111111111111", TOKEN, "0f0e0d0c-0b0a", "u4111111111111111")


def values_of_people() -> list[bytes]:
    users = {"total": 1, "page": 1} | dict.fromkeys(DATA, 1)
    some = [row(users=users, coupon=1, rare=1), row(coupon=1, users={"page": 2}), row(coupon=1)]
    return [*some, *[row(coupon=1, users={"page": 2})] * (FEWEST - len(some))]


def test_a_key_that_may_be_a_value_of_a_record_is_counted_and_not_named(spec_and_paths, caplog):
    spec, where = spec_and_paths
    found = [*seen(values_of_people(), spec.topic).values()]
    told = tell(spec, where, found, None)
    assert [key.path for key in told] == ["coupon", "users.page"]
    assert f"{len(DATA) + 1} other keys" in caplog.messages[-1]
    assert f"at most {len(DATA) + 1} of {FEWEST} records" in caplog.messages[-1]
    lines = declarations(spec.inputs, where)
    assert f"{len(DATA) + 1} other keys" in lines[-1]
    left = "\n".join((*caplog.messages, *lines, where.new_keys.read_text(), repr(told)))
    assert not [key for key in (*DATA, "rare") if key in left]
    count = len(caplog.messages)
    assert tell(spec, where, found, None) == ()
    assert len(caplog.messages) == count


@pytest.mark.parametrize("records_", [1, FEWEST - 1, FEWEST])
def test_of_few_records_no_key_is_named(spec_and_paths, records_):
    spec, where = spec_and_paths
    found = seen([row(ann_smith=1)] * records_, spec.topic).values()
    assert bool(tell(spec, where, found, None)) is (records_ == FEWEST)
    lines = declarations(spec.inputs, where)
    assert [("ann_smith" in line) for line in lines] == [True] * (records_ == FEWEST)


def test_where_values_may_be_shown_every_key_is_named_and_hidden_again_later(
    spec_and_paths, monkeypatch
):
    spec, where = spec_and_paths
    found = [*seen(values_of_people(), spec.topic).values()]
    with monkeypatch.context() as shown:
        shown.setenv("SLUICE_RECORD_BYTES", "shown")
        assert len(tell(spec, where, found, None)) == len(DATA) + 3
        assert TOKEN in "\n".join(declarations(spec.inputs, where))
    assert not [key for key in DATA if key in "\n".join(declarations(spec.inputs, where))]
    assert tell(spec, where, found, None) == ()
    assert not [key for key in DATA if key in where.new_keys.read_text()]


def test_the_note_is_not_written_over_another_holders(spec_and_paths):
    spec, where = spec_and_paths
    found = [*seen(values_of_people(), spec.topic).values()]

    class Late:
        def confirm(self):
            where.new_keys.write_text('{"more": true}')

    with pytest.raises(LeaseLost):
        tell(spec, where, found, Late())
    assert where.new_keys.read_text() == '{"more": true}'
    where.new_keys.write_text("half a no")
    assert tell(spec, where, found, None)


def test_a_key_in_a_struct_is_not_proposed_as_a_field_that_the_topic_refuses(spec_and_paths):
    spec, where = spec_and_paths
    tell(spec, where, seen([row(page={"zip": 1}, zip=1)] * FEWEST, spec.topic).values(), None)
    inner, whole = declarations(spec.inputs, where)
    assert "'page.zip'" in inner
    assert "Field(" not in inner
    assert "Field(name='zip', type='bigint', required=False)," in whole


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("123456789012345678901234567890", "number"),
        (str(2**63), "number"),
        (str(-(2**63)), "bigint"),
        (str(-(2**63) - 1), "number"),
        (str(2**63 - 1), "bigint"),
        ("1e400", "number"),
        ("1e300", "double"),
        ('"2020-13-45"', "string"),
        ('"2020-02-29"', "date"),
        ('"9999-99-99T99:99:99Z"', "string"),
        ('"9999-12-31T23:59:59-12:00"', "string"),
        ('"2020-01-02T03:04:05+01:00"', "timestamp"),
    ],
)
def test_a_kind_is_what_a_field_can_have(value, kind):
    assert seen([row()[:-1] + b', "x": ' + value.encode() + b"}"])["x"].kinds == {kind}


def test_a_task_that_does_not_see_a_key_has_looked_all_the_same():
    tasks = [UnnamedKeys(topic()) for _ in range(2)]
    for keys, values in zip(tasks, ([row(coupon=1)], [row()] * 1000), strict=True):
        keys.look(records(values), [None] * len(values))
    [found] = of_all(keys.task for keys in tasks)
    assert (found.records, found.looked_at) == (1, 51)


def test_what_was_told_is_not_told_again_and_there_is_an_end_of_it(tmp_path, caplog):
    spec = pipeline(topic=topic(), steps=(deduplicate(keys=("user_id",)),))
    where = Paths(str(tmp_path), spec)
    where.version.mkdir(parents=True)

    def told(*names: str) -> list[str]:
        found = [Seen((name,), frozenset({"string"}), 9, FEWEST, 0, 7) for name in names]
        return [key.path for key in tell(spec, where, found, None)]

    assert told("a", "b") == ["a", "b"]
    assert told("b", "c") == ["c"]
    assert told("a") == []
    assert len(told(*(f"k{n}" for n in range(100)))) == MOST_TOLD - 3
    assert "no more than 50" in caplog.messages[-1]
    count = len(caplog.messages)
    assert told("z") == []
    assert len(caplog.messages) == count
    lines = declarations(spec.inputs, where)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1].startswith(f"{MOST_TOLD - MOST_LINES} other keys")
    wider = topic(Field(name="a", type="string", required=False))
    assert "'a'" in lines[0]
    assert "'a'" not in declarations(Topics([wider]), where)[0]
