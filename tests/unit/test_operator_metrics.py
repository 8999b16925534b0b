"""What a stateful operator did, for ops.batches and for the log."""

from typing import Any

from spark_jobs.audit.operator_metrics import operator_metrics, timers_waiting
from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.ops.operator_metrics import REPORTED
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.spec import State
from tests.unit.specs import deduplicate, in_buckets, pipeline


def operator(**changes: Any) -> OperatorProgress:
    """As Spark's progress has one."""
    return OperatorProgress.of(
        dict.fromkeys(REPORTED, 0) | {"operatorName": "dedupe", "customMetrics": {}} | changes
    )


def progress(*operators: OperatorProgress, **observed: dict[str, int]) -> Progress:
    return Progress(3, 1.0, 10, observed, operators)


def test_each_operator_has_the_rows_that_entered_and_left_it():
    counted = {"entered": {"rows": 10}, "after_0": {"rows": 8}, "after_1": {"rows": 2}}
    found = [
        each.row()
        for each in operator_metrics(pipeline(), progress(operator(), operator(), **counted), {})
    ]
    assert [(row["step"], row["kind"], row["rows_in"], row["rows_out"]) for row in found] == [
        (0, "deduplicate", 10, 8),
        (1, "aggregate", 8, 2),
    ]


def test_a_metric_that_an_operator_does_not_have_is_null_and_not_0():
    [one] = operator_metrics(
        pipeline(), progress(operator(customMetrics={"rocksdbGetCount": 7})), {0: 2}
    )
    found = one.row()
    assert (found["rocksdbGetCount"], found["numRegisteredTimers"], found["timers_fired"]) == (
        7,
        None,
        2,
    )


def test_a_timer_is_in_the_store_twice_and_a_ttl_or_a_list_hides_it():
    two = operator(
        customMetrics={"rocksdbNumInternalColFamiliesKeys": 4, "numValueStateWithTTLVars": 0}
    )
    assert timers_waiting(progress(two)) == 2
    for hiding in ("numValueStateWithTTLVars", "numListStateVars"):
        assert timers_waiting(progress(operator(customMetrics={hiding: 2}))) is None


def test_what_ops_batches_has_of_an_operator_is_what_its_schema_names():
    [found] = operator_metrics(pipeline(), progress(operator()), {})
    assert list(found.row()) == [
        field.name for field in SCHEMAS["batches"].field("operators").type.value_type
    ]


EVENT: dict[str, Any] = {
    "batchId": 3,
    "durationMs": {"triggerExecution": 1000},
    "numInputRows": 10,
    "stateOperators": [
        dict.fromkeys(REPORTED, 16) | {"operatorName": "transformWithStateInPySparkExec"},
        dict.fromkeys(REPORTED, 5) | {"operatorName": "dedupe"},
    ],
}
"""As Spark has it: a Deduplicate, then a GroupState of which it counts sixteen buckets."""
KEYED = pipeline(steps=(deduplicate(), in_buckets()), state=State(budget_rows=9))


def test_of_buckets_keys_are_counted_in_the_place_of_buckets_everywhere():
    counted = {"keys_of_1": {"keys": 4000, "written": 30, "removed": 2}}
    found = Progress.of(EVENT | {"observedMetrics": counted})
    assert (found.state.rows, found.state.open) == (4005, 4000)
    first, second = operator_metrics(KEYED, found, {})
    assert [first.row()[name] for name in COUNTED] == [5, 5, 5]
    assert [second.row()[name] for name in COUNTED] == [4000, 30, 2]
    assert "30 written to state, 2 removed; " in str(second)
    assert "; 4,000 keys in 8 buckets in 16 partitions" in str(second)


def test_where_no_bucket_was_visited_the_keys_are_as_many_as_before_and_not_the_buckets():
    found = Progress.of(EVENT | {"observedMetrics": {"keys_of_1": {}}})
    assert found.state is None, "the state after the batch before is told then"
    _, second = operator_metrics(KEYED, found, {})
    assert second.row().get("numRowsTotal") is None
    assert [second.row()[name] for name in COUNTED[1:]] == [0, 0]
    assert "; as many keys as before in 16 partitions" in str(second)


COUNTED = ("numRowsTotal", "numRowsUpdated", "numRowsRemoved")
