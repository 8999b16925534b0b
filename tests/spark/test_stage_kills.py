"""A stage that ends anywhere leaves all as it was, and the next try is canonical."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.errors import RecordsUnreachable
from spark_jobs.proof.acts import files
from spark_jobs.repair.unit.range_rows import RangeRows
from spark_jobs.storage import failpoint
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.refused import because, has
from tests.harness.turns import alike
from tests.spark import operators, truth
from tests.spark.test_archive import empty
from tests.spark.test_repair import Repairs, rows

pytestmark = alike("a stage that ends")


@pytest.mark.parametrize("place", failpoint.STAGE_POINTS)
def test_a_stage_that_ends_anywhere_is_garbage_and_is_done_anew(waiting, monkeypatch, place):
    operator, made = operators.named("update_window"), waiting("update_window")
    work = Repairs(made)
    plan, table = work.plan(), rows(made)
    assert not plan.idle
    checkpoint = files(Path(str(made.paths.checkpoint)))
    with monkeypatch.context() as ended:
        ended.setitem(failpoint.ACTIVE, place, "raise")
        assert work.stage(plan).problem is not None
    assert rows(made) == table
    assert files(Path(str(made.paths.checkpoint))) == checkpoint, "the live checkpoint"
    report = work.stage(plan)
    assert report.problem is None
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    work.swap(plan)
    watermark = truth.truth(operator, made.ledger, truth.ends(made)).watermark
    assert watermark is not None
    wanted = truth.canonical(operator, made.ledger, watermark)
    assert_same(rows(made), oracle.comparable(wanted), "the table")
    places = [(row["partition"], row["offset"]) for row in made.ops("merged")]
    assert len(places) == len(set(places))


def test_records_that_retention_takes_while_they_are_read_are_named_and_no_retry_is_asked_for(
    scene, monkeypatch, examples
):
    made = scene(operators.named("update_window").spec, events=1000, deliveries=2, ran="first")
    made.deliver()
    made.run("second")
    work, compute = Repairs(made), RangeRows.compute
    plan = work.plan()

    def overtaken(*given: Any) -> Any:
        empty(made)
        return compute(*given)

    monkeypatch.setattr(RangeRows, "compute", overtaken)
    problem = work.stage(plan).problem
    because(problem, RecordsUnreachable, "gone_since_plan", places=has("partition 0: "))
    assert not problem.error().retry
