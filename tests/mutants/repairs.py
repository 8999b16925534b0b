"""Mutants of repairs, their swaps and their contexts. See mutant.py."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "the records of a repair that needed no commit stay merged when the rows that it relied on go",
        "spark_jobs/ops/repairs.py",
        "        rows = [*rows, *_relying_on(root, rows)]\n",
        "",
        "tests/unit/test_swap.py::test_a_record_that_a_later_repair_found_in_the_rows_waits_too_when_they_go",
    ),
    Mutant(
        "a range of a GroupState is computed from its own records alone",
        "spark_jobs/contract/step/group_state.py",
        "return positions.widened(ranges.context or timedelta(), ranges.settle)",
        "return positions",
        "tests/spark/test_context.py::test_a_range_is_the_slice_of_the_whole_and_twice_the_context_changes_nothing[aircraft_rotations]",
    ),
    Mutant(
        "a late record waits although the day with the row of its week was computed",
        "spark_jobs/repair/fates.py",
        "            rows = way.rows_of(touched)\n",
        "            rows = touched\n",
        "tests/unit/test_fates.py::test_the_day_on_which_a_week_ends_has_the_row_of_its_late_records",
    ),
    Mutant(
        "a swap that an earlier try has committed is committed again",
        "spark_jobs/repair/exchange.py",
        "            done = committed(paths, known, claim)\n",
        "            done = None\n",
        "tests/unit/test_swap.py::test_a_second_swap_does_nothing",
    ),
)
