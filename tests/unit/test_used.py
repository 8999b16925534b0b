"""Which fields of a record become columns."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.contract.steps import Step, Transform
from spark_jobs.contract.used import used_fields
from spark_jobs.contract.windows import Session, Tumbling
from spark_jobs.pipelines.departure_delays.spec import SPEC as DEPARTURE_DELAYS
from tests.unit.specs import FIELDS, aggregate, deduplicate, group_state, pipeline, topic

ALL = {field.name for field in FIELDS}
COUNT: dict[str, Any] = {"keys": (), "measures": {"sales": "count(*)"}}


def used(*steps: Step, **changes: Any) -> set[str]:
    return {field.name for field in used_fields(pipeline(steps=steps, **changes))}


def test_before_an_aggregate_only_what_stands_in_a_step_is_used_and_the_event_time() -> None:
    assert used(aggregate(**COUNT)) == {"at"}
    assert used(aggregate(**COUNT | {"keys": ("shop",)})) == {"at", "shop"}
    assert used(deduplicate(), aggregate(**COUNT)) == {"at", "id"}
    assert used(Transform(where="AMOUNT > 0"), aggregate(**COUNT)) == {"at", "amount"}
    assert used(aggregate(**COUNT | {"measures": {"most": "max(`amount`)"}, "counts": None})) == {
        "at",
        "amount",
    }
    gap = Session(gap_sql="concat(amount, ' minutes')")
    sessions = aggregate(**COUNT | {"window": gap})
    assert used(deduplicate(), sessions) == {"at", "id", "amount"}


def test_fields_keep_the_topics_order() -> None:
    names = [field.name for field in used_fields(DEPARTURE_DELAYS)]
    assert names == [
        "event_id",
        "event_type",
        "event_time",
        "carrier",
        "origin",
        "delay_minutes",
        "cancelled",
    ]


@pytest.mark.parametrize(
    "steps",
    [
        (deduplicate(),),
        (Transform(where="amount > 0"), deduplicate()),
        (deduplicate(keys=("*",)), aggregate(**COUNT)),
        (group_state(),),
        (Transform(sql="SELECT id, at, kafka FROM rows"), aggregate(**COUNT)),
        (Transform(function="checked"), aggregate(**COUNT)),
    ],
)
def test_what_reaches_the_table_or_code_or_a_query_is_used(steps: tuple[Step, ...]) -> None:
    assert used(*steps) == ALL


def test_what_comes_behind_an_aggregate_uses_its_columns_alone() -> None:
    first = aggregate(**COUNT | {"event_time": "last"})
    second = aggregate(
        window=Tumbling(size="1 day"), keys=(), measures={"most": "max(sales)"}, counts=None
    )
    assert used(first, Transform(where="sales > 1"), second) == {"at"}


@pytest.mark.parametrize(
    "sql",
    [
        "count(DISTINCT *)",
        "max(struct(*))",
        "max(hash(rows.* ))",
        "max(hash(*, 1))",
        "max(struct(* EXCEPT (id)))",
        "max(hash(* /* all of them */))",
        "max(identifier('am' || 'ount'))",
        "max((SELECT max(at) FROM rows))",
        "max(\N{LATIN SMALL LETTER LONG S}hop)",
    ],
)
def test_where_a_text_may_mean_any_column_all_are_used(sql: str) -> None:
    counted = aggregate(**COUNT | {"measures": {"found": sql}, "counts": None})
    assert used(counted) == ALL


@pytest.mark.parametrize("sql", ["sum(amount * 2)", "sum(2*amount)", "sum(amount) * count( * )"])
def test_a_product_or_a_count_means_no_other_column(sql: str) -> None:
    counted = aggregate(**COUNT | {"measures": {"found": sql}, "counts": None})
    assert used(counted) == {"at", "amount"}


def test_a_field_whose_name_is_part_of_another_is_used_too_rather_than_missed() -> None:
    fields = (*FIELDS, FIELDS[2].model_copy(update={"name": "shop_name"}))
    found = used(aggregate(**COUNT | {"keys": ("shop_name",)}), topic=topic(fields=fields))
    assert found == {"at", "shop", "shop_name"}
