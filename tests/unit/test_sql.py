"""SQL in a spec: what it may say, and what is refused when the spec is made, without Spark."""

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
    "a file by its path": ("(SELECT count(*) FROM parquet.`/etc/secrets`) > 0", "reads files"),
    "a table at a URL": ("exists (select 1 from delta . `s3a://bucket/table`)", "reads files"),
    "another table": ("amount > (SELECT max(amount) FROM other)", "not a query"),
    "a second statement": ("true; DROP TABLE x", "more than one statement"),
}
FINE = [
    "carrier = 'reflect(1)'",
    'note = "SELECT; FROM"',
    "extract(hour FROM event_time) > 5",
    "reflected > 1 and `my col` = 1",
    "trim(both 'x' from origin) = 'a'",
    "CASE WHEN origin = 'EWR' THEN '10 minutes' ELSE '30 minutes' END",
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
        "SELECT * FROM rows JOIN csv.`/tmp/x.csv`",
        "SELECT * FROM rows; SELECT 1",
    ],
)
def test_a_query_may_select_from_the_rows_and_nothing_else_than_sql(sql: str) -> None:
    with pytest.raises(SpecInvalid):
        Transform(sql=sql)


def test_a_query_may_have_subqueries_of_the_rows() -> None:
    Transform(sql="WITH found AS (SELECT * FROM rows) SELECT *, `event_time` AS at FROM found")
