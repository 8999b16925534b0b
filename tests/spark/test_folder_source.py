"""A source that is not Kafka: drains, repairs and verifies know sources by their port alone."""

import pytest

from tests.harness import oracle
from tests.harness.folder import FolderScene
from tests.spark import operators, truth
from tests.spark.test_repair import Repairs, rows, watermark_of

pytestmark = pytest.mark.usefixtures("spark")


def test_a_folder_of_files_is_drained_repaired_and_verified_without_any_broker(tmp_path):
    operator = operators.named("update_window")
    made = FolderScene(tmp_path, operator.spec, events=1500, stores=1, partitions=2)
    made.thrice()

    watermark = truth.truth(operator, made.ledger, truth.ends(made)).watermark
    wanted = oracle.comparable(truth.canonical(operator, made.ledger, watermark))
    assert rows(made) != wanted, "late records wait"
    repairs = Repairs(made)
    report, swapped = repairs.done()
    assert swapped is not None
    assert report.change.unaccounted == 0
    assert rows(made) == wanted

    first = min(row["event_time"] for row in made.ops("late")).replace(minute=0, second=0)
    report, _ = repairs.done("verify", first, watermark_of(made).replace(minute=0, second=0))
    assert (report.change.added, report.change.removed, report.change.changed) == (0, 0, 0)
    assert report.change.rows_after > 0
