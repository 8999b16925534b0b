"""Mutants of what a drain's DAG starts: repairs, and consumers by the day. See mutant.py."""

from tests.mutants.mutant import Mutant

DRAIN, UNTRIED, DAYS = (
    "tests/airflow/test_after_drain.py",
    "tests/unit/test_untried.py",
    "tests/unit/test_days.py",
)
REPAIR = f"{DRAIN}::test_late_records_start_one_repair_and_never_a_second_beside_it"
BY_DAY = f"{DRAIN}::test_a_dag_that_runs_by_the_day_runs_for_the_days_that_a_drain_ended_or_a_repair_changed"
TRIED = (
    f"{UNTRIED}::test_records_that_a_repair_has_tried_start_no_other_one_until_a_new_one_is_late"
)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a repair starts beside another",
        "plugins/sluice_airflow/after_drain.py",
        "        if ti.get_dr_count(dag_id=self.trigger_dag_id, states=AT_WORK):\n",
        "        if ti.get_dr_count(dag_id=self.trigger_dag_id, states=AT_WORK) > 1:\n",
        REPAIR,
    ),
    Mutant(
        "a repair starts behind rows that were not published",
        "plugins/sluice_airflow/after_drain.py",
        "        if failed:\n",
        "        if not states:\n",
        REPAIR,
    ),
    Mutant(
        "a repair that cannot be started fails the drain",
        "plugins/sluice_airflow/dag.py",
        "            publish >> repair.as_teardown()\n",
        "            publish >> repair\n",
        f"{DRAIN}::test_the_task_is_there_where_the_spec_says_so_and_the_page_too",
    ),
    Mutant(
        "a repair starts for rows that drains still write",
        "spark_jobs/repair/late_spans.py",
        "s < e AND {_final(until)} AND batch_id > {behind}",
        "s < e AND batch_id > {behind}",
        f"{UNTRIED}::test_late_records_whose_rows_are_final_start_a_repair_and_others_wait",
    ),
    Mutant(
        "a repair that was declined starts again behind every drain",
        "spark_jobs/repair/late_spans.py",
        "        if not conditions:\n",
        "        if True:\n",
        TRIED,
    ),
    Mutant(
        "a repair that was refused starts again behind every drain",
        "spark_jobs/repair/late_spans.py",
        " AND batch_id > {behind}",
        "",
        f"{UNTRIED}::test_records_for_which_a_repair_was_refused_start_no_other_one_until_a_later_batch",
    ),
    Mutant(
        "a day is told before its last window is written",
        "spark_jobs/runs/days.py",
        "    while _midnight(day) + DAY <= until:\n",
        "    while _midnight(day) <= until:\n",
        f"{DAYS}::test_a_day_is_told_once_when_drains_write_no_row_of_it_any_more",
    ),
    Mutant(
        "a window that ends at midnight is of the day that begins",
        "spark_jobs/runs/days.py",
        "(span.end - MICROSECOND).astimezone",
        "span.end.astimezone",
        f"{DAYS}::test_a_repair_tells_the_days_in_which_rows_changed_and_no_other_that_it_computed",
    ),
    Mutant(
        "a publish without a new day warns of every consumer by the day",
        "plugins/sluice_airflow/publish.py",
        "            self.outlets = [each for each in self.outlets if each != self.days]\n",
        "",
        BY_DAY,
    ),
    Mutant(
        "a repair tells all days that it computed",
        "spark_jobs/runs/repaired.py",
        '(row["ranges"] if row["differing"] is None else row["differing"])',
        'row["ranges"]',
        f"{DAYS}::test_a_repair_tells_the_days_in_which_rows_changed_and_no_other_that_it_computed",
    ),
    Mutant(
        "a refusal of before a reset holds back the records of many batches",
        "spark_jobs/repair/untried.py",
        "        f\"AND {ops_tables.among('generation', generations)} \"\n",
        "",
        f"{UNTRIED}::test_after_a_reset_a_refusal_of_before_holds_back_none_of_the_new_records",
    ),
    Mutant(
        "a repair whose swap failed is never started again",
        "spark_jobs/repair/untried.py",
        'row["state"] != "staged" or not _approved(',
        "True or not _approved(",
        f"{UNTRIED}::test_a_repair_whose_swap_failed_starts_again_and_one_that_a_person_declined_does_not",
    ),
    Mutant(
        "a jump of event time by years starts consumers for each day between",
        "spark_jobs/runs/days.py",
        "    if since is None or until - since > LONGEST:\n",
        "    if since is None:\n",
        f"{DAYS}::test_after_a_gap_of_years_only_the_days_with_rows_are_told",
    ),
)
