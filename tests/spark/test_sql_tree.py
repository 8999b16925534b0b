"""SQL in a spec, as Spark's own parser has it: what the regular expressions of the spec let pass is
refused before a run reads a record.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.step.step import SqlText
from spark_jobs.steps.sql_tree import reason

EXPRESSIONS = {
    "reflect('java.lang.System', 'exit')": "JVM",
    "`reflect`('java.lang.System', 'exit')": "JVM",
    "/* a */ reflect /* ( */ ('a', 'b')": "JVM",
    "amount > 0 -- \n and Try_Reflect('a', 'b') is null": "JVM",
    "transform(array(1), x -> java_method('a', 'b'))": "JVM",
    "IDENTIFIER('ref' || 'lect')('java.lang.Runtime', 'getRuntime')": "IDENTIFIER",
    "amount > (/* from */ SELECT 1)": "not a query",
    "amount IN (VALUES 1)": "not a query",
    "EXISTS (FROM rows)": "not a query",
    "my_function(amount)": "no function my_function",
    "other.schema.f(amount)": "no function",
    "amount >": "cannot parse",
}
FINE = (
    "count(*)",
    "carrier = 'reflect(1)'",
    "extract(hour FROM event_time) > 5",
    "trim(both 'x' from origin) = 'a'",
    "approx_percentile(delay, array(0.5, 0.9))",
    "CASE WHEN origin = 'EWR' THEN interval '10 minutes' ELSE interval '30 minutes' END",
    "transform(array(1, 2), x -> x + amount)",
    "cast(amount as decimal(10, 2)) > 1.5 and `my col` is not null",
    "max_by(struct(amount, shop), at) filter (where amount > 0)",
)
QUERIES = {
    "SELECT * FROM other": "reads other",
    "SELECT * FROM rows, other VERSION AS OF 0": "RelationTimeTravel",
    "SELECT rows.* FROM rows, `delta`.`/srv/t` VERSION AS OF 0 AS o": "RelationTimeTravel",
    "SELECT * FROM other TIMESTAMP AS OF '2026-01-01'": "RelationTimeTravel",
    "WITH `csv./x` AS (SELECT * FROM rows) SELECT * FROM `csv`.`/x`": "reads csv./x",
    "WITH other AS (SELECT * FROM other) SELECT * FROM other": "reads other",
    "SELECT * FROM (WITH b AS (SELECT * FROM rows) SELECT * FROM b), b": "reads b",
    "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM rows) SELECT * FROM a": "reads b",
    "SELECT * FROM rows JOIN parquet.`/etc/secrets`": "reads parquet./etc/secrets",
    "SELECT * FROM rows WHERE id IN (SELECT id FROM csv.`x`)": "reads csv.x",
    "WITH a AS (SELECT * FROM b) SELECT * FROM rows, a": "reads b",
    "SELECT *, reflect('a', 'b') FROM rows": "JVM",
    "SELECT * FROM rows LATERAL VIEW explode(array(java_method('a', 'b'))) t AS x": "JVM",
    "SELECT * FROM IDENTIFIER('ro' || 'ws')": "IDENTIFIER",
    "SELECT * FROM IDENTIFIER('other')": "reads other",
    "SELECT * FROM rows, my_table_function(1)": "no function",
    "INSERT INTO other SELECT * FROM rows": "command",
    "DROP TABLE rows": "command",
    "SET spark.sql.ansi.enabled = false": "command",
}
FINE_QUERIES = (
    "SELECT * FROM rows",
    "SELECT *, upper(shop) AS big FROM Rows WHERE amount > 0",
    "WITH found AS (SELECT * FROM rows) SELECT *, `at` AS time FROM found",
    "WITH a AS (SELECT * FROM rows), b AS (SELECT * FROM a) SELECT * FROM b, a",
    "SELECT * FROM rows JOIN (VALUES (1)) AS one(n) ON true",
    "SELECT *, (SELECT max(n) FROM range(3) AS r(n)) AS most FROM rows",
    "SELECT * FROM (SELECT * FROM rows) AS r",
    "SELECT r.*, x FROM rows AS r LATERAL VIEW explode(array(1)) t AS x",
    "SELECT * EXCEPT (shop) FROM rows",
    "FROM rows |> WHERE amount > 0",
)


def expression(text: str) -> SqlText:
    return SqlText("where", text, query=False)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_that_leaves_the_records_columns_is_refused(spark, text):
    assert EXPRESSIONS[text] in reason(spark, expression(text))


@pytest.mark.parametrize("text", FINE)
def test_an_expression_over_columns_is_not(spark, text):
    assert reason(spark, expression(text)) == ""


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_of_anything_but_rows_is_refused(spark, text):
    assert QUERIES[text] in reason(spark, SqlText("sql", text, query=True))


@pytest.mark.parametrize("text", FINE_QUERIES)
def test_a_query_of_rows_is_not(spark, text):
    assert reason(spark, SqlText("sql", text, query=True)) == ""


SPACE = st.sampled_from((" ", "\n", "\t", "/**/", "/* ' */", "-- x\n", ""))
CASED = st.sampled_from(("reflect", "Reflect", "JAVA_METHOD", "`try_reflect`", "`reflect`"))
AROUND = st.sampled_from(
    (
        "{}",
        "1 + coalesce({}, 'x''y')",
        "CASE WHEN true THEN {} END",
        "array({})[0]",
        "cast({} as int)",
        "named_struct('a', {}).a",
        "'\\'' = {}",
        "filter(array(1), x -> {} is null)",
        'concat("--", {})',
    )
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(CASED, SPACE, SPACE, st.lists(AROUND, max_size=3))
def test_however_it_is_written_a_call_into_the_jvm_is_refused(spark, name, before, within, around):
    text = f"{before}{name}{within}({within}'java.lang.System', 'gc')"
    for part in around:
        text = part.replace("{}", text)
    assert reason(spark, expression(text))


def test_a_run_refuses_it_before_it_reads(scene):
    from spark_jobs.contract.steps import Transform  # noqa: PLC0415 - only here

    made = scene("flight_events", events=60, deliveries=1)
    hidden = Transform(where="`reflect`('java.lang.System', 'gc') is null")
    made.change(steps=(hidden, *made.spec.steps))
    made.deliver()
    problem = made.drain("unsafe").problem
    assert problem is not None
    assert (problem.code, "step 1 (transform)" in problem.what) == (SpecInvalid.code, True)
    assert made.ops("batches") == []
