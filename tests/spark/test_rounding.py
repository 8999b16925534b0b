"""Which measures count as what was computed: in any order yes, with a record more or less no."""

import math
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.repair.compute.change import change
from spark_jobs.spec import Aggregate, Field, Pipeline, Topic, Tumbling
from spark_jobs.steps.aggregate import grouped
from spark_jobs.steps.canonical.chain import canonical_output

WINDOW: dict[str, Any] = {"window": Tumbling(size="1 hour"), "keys": ("account",)}
MEASURES = {
    "net": "sum(amount)",
    "mean": "avg(amount) -- of all",
    "large": "round(sum(amount) FILTER (WHERE abs(amount) > 10), 2) / 60",
    "both": "sum(`😀 b`) - 2 * sum(amount)",
    "spread": "stddev(amount)",
    "cents": "cast(sum(amount) as decimal(20, 2))",
    "side": "CASE WHEN sum(amount) > 0 THEN 'debit' ELSE 'credit' END",
    "ids": "map_from_entries(collect_list(struct(`😀 b` AS k, map('a', amount) AS v)))",
}
Booking = tuple[str, float, float]


def spec(measures: dict[str, str]) -> Pipeline:
    fields = (
        Field(name="at", type="timestamp"),
        *(Field(name=name, type="double") for name in ("amount",)),
        Field(name="account", type="string"),
    )
    return Pipeline(
        name="ledger",
        about="a test",
        topic=Topic(name="t", event_time="at", fields=fields),
        watermark_delay=timedelta(hours=1),
        steps=(Aggregate(**WINDOW, measures=measures),),
    )


def ledger(accounts: int = 60) -> list[Booking]:
    """Bookings of an hour that come to nothing. The second amount tells them apart."""
    chance, made = Random(5), list[Booking]()
    for account in range(accounts):
        amounts = [round(chance.uniform(1, 90_000), 2) for _ in range(6)]
        made += [
            (f"a{account}", sign * amount, float(n))
            for n, (sign, amount) in enumerate((s, a) for a in amounts for s in (1, -1))
        ]
    return made


def frame(spark: SparkSession, bookings: list[Booking]) -> DataFrame:
    rows = [(f"2026-03-01 10:{n % 60:02d}:00", *one) for n, one in enumerate(bookings)]
    text = spark.createDataFrame(rows, "at string, account string, amount double, `😀 b` double")
    return text.selectExpr("cast(at AS timestamp) AS at", "account", "amount", "`😀 b`").coalesce(1)


def differing(spark, table, records, measures=MEASURES) -> set[str]:
    """The accounts whose row, made in this order, does not count as computed of those records."""
    given = spec({"n": "count(*)", **measures})
    if "n" not in measures and "alone" in measures:
        given = spec(measures)
    step = given.steps[0]
    assert isinstance(step, Aggregate)
    live = grouped(frame(spark, table), step, "at")
    computed = canonical_output(frame(spark, records), given, {}, moved=True)
    paired = change(given, live, computed).where("op IS NOT NULL")
    found = paired.selectExpr("coalesce(after, before).account AS account").collect()
    return {row["account"] for row in found}


def test_the_same_records_in_another_order_are_no_change(spark):
    records = ledger()
    shuffled = Random(1).sample(records, len(records))
    sums = [{}, {}]
    for at, order in enumerate((records, shuffled)):
        for account, amount, _ in order:
            sums[at][account] = sums[at].get(account, 0.0) + amount
    assert sum(sums[0][each] != sums[1][each] for each in sums[0]) > 20, "they are others"
    assert differing(spark, records, shuffled) == set()


def test_a_record_that_is_lost_doubled_or_another_is_a_change_however_small_it_is(spark):
    tiny = [(f"a{n}", 1e-11, 99.0) for n in range(3)]
    records = [*ledger(), *tiny]
    table = [*records, tiny[1]]
    table.remove(tiny[0])
    at = table.index(next(one for one in table if one[0] == "a7"))
    table[at] = ("a7", table[at][1] + 0.01, table[at][2])
    sums = {name: sql for name, sql in MEASURES.items() if name != "ids"}
    shuffled = Random(1).sample(records, len(records))
    assert differing(spark, table, shuffled, sums) == {"a0", "a1", "a7"}


@pytest.mark.parametrize("measure", ["sum(amount)", "avg(amount)", "skewness(amount)"])
def test_without_a_count_a_lost_record_of_the_smallest_amount_is_seen_too(spark, measure):
    records = [*ledger(3), ("a1", 0.01, 99.0), ("a2", 1e-11, 99.0)]
    table = [one for one in records if one[1] != 0.01]
    assert "a1" in differing(spark, table, records, {"alone": measure})


def test_where_a_sum_alone_cannot_tell_a_lost_record_from_its_order_a_person_is_asked(spark):
    """One of the amounts is as small as the rounding of the others."""
    records = [*ledger(3), ("a2", 1e-11, 99.0)]
    shuffled = Random(2).sample(records, len(records))
    found = differing(spark, records, shuffled, {"alone": "sum(amount)"})
    assert found <= {"a2"}
    assert differing(spark, records[:-1], records, {"alone": "sum(amount)"}) <= {"a2"}


def test_no_difference_is_small_beside_a_sum_that_is_no_number(spark):
    records = [("a0", math.nan, 1.0), ("a0", 1.0, 2.0), ("a1", 1e308, 1.0), ("a1", 1e308, 2.0)]
    measures = {
        "net": "sum(amount)",
        "mean": "avg(amount)",
        "checked": "CASE WHEN sum(amount) IS NULL THEN raise_error('none') ELSE sum(amount) END",
    }
    assert differing(spark, records, records[::-1], measures) == set()
    table = [("a0", 5.0, 1.0), ("a0", 1.0, 2.0), ("a1", 7.0, 1.0), ("a1", 1e308, 2.0)]
    assert differing(spark, table, records, measures) == {"a0", "a1"}


def test_a_map_is_the_same_map_in_any_order_and_another_one_where_a_value_is(spark):
    measures = {"ids": MEASURES["ids"]}
    records = [("a0", 1.0, 1.0), ("a0", 2.0, 2.0)]
    assert differing(spark, records, records[::-1], measures) == set()
    assert differing(spark, [records[0], ("a0", 3.0, 2.0)], records, measures) == {"a0"}
