"""Mutants of the repairs of sessions. See mutant.py."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ROWS = "tests/spark/test_session_rows.py::"

MUTANTS = (
    Mutant(
        "a range of sessions is computed without the records before it",
        "spark_jobs/contract/windows.py",
        "        return positions.widened(reach, reach)",
        "        return positions.widened(timedelta(), reach)",
        "tests/unit/test_session_ranges.py::test_what_a_range_needs_gives_its_sessions_or_shows_that_one_is_too_long",
    ),
    Mutant(
        "a session that began a gap before what is read is taken for whole",
        "spark_jobs/contract/windows.py",
        "reach = longest + (self.gap or longest) + MICROSECOND",
        "reach = longest",
        "tests/unit/test_session_ranges.py::test_what_a_range_needs_gives_its_sessions_or_shows_that_one_is_too_long",
    ),
    Mutant(
        "a late record touches its own session as if nothing followed",
        "spark_jobs/contract/windows.py",
        "times.widened(MICROSECOND, longest - MICROSECOND)",
        "times.widened(MICROSECOND, (self.gap or longest) - MICROSECOND)",
        "tests/unit/test_session_ranges.py::test_a_late_record_touches_the_session_that_it_is_in_and_all_that_this_one_replaces",
    ),
    Mutant(
        "a part of a session that ended before the range stays beside the whole one",
        "spark_jobs/contract/ranged.py",
        "before = self.spec.ranges.context if self.sessions else None",
        "before = None",
        "tests/unit/test_session_ranges.py::test_a_late_record_touches_the_session_that_it_is_in_and_all_that_this_one_replaces",
    ),
    Mutant(
        "rows of the range go although their session ends behind it",
        "spark_jobs/repair/sessions.py",
        'F.when(part, F.col(f"{_LAST}.{_IN}"))',
        'F.when(part, F.col(f"{_LAST}.{_IN}") | F.col(_IN))',
        f"{ROWS}test_the_sessions_of_a_range_replace_what_they_overlap_of_their_key_and_nothing_else",
    ),
    Mutant(
        "a session does not replace its parts",
        "spark_jobs/repair/sessions.py",
        'F.when(part, F.col(f"{_LAST}.{_IN}"))',
        "F.when(part, F.lit(False))",
        f"{ROWS}test_the_sessions_of_a_range_replace_what_they_overlap_of_their_key_and_nothing_else",
    ),
    Mutant(
        "a row wider than its session stays beside it",
        "spark_jobs/repair/sessions.py",
        "wider = F.when(covered, F.lit(True)).when(~F.col(_IN) & ~taking, F.lit(False))",
        "wider = covered",
        f"{ROWS}test_no_record_is_lost_or_doubled_when_records_have_left_their_sessions",
    ),
    Mutant(
        "a row wider than its session goes with the range of a part of it",
        "spark_jobs/repair/sessions.py",
        "wider = F.when(covered, F.lit(True)).when(~F.col(_IN) & ~taking, F.lit(False))",
        "wider = F.col(_IN) | taking",
        f"{ROWS}test_no_record_is_lost_or_doubled_when_records_have_left_their_sessions",
    ),
    Mutant(
        "rows that end behind the range are not looked at",
        "spark_jobs/repair/sessions.py",
        "way.position.sql(way.replaced(spans))) | overlapped",
        "way.position.sql(way.replaced(spans)))",
        f"{ROWS}test_a_row_wider_than_its_session_goes_with_all_that_it_overlaps_or_its_range_is_told",
    ),
    Mutant(
        "a verify calls rows canonical that are parts of a session behind its range",
        "spark_jobs/contract/change.py",
        '(*every, differs, parts) if kind == "verify"',
        '(*every, differs) if kind == "verify"',
        "tests/unit/test_expectations.py::test_a_verify_fails_where_rows_are_parts_of_sessions_that_end_elsewhere",
    ),
    Mutant(
        "parts of sessions that end elsewhere are not counted",
        "spark_jobs/repair/account.py",
        "return 0 if carried is None else",
        "return 0 if carried is not None else",
        f"{ROWS}test_a_row_wider_than_its_session_goes_with_all_that_it_overlaps_or_its_range_is_told",
    ),
    Mutant(
        "a key named as another with late_ before it cannot be told from it",
        "spark_jobs/repair/sessions.py",
        '_LATE = "~late "',
        '_LATE = "late_"',
        f"{ROWS}test_keys_may_have_any_name",
    ),
    Mutant(
        "a row that no record gives stays in the table",
        "spark_jobs/repair/sessions.py",
        "wider).otherwise(F.col(_IN))",
        "wider).otherwise(F.lit(False))",
        f"{ROWS}test_a_row_that_no_record_gives_goes_and_nothing_explains_it",
    ),
    Mutant(
        "a session that is longer than declared is computed from a part of its records",
        "spark_jobs/repair/sessions.py",
        "    if row is not None:\n        raise RangeUnsupported(",
        "    if row is not None and not row:\n        raise RangeUnsupported(",
        f"{ROWS}test_a_session_that_is_longer_than_declared_is_refused_with_its_times",
    ),
    Mutant(
        "the rows of other keys in the hours of a swap are lost",
        "spark_jobs/repair/staged.py",
        "if carried is not None else rows",
        "if carried is None else rows",
        f"{ROWS}test_the_sessions_of_a_range_replace_what_they_overlap_of_their_key_and_nothing_else",
    ),
    Mutant(
        "a swap does not see that another repair replaced a session before its range",
        "spark_jobs/repair/preconditions.py",
        "        both += [span for span in manifest.compared if any(map(span.overlaps, changed))]\n",
        "",
        "tests/unit/test_swap.py::test_a_repair_of_sessions_overlaps_one_that_replaced_rows_before_its_range",
    ),
    Mutant(
        "a swap of sessions is made although the rows before its range are others now",
        "spark_jobs/repair/exchange.py",
        "manifest.position, manifest.compared",
        "manifest.position, manifest.spans",
        "tests/unit/test_swap.py::test_a_repair_of_sessions_is_stale_when_rows_before_its_range_change",
    ),
)
