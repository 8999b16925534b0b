"""A step that reads a table beside the stream: behind another one with state, and before an
expression that fails on what was looked up.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Transform, Tumbling
from spark_jobs.topics.flights import FLIGHTS
from tests.harness.turns import alike
from tests.seams.test_side import Charge, ChargeOperator, Fees, put
from tests.spark.test_repair import Repairs

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
SUMS = {"flights": "count(*)", "fees": "sum(fee)"}
HOURS = Aggregate(
    window=Tumbling(size="1 hour"), keys=("carrier",), measures=SUMS, counts="flights"
)

pytestmark = alike("a lookup")


class Behind(Charge):
    """As it is applied anywhere."""

    operator: ClassVar = "tests.spark.test_side:BehindOperator"
    canonical: ClassVar = "tests.spark.test_side:all_at_once"


class BehindOperator(ChargeOperator):
    def apply(self, rows, context):
        return self.row_part(rows, context)

    def counts(self):
        return []


def all_at_once(rows, step, given):
    return BehindOperator(step).row_part(rows, given)


@pytest.fixture
def fees(tmp_path) -> Fees:
    made = Fees(name="fees", path=str(tmp_path / "fees"))
    put(made, 0)
    put(made, 1)
    return made


def charged(*steps: Any) -> Pipeline:
    usual = {"about": "Fees", "topic": FLIGHTS, "watermark_delay": "2 hours"}
    return Pipeline(name="charged", steps=(*steps, HOURS), **usual)


def test_behind_a_step_with_state_a_verify_gives_what_the_drain_gave(scene, fees):
    spec = charged(Deduplicate(keys=("event_id",)), Behind(by=fees))
    made = scene(spec, "first", events=1000, deliveries=1)
    checkpoint = Checkpoint(made.paths.checkpoint)
    watermark = checkpoint.watermark(checkpoint.committed()[-1])
    proof, _ = Repairs(made).done("verify", NEW_YEAR, watermark - timedelta(hours=3))
    assert proof.change.differs == 0 < proof.change.rows_after
    of_aa = [row for row in made.table() if row["carrier"] == "AA"]
    assert [row["fees"] for row in of_aa] == [(100 + ord("A")) * row["flights"] for row in of_aa]
    assert of_aa


def test_records_that_fail_by_what_was_looked_up_are_found_and_no_other(scene, fees):
    fails = "if(fee = 100 + ascii('AA') AND flight = 313, raise_error('odd') IS NULL, true)"
    made = scene(
        charged(Charge(by=fees), Transform(where=fails)), "first", events=1000, deliveries=1
    )
    failing = {
        (row["partition"], row["offset"])
        for row in made.ledger.to_pylist()
        if row["kind"] in {"good", "duplicate"}
        and (row["carrier"], row["flight"]) in {("AA", 313), ("AS", 313)}
    }
    quarantined = (row for row in made.ops("quarantine") if "odd" in row["reason"])
    assert {(row["partition"], row["offset"]) for row in quarantined} == failing != set()


def test_rows_of_records_that_a_correction_touches_are_mended_without_a_person(scene, fees):
    """Each row is a record's: it has no key, and what was looked up is a part of it."""
    usual = {"about": "Fees", "topic": FLIGHTS, "watermark_delay": None}
    made = scene(
        Pipeline(name="charged", steps=(Charge(by=fees),), **usual),
        "first",
        events=600,
        deliveries=1,
    )
    put(fees, 2)
    made.run("second")
    repairs = Repairs(made)
    staged = repairs.stage(plan := repairs.plan())
    assert staged.problem is None, (staged.problem, plan.lines)
    change = staged.change
    assert change.added == change.removed > 0
    assert (change.unexplained, change.unaccounted) == (0, 0)
    assert repairs.swap(plan).state == "swapped"
    assert all(row["fee"] == 200 + ord(row["carrier"][0]) for row in made.table() if row["fee"])
    assert {row["fee"] for row in made.table() if row["carrier"] == "UA"} == {None}
    assert repairs.plan().idle
