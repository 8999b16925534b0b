"""The records of a JSON value that has many."""

import json
from itertools import count

import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode.formats import Records
from spark_jobs.decode.json.elements import JsonElements
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Compressed, Csv, Field, Topic
from spark_jobs.values.own_columns import EMPTY
from tests.harness.refused import fails

OTEL = "resourceLogs[].scopeLogs[].logRecords[]"
AT = Field(name="at", type="timestamp", path="t", format="ms")


def topic(each: str = OTEL, *more: Field, **how: object) -> Topic:
    return Topic(name="logs", fields=(AT, *more), event_time="at", each=each, **how)


def up(number: int, path: str) -> Field:
    return Field(name=f"up_{number}", type="string", path=path, up=number)


def found(given_: Topic, value: object) -> list[tuple[int | None, object, str | None]]:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return [
        (each.number, each.value and json.loads(each.value), each.why)
        for [*of] in JsonElements(given_, None).of(Records.alone(raw))
        for each in of
    ]


def test_elements_are_numbered_through_the_value_and_have_what_is_around_them():
    deep = topic(OTEL, up(1, "scope.name"), up(2, "resource.x"), up(3, "tenant"))
    value = {
        "tenant": "t",
        "other": [1],
        "resourceLogs": [
            {"resource": {"x": "r"}, "scopeLogs": [{"logRecords": [{"t": 1}, {"t": 2}]}]},
            {"scopeLogs": [{"scope": {"name": "s"}, "logRecords": [{"t": 3}]}]},
        ],
    }
    first = {"1": {}, "2": {"resource": {"x": "r"}}, "3": {"tenant": "t"}}
    last = {"1": {"scope": {"name": "s"}}, "2": {}, "3": {"tenant": "t"}}
    assert found(deep, value) == [
        (0, {"0": {"t": 1}, **first}, None),
        (1, {"0": {"t": 2}, **first}, None),
        (2, {"0": {"t": 3}, **last}, None),
    ]


@pytest.mark.parametrize(
    ("each", "value"),
    [
        ("[]", [{"t": 1}, 7]),
        ("items[]", {"items": [{"t": 1}, 7]}),
        ("data.items[]", {"data": {"items": [{"t": 1}, 7]}}),
        ('"a.b"[]', {"a.b": [{"t": 1}, 7]}),
        ("a[].b.c[]", {"a": [{"b": {"c": [{"t": 1}]}}, {"b": {"c": [7]}}]}),
    ],
)
def test_the_list_may_be_anywhere_and_its_elements_of_any_kind(each, value):
    assert found(topic(each), value) == [(0, {"0": {"t": 1}}, None), (1, {"0": 7}, None)]


@pytest.mark.parametrize(
    "value",
    [
        {"resourceLogs": []},
        {"resourceLogs": [{}]},
        {"resourceLogs": [{"scopeLogs": None}]},
        {"resourceLogs": [{"scopeLogs": []}, {"scopeLogs": [{"logRecords": []}]}]},
    ],
)
def test_a_value_without_an_element_is_counted(value):
    assert found(topic(), value) == [(EMPTY, None, None)]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "the value is empty"),
        (b"nonsense", "not JSON"),
        (b'{"resourceLogs": []} x', "not JSON"),
        (b'{"resourceLogs": [{"a": "\xff"}]}', "not JSON"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ({}, "`$.resourceLogs` is missing or null: an empty list is []"),
        ({"resourceLogs": None}, "missing or null"),
        ({"resourceLogs": {}}, "Expected `array | null`, got `object` - at `$.resourceLogs`"),
        ({"ResourceLogs": []}, "wrong case"),
        ([], "Expected `object`, got `array`"),
        (b'{"resourceLogs": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_value_that_has_no_list_is_refused_as_a_whole(value, why):
    [(number, bytes_, told)] = found(topic(), value)
    assert (number, bytes_) == (None, None)
    assert why in str(told)


def test_a_part_that_is_wrong_counts_as_one_and_hides_no_other():
    value = {"resourceLogs": [
        7, {"scopeLogs": [{"logRecords": [{"t": 1}]}, {"logRecords": 1}, {"logRecords": [{"t": 2}]}]},
        None]}  # fmt: skip
    numbers = [(number, bool(why)) for number, _, why in found(topic(), value)]
    assert numbers == [(0, True), (1, False), (2, True), (3, False), (4, True)]
    whys = [why for _, _, why in found(topic(), value) if why]
    assert "2 further out" in whys[0]
    assert "1 further out" in whys[1]


@given(st.recursive(
    st.none() | st.integers(0, 9) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["resourceLogs", "scopeLogs", "logRecords", "x"]), inner),
    max_leaves=20,
))  # fmt: skip
def test_whatever_a_value_is_it_has_a_row_and_no_element_is_lost(value):
    rows = found(topic(), value)
    assert rows
    firsts = [number for number, _, _ in rows if number in (None, EMPTY, 0)]
    assert len(firsts) == 1
    if firsts == [0]:
        assert [number for number, _, _ in rows] == [*range(len(rows))]
    good, numbers = [], count()
    if isinstance(value, dict) and isinstance(value.get("resourceLogs"), list):
        for one in value["resourceLogs"]:
            inner = one.get("scopeLogs", []) if isinstance(one, dict) else 7
            if inner is not None and not isinstance(inner, list):
                next(numbers)
                continue
            for two in inner or ():
                last = two.get("logRecords", []) if isinstance(two, dict) else 7
                if last is not None and not isinstance(last, list):
                    next(numbers)
                    continue
                good += [(next(numbers), each) for each in last or ()]
    assert [(number, made["0"]) for number, made, why in rows if made and not why] == good


@pytest.mark.parametrize(
    "how",
    [
        {"each": "items"},
        {"each": "items[0]"},
        {"each": "a[][]"},
        {"each": "a[]x[].b"},
        {"each": ""},
        {"each": "a[k=v].b[]"},
        {"envelope": "debezium"},
        {"format": Csv(columns=("t",))},
        {"format": Compressed(by="gzip", format=Csv(columns=("t",)))},
    ],
)
def test_what_has_no_list_and_what_goes_not_with_it_is_refused_by_name(how):
    with fails(SpecInvalid, "fields_refused", fields="each"):
        topic(**{"each": "items[]"} | how)


@pytest.mark.parametrize(
    ("each", "field"),
    [("[]", up(1, "x")), ("a[]", up(2, "x")), ("a.b[]", up(1, "a.c")), ("a[]", up(1, "a"))],
)
def test_a_field_is_beside_a_list_that_is_there(each, field):
    with pytest.raises(SpecInvalid):
        topic(each, field)


def test_up_without_each_is_refused():
    with fails(SpecInvalid, "fields_refused", fields="up"):
        Topic(name="logs", fields=(AT, up(1, "x")), event_time="at")
