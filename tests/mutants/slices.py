"""Mutants of the index of event times."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

NOTED = "tests/unit/test_slices.py"
FOUND = "tests/unit/test_offsets_of.py"

COVERED = "tests/unit/test_coverage.py"
SPANS = "tests/unit/test_late_spans.py"
EACH = "test_pages_and_the_start_of_a_repair_get_no_more_rows_from_a_hundred_times_the_records"
TRIED = (
    "tests/unit/test_untried.py"
    "::test_records_that_a_repair_has_tried_start_no_other_one_until_a_new_one_is_late"
)
SAME = "test_a_repair_is_planned_started_and_accounted_for_by_the_same_records"

MUTANTS = (
    Mutant(
        "an hour that drains still write is called final",
        "spark_jobs/repair/coverage.py",
        "until is None or span.end > until",
        "until is None or span.start > until",
        f"{COVERED}::test_hours_before_the_watermark_are_canonical_and_later_ones_are_open",
    ),
    Mutant(
        "a late record whose repair was undone is not waiting",
        "spark_jobs/repair/late.py",
        ' AND {source}."offset" = done.o ',
        " ",
        f"{COVERED}::test_an_hour_that_late_records_touch_says_how_many_until_a_repair_has_them",
    ),
    Mutant(
        "the ranges of late records are not joined to as many as a commit takes",
        "spark_jobs/repair/late_spans.py",
        "WHEN gap > 0 AND place < {MOST} THEN",
        "WHEN gap > 0 THEN",
        f"{SPANS}::test_of_too_many_ranges_those_with_the_smallest_gap_are_one",
    ),
    Mutant(
        "a late record from before 1970 is in the hour after its own",
        "spark_jobs/contract/span_sql.py",
        "ahead = (-FIRST // length + 1) * length",
        "ahead = 0 * length",
        f"{SPANS}::test_the_query_engine_finds_what_each_record_touches_by_itself",
    ),
    Mutant(
        "a page reads every late record",
        "spark_jobs/repair/late_spans.py",
        "s < {behind} GROUP BY 1, 2, 3",
        "s < {behind} GROUP BY 1, 2, 3, at",
        f"{SPANS}::{EACH}",
    ),
    Mutant(
        "the start of a repair reads every late record",
        "spark_jobs/repair/late_spans.py",
        '{found} GROUP BY "partition"\'',
        '{found} GROUP BY "partition", "offset"\'',
        f"{SPANS}::{EACH}",
    ),
    Mutant(
        "a repair of a range merges the late records of all others",
        "spark_jobs/repair/late_spans.py",
        '            f"AND {_overlaps(bound)} GROUP BY s, e"\n',
        '            "GROUP BY s, e"\n',
        f"{SPANS}::{SAME}",
    ),
    Mutant(
        "a repair that had other records holds back those of the same hours",
        "spark_jobs/repair/late_spans.py",
        'return f"(({offsets}) AND (',
        'return f"((true) AND (',
        TRIED,
    ),
    Mutant(
        "a record has a fate before a repair has computed the last of its windows",
        "spark_jobs/contract/span_sql.py",
        '            f"{self.end} <= {microseconds(span.end)})"\n',
        '            f"{self.start} <= {microseconds(span.end)})"\n',
        f"{SPANS}::{SAME}",
    ),
    Mutant(
        "a record of a week has its fate from the first day of that week",
        "spark_jobs/contract/span_sql.py",
        'f"({self.start} + {by // MICROSECOND})"',
        "self.start",
        f"{SPANS}::{SAME}",
    ),
    Mutant(
        "a balance counts a record with two fates once",
        "spark_jobs/repair/balance.py",
        "Balance(late=late, off=late - sum(counted.values()), **counted)",
        "Balance(late=late, off=0, **counted)",
        f"{COVERED}::test_the_balance_closes_unless_a_table_has_a_record_twice",
    ),
    Mutant(
        "a record behind the watermark, whose window is open, is left out of its slice",
        "spark_jobs/contract/lateness.py",
        "late_before_ms - spec.entry.late_after // timedelta(milliseconds=1)",
        "late_before_ms",
        f"{NOTED}::test_what_is_late_for_certain",
    ),
    Mutant(
        "a record that a SQL Transform may give another time is left out as late",
        "spark_jobs/contract/lateness.py",
        "        step.where for step in spec.before_state\n",
        "        True for step in spec.before_state\n",
        f"{NOTED}::test_what_is_late_for_certain",
    ),
    Mutant(
        "slices are stored although the notes of a task are lost",
        "spark_jobs/audit/slice_store.py",
        "    if sum(each.records for each in noted) != read:\n",
        "    if False:\n",
        f"{NOTED}::test_slices_that_lack_a_record_are_not_stored",
    ),
    Mutant(
        "a record ahead of the query's clock is premature, whatever its batch's clock says",
        "spark_jobs/decode/slices.py",
        "        return self._replace(times=self.times.and_(kept), ahead=NO_TIMES)\n",
        "        return self._replace(ahead=NO_TIMES) if kept else self\n",
        f"{NOTED}::test_with_the_batchs_clock_a_slice_has_all_that_is_not_premature",
    ),
    Mutant(
        "offsets without a slice are not read",
        "spark_jobs/repair/slices.py",
        "(slices.overlapping(spans)), *lacking]",
        "(slices.overlapping(spans))]",
        f"{FOUND}::test_offsets_without_a_slice_are_read_in_full_and_counted",
    ),
    Mutant(
        "what is left of too many ranges are the first ones",
        "spark_jobs/repair/slices.py",
        "(after or len(found)) - 1",
        "n if after is None else after - 1",
        f"{FOUND}::test_merging_loses_no_offset_and_leaves_few_ranges_apart",
    ),
    Mutant(
        "late records expire, and their slices still leave them out",
        "spark_jobs/admin/maintain.py",
        'conditions.get("late")',
        'conditions.get("nothing")',
        "tests/unit/test_maintain.py::test_slices_take_in_the_times_of_late_records_whose_rows_expire",
    ),
    Mutant(
        "a batch that is read again for the account leaves its slices unnoted",
        "spark_jobs/audit/second_read.py",
        "            notes=notes,\n",
        "",
        "tests/spark/test_slices.py"
        "::test_the_slices_of_a_batch_whose_progress_is_lost_come_from_the_second_read",
    ),
)
