"""A repair of a table in the store: planned, staged, swapped in and taken back."""

import pytest

from spark_jobs.repair.undo import undo
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.table import Delta
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.long_form import long_form
from tests.harness.turns import alike
from tests.spark import operators, truth
from tests.spark.test_repair import Repairs, rows
from tests.store.root import of

pytestmark = alike("a root on a store")


@long_form
def test_late_records_are_repaired_by_a_swap_that_a_second_try_completes_and_an_undo_takes_back(
    scene, store, monkeypatch
):
    operator = operators.named("update_window")
    made = scene(operator.spec, events=1500, deliveries=2)
    for number in range(2):
        made.deliver()
        made.run(f"drain-{number}")
    watermark = truth.truth(operator, made.ledger, truth.ends(made)).watermark
    assert watermark is not None
    wanted = oracle.comparable(truth.canonical(operator, made.ledger, watermark))
    work, drains = Repairs(made), rows(made)
    assert drains != wanted, "nothing is to repair"
    plan = work.plan()
    report = work.stage(plan)
    assert report.problem is None
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    staged = [name for name in of(made, store).objects() if f"/{plan.repair_id}/" in name]
    assert any("/rows/" in name for name in staged)
    assert not any("/records/" in name for name in staged), "the bytes of late records stay"

    with monkeypatch.context() as ended:
        ended.setitem(failpoint.ACTIVE, "swap.committed", "raise")
        with pytest.raises(failpoint.Failure):
            work.swap(plan)
    version = Delta(made.paths.table).version()
    assert (work.row(plan)["state"], made.ops("merged")) == ("staged", [])
    done = work.swap(plan)
    assert done.table_version == version
    assert Delta(made.paths.table).version() == version, "nothing is committed twice"
    assert_same(rows(made), wanted, "the table after the repair")
    assert len(made.ops("merged")) == done.merged > 0
    assert work.plan().idle

    undo(made.spec, made.settings.root, plan.repair_id, "undo")
    assert_same(rows(made), drains, "the table after the undo")
    assert work.plan().spans == plan.spans, "its records wait again"
