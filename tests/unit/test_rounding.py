"""Which measures add doubles, told by a spec's text and declared types."""

from typing import Any

import pytest

from spark_jobs.spec import Aggregate, Deduplicate, Field, Pipeline, Topic, Transform, Tumbling
from spark_jobs.spec.analysis.rounding import rounded, rounding_line

TOPIC = Topic(
    name="t",
    event_time="at",
    fields=(
        Field(name="at", type="timestamp"),
        Field(name="price", type="double"),
        Field(name="pieces", type="bigint"),
    ),
)


def spec(measures: dict[str, str], *more: Any) -> Pipeline:
    step = Aggregate(window=Tumbling(size="1 hour"), measures=measures)
    return Pipeline(
        name="sales", about="a test", topic=TOPIC, watermark_delay="1 hour", steps=(*more, step)
    )


@pytest.mark.parametrize(
    ("sql", "adds"),
    [
        ("sum(price)", True),
        ("round(AVG( price ), 2)", True),
        ("sum(price) FILTER (WHERE pieces > 1) / count(*)", True),
        ("sum(pieces)", False),
        ("sum(pieces / 2)", True),
        ("avg(pieces)", False),
        ("stddev(pieces)", True),
        ("corr(pieces, price)", True),
        ("sum(cast(price as decimal(20, 4)))", False),
        ("max(price) + count(*)", False),
        ("max_by(pieces, price)", False),
    ],
)
def test_a_measure_is_named_where_it_adds_doubles(sql, adds):
    given = spec({"n": "count(*)", "m": sql})
    assert rounded(given) == (("m",) if adds else ())
    assert (rounding_line(given) is not None) == adds
    assert rounded(spec({"m": sql}, Transform(where="price > 0"))) == rounded(given)


def test_without_a_count_a_person_may_be_asked_and_the_line_says_so():
    counted, alone = (
        rounding_line(spec({"n": "count( * )", "m": "sum(price)"})),
        rounding_line(spec({"m": "sum(price)"})),
    )
    assert counted is not None
    assert alone is not None
    assert "count(*)" not in counted
    assert "without a measure count(*)" in alone


def test_of_rows_that_are_no_groups_nothing_is_said():
    only = Pipeline(
        name="sales",
        about="a test",
        topic=TOPIC,
        watermark_delay="1 hour",
        steps=(Deduplicate(keys=("pieces",)),),
    )
    assert rounding_line(only) is None
