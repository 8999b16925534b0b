"""Mutants of the operators, of what is late for them, of their state and of the batches that close
it. See mutant.py.
"""

from tests.mutants.mutant import Mutant

FORMS = "tests/spark/test_operators.py::test_the_table_is_what_duckdb_makes_of_all_good_records_less_what_was_late"
CLOSING = "tests/spark/test_closing.py"

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
        "spark_jobs/audit/rejected.py",
        '"watermark_missed": moment(batch.late_before_ms * 1000)',
        '"watermark_missed": moment(batch.watermark_ms * 1000)',
        f"{FORMS}[airports_served]",
    ),
    Mutant(
        "what is kept of a rejected record loses its bytes",
        "spark_jobs/audit/rejected.py",
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
        "a row whose own gap is not positive is left out in silence",
        "spark_jobs/steps/aggregate.py",
        "THEN {gap} ELSE {invalid} END",
        "THEN {gap} ELSE {gap} END",
        "tests/spark/test_operators.py::test_no_gap_is_null_zero_or_negative",
    ),
    Mutant(
        "nothing holds the state against its budget of rows",
        "spark_jobs/contract/state_checks.py",
        "(UNACCOUNTED, *_budget(spec), *defaults,",
        "(UNACCOUNTED, *defaults,",
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
