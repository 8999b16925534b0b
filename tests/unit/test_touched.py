"""The ranges that a repair would compute now: those of late records that wait, of final rows."""

from datetime import timedelta

from spark_jobs.ops import ops_tables
from spark_jobs.repair.find.ranges_due import touched
from spark_jobs.storage.root.paths import Paths
from tests.unit.repaired import DAY, SPEC
from tests.unit.test_coverage import HOURLY, add_late, root

__all__ = ["root"]  # the fixture


def test_ranges_that_touch_are_one_and_a_late_record_of_open_rows_is_too_early(root):
    add_late(root, (1, 0.5), (2, 1.5), (3, 3.5), (4, 3.6), (5, 6.5))
    found = touched(HOURLY, root.paths)
    assert [((each.start - DAY), (each.end - DAY), each.late) for each in found.ranges] == [
        (timedelta(), timedelta(hours=2), 2),
        (timedelta(hours=3), timedelta(hours=4), 2),
    ]
    assert found.too_early == 1


def test_a_record_that_a_repair_has_used_touches_nothing_more(root):
    add_late(root, (1, 0.5), (2, 1.5))
    own = {"pipeline": SPEC.name, "generation": "g1", "partition": 0, "source": "late"}
    ops_tables.append(root.paths.root, "merged", [own | {"offset": 1, "fate": "merged"}])
    [found] = touched(HOURLY, root.paths).ranges
    assert (found.start - DAY, found.late) == (timedelta(hours=1), 1)


def test_a_pipeline_that_never_ran_has_nothing_to_repair(tmp_path):
    assert touched(HOURLY, Paths(str(tmp_path), HOURLY)).ranges == ()
