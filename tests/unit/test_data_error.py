"""What Spark says of a value on which an expression fails."""

import pytest

from spark_jobs.errors import ExpressionFailed
from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.spec import Aggregate, Session, Transform
from tests.harness.refused import because
from tests.unit.specs import pipeline

STREAM = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. Reason: {said}

\tat org.apache.spark.sql.errors.QueryExecutionErrors$.divideByZeroError(QueryExecutionErrors.scala:206)
"""
ZERO = """[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012
== SQL (line 1, position 5) ==
sum(amount / (amount - 7))
    ^^^^^^^^^^^^^^^^^^^^^
"""
CAST = """[CAST_INVALID_INPUT] The value '[x] y' of the type "STRING" cannot be cast to "INT" because it is malformed. Correct the value as per the syntax, or change its target type. Use `try_cast` to tolerate malformed input and return NULL instead. SQLSTATE: 22018
== SQL (line 2, position 9) ==
  cast(shop as int) > 2
  ^^^^^^^^^^^^^^^^^
"""
GAP = """[USER_RAISED_EXCEPTION] gap_sql gave a row no gap, or one that is not positive SQLSTATE: P0001
== SQL (line 1, position 95) ==
CASE WHEN `at` + CAST(CASE WHEN amount = 7 THEN '0 s' ELSE '1 s' END AS INTERVAL) > `at` THEN
                                   ^^^^^^^^^
"""
UNHELD = "[USER_RAISED_EXCEPTION] step 2 (spread): at is 1500-01-01: no such time SQLSTATE: P0001"
STEPS = (
    Transform(where="cast(shop as int) > 2"),
    Aggregate(
        window=Session(gap_sql="CASE WHEN amount = 7 THEN '0 s' ELSE '1 s' END"),
        keys=("shop",),
        measures={"share": "sum(amount /\n (amount - 7))"},
    ),
)
SPEC = pipeline(steps=STEPS, output_mode="complete", state={"budget_rows": 9})


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            ZERO,
            "step 2 (aggregate), measures['share']: sum(amount / (amount - 7)): DIVIDE_BY_ZERO: "
            "Division by zero",
        ),
        (
            CAST,
            "step 1 (transform), where: cast(shop as int) > 2: CAST_INVALID_INPUT: The value "
            '\'[x] y\' of the type "STRING" cannot be cast to "INT" because it is malformed. '
            "Correct the value as per the syntax, or change its target type",
        ),
        (
            GAP,
            "step 2 (aggregate), window.gap_sql: CASE WHEN amount = 7 THEN '0 s' ELSE '1 s' END: "
            "USER_RAISED_EXCEPTION: gap_sql gave a row no gap, or one that is not positive",
        ),
        (UNHELD, "step 2 (spread): USER_RAISED_EXCEPTION: at is 1500-01-01: no such time"),
    ],
    ids=["a division", "a cast", "a gap", "a time that a step of one's own cannot hold"],
)
def test_the_reason_names_step_field_expression_and_sparks_error_class(said, reason):
    for text in (said, STREAM.format(said=said)):
        assert DataError.of(text).reason(SPEC) == reason


@pytest.mark.parametrize(
    "text",
    [
        "[INVALID_OFFSET] no SQLSTATE: 42000",
        "[CONCURRENT_STREAM_LOG_UPDATE] SQLSTATE: 40000",
        "An exception was thrown from the Python worker: [X] SQLSTATE: 22012",
        "java.lang.OutOfMemoryError",
    ],
)
def test_no_other_error_is_one_of_a_value(text):
    assert DataError.of(text) is None


def test_where_spark_does_not_know_the_sql_the_fields_are_named_of_which_it_may_be():
    overflow = "[ARITHMETIC_OVERFLOW] overflow. Use 'try_add' to tolerate it. SQLSTATE: 22003"
    gap = "[USER_RAISED_EXCEPTION] gap_sql gave a row no gap SQLSTATE: P0001"
    error, own = DataError.of(overflow), DataError.of(gap)
    assert own is not None
    assert error.reason(SPEC) == (
        "step 1 (transform), where or step 2 (aggregate), window.gap_sql or "
        "step 2 (aggregate), measures['share']: ARITHMETIC_OVERFLOW: overflow"
    )
    assert error.where(pipeline(steps=(STEPS[0],))) == (
        "step 1 (transform), where: cast(shop as int) > 2"
    )
    assert own.where(SPEC).startswith("step 2 (aggregate), window.gap_sql: CASE WHEN")


def test_a_run_that_it_ends_is_not_retried_and_told_how_to_correct_the_expression():
    error = translate_error(RuntimeError(STREAM.format(said=ZERO)), "mine")
    told = {
        "pipeline": "mine",
        "where": "sum(amount / (amount - 7))",
        "condition": "DIVIDE_BY_ZERO",
    }
    because(error, ExpressionFailed, "expression_failed", message="Division by zero", **told)
    assert not error.retry
