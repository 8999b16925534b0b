"""What a stateful operator did, for ops.batches and for the log."""

from typing import Any

from spark_jobs.audit.operator_metrics import operator_metrics, timers_waiting
from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.contract.operator_metrics import REPORTED
from spark_jobs.ops import ops_tables
from tests.unit.specs import pipeline


def operator(**changes: Any) -> OperatorProgress:
    """As Spark's progress has one."""
    return OperatorProgress.of(
        dict.fromkeys(REPORTED, 0) | {"operatorName": "dedupe", "customMetrics": {}} | changes
    )


def progress(*operators: OperatorProgress, **observed: dict[str, int]) -> Progress:
    return Progress(3, 1.0, 10, observed, operators)


def test_each_operator_has_the_rows_that_entered_and_left_it() -> None:
    counted = {"entered": {"rows": 10}, "after_0": {"rows": 8}, "after_1": {"rows": 2}}
    found = [
        each.row()
        for each in operator_metrics(pipeline(), progress(operator(), operator(), **counted), {})
    ]
    assert [(row["step"], row["kind"], row["rows_in"], row["rows_out"]) for row in found] == [
        (0, "deduplicate", 10, 8),
        (1, "aggregate", 8, 2),
    ]


def test_a_metric_that_an_operator_does_not_have_is_null_and_not_0() -> None:
    [one] = operator_metrics(
        pipeline(), progress(operator(customMetrics={"rocksdbGetCount": 7})), {0: 2}
    )
    found = one.row()
    assert (found["rocksdbGetCount"], found["numRegisteredTimers"], found["timers_fired"]) == (
        7,
        None,
        2,
    )


def test_the_words_say_what_it_did_and_leave_out_what_it_did_not() -> None:
    [found] = operator_metrics(
        pipeline(),
        progress(
            operator(
                numRowsUpdated=1200,
                numRowsRemoved=3,
                numRowsTotal=5000,
                memoryUsedBytes=2_500_000,
                numShufflePartitions=2,
                customMetrics={"numDroppedDuplicateRows": 40},
                allUpdatesTimeMs=200,
                commitTimeMs=400,
            ),
            entered={"rows": 1240},
            after_0={"rows": 1200},
        ),
        {},
    )
    assert str(found) == (
        "step 1, deduplicate: 1,240 rows in, 1,200 out; 1,200 written to state, 3 removed; 40 "
        "duplicates dropped; "
        "5,000 rows in 2 partitions, 2.5 MB; 0.6 s of state work in all tasks"
    )


def test_a_timer_is_in_the_store_twice_and_a_ttl_or_a_list_hides_it() -> None:
    two = operator(
        customMetrics={"rocksdbNumInternalColFamiliesKeys": 4, "numValueStateWithTTLVars": 0}
    )
    assert timers_waiting(progress(two)) == 2
    for hiding in ("numValueStateWithTTLVars", "numListStateVars"):
        assert timers_waiting(progress(operator(customMetrics={hiding: 2}))) is None


def test_what_ops_batches_has_of_an_operator_is_what_its_schema_names() -> None:
    [found] = operator_metrics(pipeline(), progress(operator()), {})
    assert list(found.row()) == [
        field.name for field in ops_tables.SCHEMAS["batches"].field("operators").type.value_type
    ]
