"""From which of the topic's columns a column of the table comes."""

from typing import Any

import pytest

from spark_jobs.spec import Transform, Tumbling
from spark_jobs.spec.analysis.columns import origins_of
from spark_jobs.spec.columns import Origin
from spark_jobs.spec.sql import names_in
from spark_jobs.spec.steps.step import Step
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline


def origins(*steps: Step, **changes: Any) -> dict[str, set[tuple[str, str]]]:
    spec = pipeline(steps=steps, **changes)
    return {name: {*found} for name, found in origins_of(spec).items()}


def test_a_filter_and_a_deduplication_leave_columns_as_they_are():
    columns = ("id", "at", "shop", "amount")
    same = {name: {Origin(name, "identity")} for name in columns}
    assert origins(Transform(where="amount > 0"), deduplicate()) == same


def test_a_measure_comes_from_the_columns_that_stand_in_it_and_a_count_from_none():
    measures = {"sales": "count(*)", "share": "sum(IF(shop = 'at', Amount, 0)) / max(`amount`)"}
    found = origins(aggregate(measures=measures, counts="sales"))
    assert found["share"] == {Origin("shop", "aggregation"), Origin("amount", "aggregation")}
    assert found["window_end"] == {Origin("at", "transformation")}
    assert found["shop"] == {Origin("shop", "identity")}
    assert "sales" not in found


def test_what_was_aggregated_stays_so_through_a_second_window():
    first = aggregate(event_time="last")
    second = aggregate(
        window=Tumbling(size="1 day"), measures={"most": "max(turnover)"}, counts=None
    )
    found = origins(first, second)
    assert found["most"] == {Origin("amount", "aggregation")}
    assert found["window_start"] == {Origin("at", "transformation")}


@pytest.mark.parametrize("step", [Transform(sql="SELECT shop FROM rows"), group_state()])
def test_of_columns_that_only_spark_or_code_knows_nothing_is_said(step):
    assert origins(deduplicate(), step) == {}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("sum(a) -- b", {"a"}),
        ("'a' || \"b\" || r'c' || d", {"d"}),
        ("a.b + `c d`.e + count(f)", {"a", "c d", "f"}),
        ("max_by (x, y)", {"x", "y"}),
        ("/* a */ b", {"b"}),
    ],
)
def test_names_are_those_of_no_text_comment_function_or_field(sql, names):
    assert names_in(sql) == names
