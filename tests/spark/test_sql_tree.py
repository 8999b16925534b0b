"""SQL in a spec, by Spark's own parser: what the spec's regular expressions let pass."""

import os

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from spark_jobs.errors import CheckBroken, SpecInvalid
from spark_jobs.spec.sql import REFUSED, SqlText, refuse_unsafe
from spark_jobs.steps.catalyst import sequence
from spark_jobs.steps.sql import ALLOWED, ALLOWED_TABLES, reason
from tests.harness.refused import because, has

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
    "my_function(amount)": "my_function is not a function of Spark's that a spec may call",
    "other.schema.f(amount)": "other.schema.f is not a function",
    "`version` (/**/)": "tells of the session",
    "input_file_name() = 'x'": "another try of the batch may run elsewhere",
    "amount > rand(7)": "another try of the batch would give other rows",
    "from_protobuf(shop, 'Shop', '/etc/shop.desc') is null": "may read files",
    "from_xml(shop, 'a INT', map('rowValidationXSDPath', '/etc/x')) is null": "may read files",
    "(SELECT count(*) FROM parquet.`/etc/secrets`) > 0": "not a query",
    "exists (select 1 from delta . `s3a://bucket/table`)": "not a query",
    "amount > (SELECT max(amount) FROM other)": "not a query",
    "shop = current_user": "tells of the session",
    "shop = user": "tells of the session",
    "true; DROP TABLE x": "cannot parse",
    "amount >": "cannot parse",
}
FINE = (
    "a IS DISTINCT FROM b",
    "`from` = 'x'",
    "substring(concat(a, b) FROM 2) = 'x'",
    "trim(both lower('X') from origin) = 'a'",
    "a > 0 -- ; x",
    "`a;b` = 1",
    "a || b <> 'c' and a != b",
    "csv.`a/b` > 1",
    "a > 0 /* of /* ; nested */ ; */",
    "struct(amount, shop) is not null and CASE WHEN a THEN 1 END = 1",
    "from_xml(shop, 'a INT').a = 1 and event_time < current_timestamp()",
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
    "SELECT * FROM rows, python_worker_logs()": "tells of the session",
    "SELECT * FROM rows, my_table_function(1)": "is not a function",
    "INSERT INTO other SELECT * FROM rows": "command",
    "DROP TABLE rows": "command",
    "SELECT TRANSFORM(shop) USING 'cat /etc/passwd' AS x FROM rows": "operating system",
    "SELECT x FROM rows LATERAL VIEW python_worker_logs() t AS x": "tells of the session",
    "SET spark.sql.ansi.enabled = false": "command",
}
FINE_QUERIES = (
    "SELECT * FROM rows;",
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


def test_a_column_may_have_the_name_of_a_function(spark):
    assert reason(spark, expression("`User` = 'ana'"), ("user", "shop")) == ""


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


def test_every_function_of_the_installed_spark_is_allowed_or_refused(spark):
    """A newer Spark's are refused until somebody has written them into steps/sql.py."""
    analysis = spark.sparkContext._jvm.org.apache.spark.sql.catalyst.analysis  # noqa: SLF001
    known = set(REFUSED)
    for registry, allowed in (
        (analysis.FunctionRegistry, ALLOWED),
        (analysis.TableFunctionRegistry, ALLOWED_TABLES),
    ):
        names = {each.funcName() for each in sequence(registry.builtin().listFunction())}
        assert sorted(names - allowed - REFUSED.keys()) == []
        assert sorted(allowed - names) == []
        known -= names
    assert not known
    assert not ALLOWED & REFUSED.keys()


SPACE = st.sampled_from((" ", "\n", "\t", "/**/", "/* ' */", "/* a /* ; */ b */ ", "-- x;'\n"))
CALLS = ("reflect({})", "Java_Method({})", "`try_reflect`({})", "rand()", "`version`( )", "f(1)")
BAD_RELATIONS = (
    "other",
    "`other`",
    "parquet.`/etc/secrets`",
    "csv . `s3a://bucket/x`",
    "rows.other",
    "other VERSION AS OF 0",
    "IDENTIFIER('ro' || 'ws')",
    "my_function(1)",
    "(SELECT * FROM other)",
    "(SELECT reflect('a', 'b') AS x FROM rows)",
)
GOOD_RELATIONS = ("rows", "`rows`", "ROWS", "(SELECT * FROM rows)", "range(3)", "(VALUES (1))")
HARMLESS = (
    "amount > 0",
    "`from` IS DISTINCT FROM `select;`",
    "shop = 'reflect(''a'') ; FROM other'",
    'shop = "-- not a comment"',
    "substring(shop FROM 2) = r'\\'",
    "trim(both lower('X') from shop) = ''",
    "extract(hour FROM at) > 5",
    "files.`/etc/x` is null",
    "array_contains(array(1, 2), amount)",
)
AROUND = st.sampled_from(
    (
        "({})",
        "NOT ({})",
        "coalesce({}, 'x''y' = shop)",
        "CASE WHEN {} THEN true END",
        "array({})[0]",
        "cast({} as boolean)",
        "named_struct('a', {}).a",
        "'\\'' = concat({}, '')",
        "exists(array(1), x -> {} is null)",
        'concat("--", {}) = shop',
        "(amount > 0 AND {})",
    )
)
WRITTEN = st.tuples(st.lists(AROUND, max_size=3), SPACE, SPACE)
CASES = 120 if "SLUICE_CASES" in os.environ else 40
FUZZED = settings(max_examples=CASES, suppress_health_check=list(HealthCheck), deadline=None)


def written(text: str, how: tuple[list[str], str, str]) -> str:
    """The expression within others, between comments."""
    around, before, after = how
    for part in around:
        text = part.replace("{}", f"{before}{text}{after}")
    return f"{before}{text}{after}"


def query(relation: str, condition: str, how: tuple[list[str], str, str], nested: int) -> str:
    """A query of the relation, of a subquery, of a WITH, or with a subquery in its condition."""
    _, before, after = how
    of = f"SELECT * {before} FROM {after}{relation} AS r WHERE {condition}"
    return (
        of,
        f"SELECT * FROM ({before}{of}{after}) AS q",
        f"WITH q AS ({of}){after} SELECT * FROM q",
        f"SELECT * FROM rows WHERE amount IN ({before}{of})",
        f"SELECT *, ({of}) AS x FROM rows",
    )[nested]


@FUZZED
@given(st.sampled_from(CALLS), WRITTEN)
def test_however_it_is_written_a_call_that_is_not_allowed_is_refused(spark, call, how):
    text = written(call.replace("{}", f"{how[1]}'java.lang.System', 'gc'"), how)
    assert reason(spark, expression(text))


@FUZZED
@given(st.sampled_from(BAD_RELATIONS), st.sampled_from(HARMLESS), WRITTEN, st.integers(0, 4))
def test_a_query_of_anything_else_is_refused_however_put(spark, relation, condition, how, nested):
    text = query(relation, condition, how, nested)
    assert reason(spark, SqlText("sql", text, query=True))
    assert reason(spark, expression(f"amount IN ({text})"))


@FUZZED
@given(st.sampled_from(HARMLESS), WRITTEN)
def test_a_harmless_expression_in_any_writing_is_accepted_with_and_without_spark(spark, text, how):
    text = written(text, how)
    refuse_unsafe("where", text)
    assert reason(spark, expression(text)) == ""


@FUZZED
@given(st.sampled_from(GOOD_RELATIONS), st.sampled_from(HARMLESS), WRITTEN, st.integers(0, 4))
def test_however_it_is_written_a_query_of_the_rows_is_accepted_with_and_without_spark(
    spark, relation, condition, how, nested
):
    text = query(relation, written(condition, how), how, nested)
    refuse_unsafe("sql", text, query=True)
    assert reason(spark, SqlText("sql", text, query=True)) == ""


def test_a_run_refuses_it_before_it_reads_and_a_misspelt_check_too(scene):
    from spark_jobs.spec import Check, Transform  # noqa: PLC0415 - only here

    made = scene("flight_events", events=60, deliveries=1)
    hidden = Transform(where="IDENTIFIER('ref' || 'lect')('java.lang.System', 'gc') is null")
    steps, right = made.spec.steps, made.spec.output_checks
    made.change(steps=(hidden, *steps))
    made.deliver()
    field = has("step 1 (transform)")
    because(made.drain("unsafe").problem, SpecInvalid, "expression_refused", field=field)
    assert made.ops("batches") == []
    wrong = {"column": "event_time", "minimum": "2026"}
    misspelt = Check(type="expect_column_values_to_be_between", kwargs=wrong)
    made.change(steps=steps, output_checks=(*right, misspelt))
    error = has("minimum extra fields")
    because(made.drain("misspelt").problem, CheckBroken, "no_expectation", error=error)
    assert not made.paths.table.exists()
    made.change(output_checks=right)
    assert made.run("corrected").account.read > 0
