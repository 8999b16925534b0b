"""Mutants of the operators, of what is late for them, of their state and of the batches that close
it. See mutant.py.
"""

from tests.mutants.mutant import Mutant

FORMS = "tests/spark/test_operators.py::test_the_table_is_what_duckdb_makes_of_all_good_records_less_what_was_late"
CLOSING = "tests/spark/test_closing.py"
BAD = "tests/spark/test_bad_values.py::"

MUTANTS = (
    Mutant(
        "a record is called late whose first window ends up to twenty minutes after the watermark, and is in the table",
        "spark_jobs/steps/chain.py",
        "F.timestamp_millis(F.lit(late_before_ms))",
        "F.timestamp_millis(F.lit(late_before_ms + 1_200_000))",
        f"{FORMS}[busy_runways]",
    ),
    Mutant(
        "a window that ends where the watermark stands is not late",
        "spark_jobs/steps/aggregate.py",
        "return _first_window_end(event_time, window.size, window.size) <= late_before",
        "return _first_window_end(event_time, window.size, window.size) < late_before",
        f"{FORMS}[update_window]",
    ),
    Mutant(
        "the first of a record's sliding windows is the one after it",
        "spark_jobs/steps/aggregate.py",
        "from_size = F.unix_micros(F.col(event_time)) - F.lit(size_us)",
        "from_size = F.unix_micros(F.col(event_time)) - F.lit(size_us - slide_us)",
        f"{FORMS}[busy_runways]",
    ),
    Mutant(
        "the watermark waits for half of the delay alone, and all counts agree on that",
        "spark_jobs/steps/chain.py",
        "rows = rows.withWatermark(event_time, interval(spec.watermark_delay))",
        "rows = rows.withWatermark(event_time, interval(spec.watermark_delay / 2))",
        f"{FORMS}[event_time_key]",
    ),
    Mutant(
        "ops.late names the watermark that the batch ran under as the one that a record missed",
        "spark_jobs/audit/rejected_record.py",
        '"watermark_missed": moment(batch.late_before_ms * 1000)',
        '"watermark_missed": moment(batch.watermark_ms * 1000)',
        f"{FORMS}[airports_served]",
    ),
    Mutant(
        "what is kept of a rejected record loses its bytes",
        "spark_jobs/audit/rejected_record.py",
        'value=_bytes(record.get("value"))',
        'value=_bytes(record.get("key"))',
        f"{FORMS}[for_ever]",
    ),
    Mutant(
        "a sliding window slides by its size",
        "spark_jobs/steps/aggregate.py",
        "interval(window.size), interval(window.slide))",
        "interval(window.size), interval(window.size))",
        "tests/spark/test_operators_page.py::test_the_page_shows_an_example_as_it_runs_now_and_as_duckdb_has_it[busy_runways]",
    ),
    Mutant(
        "a row yielded behind the watermark of the next step is any error of Spark's",
        "spark_jobs/runs/spark_errors.py",
        '"EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED": (',
        '"EMITTING_OLD_ROWS": (',
        "tests/spark/test_operators.py::"
        "test_a_row_that_a_step_yields_behind_the_watermark_of_the_next_is_an_error_and_not_lost",
    ),
    Mutant(
        "a batch that failed runs again with the records that made it fail",
        "spark_jobs/dataflow.py",
        "spec.topic, capture, failing, notes)",
        "spec.topic, capture, None, notes)",
        f"{BAD}test_a_row_without_a_gap_of_its_own_is_quarantined_instead_of_vanishing",
    ),
    Mutant(
        "a batch that is read again for the account forgets its failing records",
        "spark_jobs/audit/second_read.py",
        "            failing=failing,\n",
        "",
        f"{BAD}test_a_run_killed_at_any_moment_around_a_failing_record_loses_and_doubles_nothing",
    ),
    Mutant(
        "a late record on which a later step would fail is malformed, and not late",
        "spark_jobs/steps/chain.py",
        "        rows = rows.where(~is_late(spec, late_before_ms))\n",
        "        pass\n",
        f"{BAD}test_a_late_record_that_a_later_step_would_fail_on_is_late",
    ),
    Mutant(
        "the search evaluates a measure for each record alone",
        "spark_jobs/steps/aggregate.py",
        "return grouping_input(grouped(rows, self.step, event_time))",
        'return grouped(rows.withColumn("n", F.monotonically_increasing_id()), '
        'self.step.model_copy(update={"keys": ("n",)}), event_time)',
        f"{BAD}test_where_no_record_fails_by_itself_the_run_says_so_and_quarantines_nobody",
    ),
    Mutant(
        "a bad value in a record is no longer kept byte for byte",
        "spark_jobs/decode/decoder.py",
        "            [None if reason else value for value, reason in zip(column, reasons, strict=True)]",
        "            list(column)",
        "tests/unit/test_failing.py::"
        "test_a_failing_record_is_decoded_as_a_malformed_one_and_its_bytes_are_kept",
    ),
    Mutant(
        "a declared expression may need a state of other types",
        "spark_jobs/runs/same_state.py",
        "    if before != after:\n",
        "    if False:\n",
        f"{BAD}test_a_corrected_expression_continues_on_the_same_state",
    ),
    Mutant(
        "an expression replaces another one although nobody declared it",
        "spark_jobs/contract/fingerprint.py",
        "{*corrected} <= {*spec.compatible_expressions}",
        "True",
        "tests/unit/test_correction.py::"
        "test_a_declared_expression_is_a_warning_and_one_that_is_not_is_refused",
    ),
    Mutant(
        "a row whose own gap is not positive is left out in silence",
        "spark_jobs/steps/aggregate.py",
        "THEN {gap} ELSE {invalid} END",
        "THEN {gap} ELSE {gap} END",
        "tests/spark/test_operators.py::test_no_gap_is_null_zero_or_negative",
    ),
    Mutant(
        "nothing holds the state against its budget of rows",
        "spark_jobs/contract/state_checks.py",
        "(UNACCOUNTED, *groups, *_budget(spec), *defaults,",
        "(UNACCOUNTED, *groups, *defaults,",
        "tests/spark/test_state_metrics.py::test_state_past_its_budget_of_rows_fails_the_run_and_past_that_of_bytes_warns",
    ),
    Mutant(
        "a silent topic's watermark goes to the clock's time less close_after, without the delay",
        "spark_jobs/checkpoint/no_data_batch.py",
        "clock.now - spec.close_after - spec.watermark_delay - datetime",
        "clock.now - spec.close_after - datetime",
        f"{CLOSING}::test_a_silent_topic_closes_its_last_windows_and_no_record_is_made_up",
    ),
    Mutant(
        "a closing batch that a crash kept from running is not planned",
        "spark_jobs/checkpoint/no_data_batch.py",
        "if moved > last.watermark_ms:",
        "if moved > last.watermark_ms and spec.endless:",
        f"{CLOSING}::test_a_closing_batch_that_a_crash_kept_from_running_is_the_next_runs_even_without_new_data",
    ),
    Mutant(
        "what is due by the clock waits for a run that has data",
        "spark_jobs/checkpoint/no_data_batch.py",
        "if spec.endless and clock.rows and not clock.no_data_batch_ran:",
        "if spec.endless and not clock.rows and not clock.no_data_batch_ran:",
        "tests/spark/test_clock.py::test_a_run_on_one_batch_on_many_and_on_none_ends_with_one_batch_without_data",
    ),
)
