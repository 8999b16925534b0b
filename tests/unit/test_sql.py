"""SQL in a spec: what is refused when the spec is made, without Spark, and what is left to it."""

from collections.abc import Callable

import pytest

from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.steps import Aggregate, Transform
from spark_jobs.contract.windows import Session, Tumbling

REFUSED = {
    "reflect": ("reflect('java.lang.System', 'exit', 1)", "calls into the JVM"),
    "java_method, spaced and in capitals": (
        "JAVA_METHOD ('java.lang.Runtime', 'getRuntime')",
        "calls into the JVM",
    ),
    "try_reflect in the middle": (
        "amount > 0 and try_reflect('a', 'b') is null",
        "calls into the JVM",
    ),
    "reflect with comments and a raw text": (
        "reflect /* ( */ ( -- x\n r'java.lang.System', 'gc') is null",
        "calls into the JVM",
    ),
    "a second statement": ("true; DROP TABLE x", "more than one statement"),
    "a statement's end": ("true;", "more than one statement"),
}
FINE = [
    "carrier = 'reflect(1)'",
    'note = "SELECT; FROM"',
    "extract(hour FROM event_time) > 5",
    "reflected > 1 and `my col` = 1",
    "trim(both 'x' from origin) = 'a'",
    "CASE WHEN origin = 'EWR' THEN '10 minutes' ELSE '30 minutes' END",
    "a IS DISTINCT FROM b",
    "`from` = 'x'",
    "substring(concat(a, b) FROM 2) = 'x'",
    "trim(both lower('X') from origin) = 'a'",
    "a > 0 -- ; x",
    "a > 0 /* ; SELECT */",
    "a > 0 /* of /* ; nested */ ; */",
    "`a;b` = 1",
    "csv.`a/b` > 1",
    "a = r'\\' and b = '; '",
    "a = 'it''s; ' or a = 'it\\'s; '",
    "`reflect('x` = 1",
]
FIELDS: dict[str, Callable[[str], object]] = {
    "where": lambda sql: Transform(where=sql),
    "measures": lambda sql: Aggregate(window=Tumbling(size="1 hour"), measures={"n": sql}),
    "gap_sql": lambda sql: Session(gap_sql=sql),
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("case", REFUSED)
def test_an_expression_that_leaves_the_records_columns_is_refused_with_the_reason(
    field: str, case: str
) -> None:
    sql, why = REFUSED[case]
    with pytest.raises(SpecInvalid) as refused:
        FIELDS[field](sql)
    assert why in str(refused.value)
    assert field in str(refused.value)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("sql", FINE)
def test_what_only_looks_like_it_is_not_refused(field: str, sql: str) -> None:
    FIELDS[field](sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT *, reflect('a', 'b') AS x FROM rows",
        "SELECT * FROM rows; SELECT 1",
    ],
)
def test_a_query_that_calls_java_or_is_two_is_refused(sql: str) -> None:
    with pytest.raises(SpecInvalid):
        Transform(sql=sql)


def test_a_query_may_end_as_a_statement_does() -> None:
    Transform(sql="SELECT * FROM rows; -- to here; and no further")


def test_a_query_may_have_subqueries_of_the_rows() -> None:
    Transform(sql="WITH found AS (SELECT * FROM rows) SELECT *, `event_time` AS at FROM found")
