"""Every form of a stateful operator over real Kafka: two deliveries, the second in many batches."""

from datetime import timedelta

import pytest

from local.deliveries import MALFORMATIONS
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import StateMisused
from spark_jobs.spec import Session
from spark_jobs.steps import aggregate
from tests.harness.long_form import long_form
from tests.harness.refused import because
from tests.harness.turns import alike
from tests.spark import edges, operators, truth

NO_GAP = "gap_sql gave a row no gap"
DELAY = timedelta(hours=2)
"""Of all forms that have a watermark."""


IN_PROPERTIES = {
    "whole_rows", "event_time_key", "for_ever", "session_own_gap", "update_window",
    "carrier_ranking", "busy_runways", "airport_delays", "complete_windows", "rush_hours",
}  # fmt: skip
"""Forms that tests/spark/properties has too, in every run: here they are in the long form."""
ELSEWHERE = {"daily_flights", "carrier_totals", "carrier_days"}
"""Also in the long form: test_operators_page.py and the properties have them in every run."""
TRIED = [
    pytest.param(
        operator,
        id=operator.spec.name,
        marks=[long_form] if operator.spec.name in IN_PROPERTIES | ELSEWHERE else [],
    )
    for operator in operators.ALL
]


@alike("a form of an operator")
@pytest.mark.parametrize("operator", TRIED)
def test_the_table_is_what_duckdb_makes_of_all_good_records_but_the_late(scene, examples, operator):
    """What is late and written is the replay's, also where the first records are edges."""
    made = scene(operator.spec, events=3000, deliveries=2)
    made.deliver()
    watermark = edges.settle(made, DELAY)
    first = made.run("one batch")
    edges.around(made, watermark)
    made.deliver()
    made.change(max_offsets_per_batch=500)
    report = made.run("many batches")
    assert len(report.batches) > 3
    known = truth.hold(made, operator)
    assert known.rows
    assert {row["reason"] for row in made.ledger.to_pylist()} == {"", *MALFORMATIONS}
    if operator.until is not None:
        assert (first.watermark, report.watermark) == (watermark, known.watermark)
        assert len(set(known.late.values())) > 1, "all that is late has missed one watermark"
    assert all(
        step["rows_in"] is not None
        for row in made.ops("batches")
        for step in row["operators"] or []
    )


@pytest.mark.parametrize("gap", ["'0 minutes'", "CAST(NULL AS STRING)", "'-5 minutes'"])
def test_no_gap_is_null_zero_or_negative(spark, gap):
    step = operators.named("session_own_gap").spec.steps[1]
    step = step.model_copy(
        update={
            "window": Session(gap_sql=f"CASE WHEN carrier = 'UA' THEN {gap} ELSE '30 minutes' END")
        }
    )
    columns = (
        "TIMESTAMP '2013-01-01 08:00:00' AS event_time, 'EWR' AS origin, 100 AS "
        "distance_miles, 0 AS delay_minutes"
    )
    for carrier, fails in (("AA", False), ("UA", True)):
        rows = aggregate.grouped(
            spark.sql(f"SELECT {columns}, '{carrier}' AS carrier"), step, "event_time"
        )
        if fails:
            with pytest.raises(Exception, match=NO_GAP):
                rows.collect()
        else:
            assert [row.flights for row in rows.collect()] == [1]


def test_a_row_yielded_behind_the_watermark_of_the_next_step_is_an_error_not_lost(scene, examples):
    busy_days = operators.named("busy_days").spec
    yields = busy_days.steps[1].model_copy(update={"processor": "DayBefore", "keys": ("origin",)})
    steps = (busy_days.steps[0], yields, busy_days.steps[2])
    made = scene(
        busy_days.model_copy(update={"name": "stragglers", "steps": steps}),
        events=300,
        deliveries=1,
        max_offsets_per_batch=100,
    )
    made.deliver_all()
    report = made.drain()
    name = "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED"
    because(report.problem, StateMisused, "misused", name=name)
    # The third batch is the first that holds rows against a watermark: the one of the first batch's
    # events.
    assert (
        Checkpoint(made.paths.checkpoint).planned(),
        Checkpoint(made.paths.checkpoint).committed(),
    ) == ([0, 1, 2], [0, 1])
    assert sum(row["rows_out"] for row in made.ops("batches")) == len(made.table())
