"""`sluice explain`: real plans of Spark, in words."""

from functools import cache

import pytest
from pyspark.errors import AnalysisException

from spark_jobs.errors import CheckBroken, SpecInvalid
from spark_jobs.registry import find as registry
from spark_jobs.runs.explain import deep, explain, known_operators
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Aggregate, Check, Layout, Pipeline, Transform, Tumbling
from tests.spark import operators


def conditional(sql: str) -> Check:
    kwargs = {"column": "event_time", "row_condition": sql, "condition_parser": "spark"}
    return Check(type="expect_column_values_to_not_be_null", kwargs=kwargs)


FOUND = {
    "flight_events": ["StreamingDeduplicateWithinWatermark"],
    "departure_delays": ["StateStoreSave", "StateStoreRestore", "StreamingDeduplicateWithinWatermark"],
    "aircraft_rotations": ["TransformWithStateInPySpark", "StreamingDeduplicateWithinWatermark"],
}  # fmt: skip


@cache
def explained(pipeline: str) -> tuple[str, ...]:
    """Planned once."""
    spec = registry.load(pipeline) if pipeline in FOUND else operators.named(pipeline).spec
    return tuple(explain(spec, Settings.from_environment()))


@pytest.mark.parametrize("pipeline", FOUND)
def test_every_stateful_operator_of_the_plan_is_explained(pipeline):
    lines = explained(pipeline)
    told = [
        line.strip().partition(":")[0]
        for line in lines
        if line.startswith("  ") and not line.startswith("  step")
    ]
    assert [name for name in reversed(told) if name in FOUND[pipeline]] == FOUND[pipeline]
    assert any("2 partitions" in line and "RocksDBStateStoreProvider" in line for line in lines)
    assert any("state format 2" in line for line in lines)
    assert any(
        "evicted when" in line and "late rows by the event time of the data" in line
        for line in lines
    )


@pytest.mark.parametrize("operator", operators.ALL, ids=lambda operator: operator.spec.name)
def test_no_plan_has_an_operator_with_state_that_is_not_known(operator, monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")
    lines = explained(operator.spec.name)
    plan = lines[: lines.index("")]
    named = [line for line in plan if "state info [" in line]
    assert named
    assert len(
        [name for name in known_operators("\n".join(plan)) if name != "EventTimeWatermark"]
    ) == len(named)


def test_state_that_nothing_evicts_is_said_to_be_so():
    lines = explained("complete_windows")
    assert any("nothing evicts it: the budget is 1,000,000 rows" in line for line in lines)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (Transform(where="delay_minute > 0"), "`delay_minute` cannot be resolved"),
        (Transform(where="delay_minutes > map(1, 2)"), "DATATYPE_MISMATCH"),
        (Transform(sql="SELECT *, upper(cancelled, 1) AS x FROM rows"), "WRONG_NUM_ARGS"),
        (Transform(where="uper(origin) = 'EWR'"), "uper is not a function"),
    ],
    ids=["column", "type", "arguments", "function"],
)
def test_what_spark_does_not_know_is_found_without_kafka(step, says):
    spec = registry.load("flight_events")
    spec = spec.model_copy(update={"steps": (step, *spec.steps)})
    with pytest.raises(SpecInvalid) as refused:
        list(planned(spec))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT *, to_json(struct(*)) AS whole FROM rows",
        "SELECT *, named_struct('k', kafka).k.raw.key AS key FROM rows",
        "SELECT event_time, kafka AS record, kafka FROM rows",
        "SELECT r.*, cast(k.raw.key AS string) AS key FROM (SELECT *, kafka AS k FROM rows) AS r",
    ],
)
def test_raw_bytes_are_found_however_they_are_named(query):
    spec = registry.load("flight_events")
    spec = spec.model_copy(update={"steps": (Transform(sql=query), *spec.steps)})
    with pytest.raises(SpecInvalid) as refused:
        list(planned(spec))
    assert "kafka.raw is kept of rejected records only" in str(refused.value)


def test_the_other_fields_of_kafka_are_columns_of_a_step():
    query = "SELECT *, r.kafka.offset AS at_offset FROM rows AS r WHERE kafka.partition >= 0"
    spec = registry.load("flight_events")
    spec = spec.model_copy(update={"steps": (Transform(sql=query), *spec.steps)})
    [line] = planned(spec)
    assert "at_offset bigint" in line


@pytest.mark.parametrize("mode", ["append", "update"])
def test_what_spark_cannot_do_in_a_stream_is_refused(mode):
    step = Aggregate(window=Tumbling(size="1 hour"), measures={"n": "count(distinct destination)"})
    spec = registry.load("flight_events").model_copy(
        update={"steps": (step,), "output_mode": mode, "output_checks": ()}
    )
    with pytest.raises(SpecInvalid) as refused:
        list(planned(spec))
    assert "Distinct aggregations are not supported" in str(refused.value)


BETWEEN = "expect_column_values_to_be_between"
NOT_NULL = "expect_column_values_to_not_be_null"


@pytest.mark.parametrize(
    ("check", "error", "says"),
    [
        (Check(type=BETWEEN, kwargs={"column": "event_time", "minimum": "2026"}), CheckBroken, "minimum extra fields"),
        (Check(type=BETWEEN, kwargs={"column": "event_time"}), CheckBroken, "min_value"),
        (Check(type=NOT_NULL[:-1], kwargs={"column": "event_time"}), CheckBroken, NOT_NULL[:-1]),
        (conditional("no_such_column > 1"), CheckBroken, "no_such_column"),
        (conditional("IDENTIFIER('ref' || 'lect')('java.lang.System', 'gc') is null"), SpecInvalid, "output_checks[0]"),
        (Check(type="expect_column_mean_to_be_between", kwargs={"column": "origin", "max_value": 1}), CheckBroken, "numeric"),
    ],
    ids=["argument", "no bound", "name", "column of a condition", "call of a condition", "type"],
)  # fmt: skip
def test_a_check_that_no_run_can_evaluate_is_refused(check, error, says):
    spec = registry.load("flight_events").model_copy(update={"output_checks": (check,)})
    with pytest.raises(error) as refused:
        list(planned(spec))
    assert says in str(refused.value)


@pytest.mark.parametrize("layout", [{"partition_by": ("origin",)}, {"cluster_by": ("nothing",)}])
def test_a_layout_that_does_not_fit_the_columns_that_spark_tells_is_refused(layout):
    spec = registry.load("flight_events")
    with pytest.raises(SpecInvalid) as refused:
        list(planned(spec.model_copy(update={"layout": Layout(**layout)})))
    assert f"layout.{next(iter(layout))}" in str(refused.value)


def test_a_query_that_spark_can_plan_is_told_with_its_columns():
    [line] = planned(registry.load("departure_delays"))
    assert line.startswith("ok  departure_delays: window_start timestamp, window_end timestamp, ")


def planned(spec: Pipeline) -> list[str]:
    """As the command has it."""
    try:
        return list(deep(spec, Settings.from_environment()))
    except AnalysisException as error:
        raise translate_error(error, spec.name) from None
