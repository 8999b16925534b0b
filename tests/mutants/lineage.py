"""Mutants of this subject. See mutant.py."""

from tests.mutants.mutant import Mutant

LINEAGE = "tests/airflow/test_lineage.py"
METRICS = "tests/airflow/test_metrics.py"
TOLD = "tests/airflow/test_told.py"
TASKS = "plugins/sluice_airflow/lineage/tasks.py"
DATASETS = "plugins/sluice_airflow/lineage/datasets.py"
SENT = "plugins/sluice_airflow/metrics.py"
WHOLE = f"{LINEAGE}::test_a_run_tells_offsets_version_account_columns_and_checks"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "lineage has the values that failed a check",
        TASKS,
        'numbers = check.suite != "output" and',
        "numbers = True and",
        WHOLE,
    ),
    Mutant(
        "a failed check is told as one that passed",
        TASKS,
        'success=check.outcome == "passed"',
        "success=True",
        f"{LINEAGE}::test_a_check_that_fails_is_told_and_a_drain_that_fails_tells_what_it_had_done",
    ),
    Mutant(
        "lineage has the offsets of the wrong end",
        DATASETS,
        "start=report.offsets_start, end=report.offsets_end",
        "start=report.offsets_end, end=report.offsets_end",
        WHOLE,
    ),
    Mutant(
        "a repair's commit is told without the table's new version",
        DATASETS,
        "facets = self._delta(version) | self._columns() | _fields(same, self._stagings)",
        "facets = self._delta(None) | self._columns() | _fields(same, self._stagings)",
        f"{LINEAGE}::test_a_repair_is_told_from_the_topic_through_staged_rows_into_the_table",
    ),
    Mutant(
        "a word within a text is taken for a column",
        "spark_jobs/contract/sql.py",
        'found["name"] or _bare(found)',
        'found["name"] or found[0]',
        "tests/unit/test_origin.py"
        "::test_a_measure_comes_from_the_columns_that_stand_in_it_and_a_count_from_none",
    ),
    Mutant(
        "lineage has the rows that a person approves",
        "plugins/sluice_airflow/approve.py",
        'super().hitl_summary | {"body": None}',
        "super().hitl_summary",
        f"{LINEAGE}::test_the_rows_that_a_person_is_shown_for_approval_are_in_no_event",
    ),
    Mutant(
        "every try of a staging is counted",
        SENT,
        'if report.kind == "drain" or finished:',
        "if finished or True:",
        f"{METRICS}::test_a_run_that_failed_counts_what_it_had_accounted_for_and_a_staging_counts_when_it_is_done",
    ),
    Mutant(
        "the gauges of two pipelines are one where StatsD has no tags",
        SENT,
        "words = (name,) if tagged else (pipeline, kind, name, part)",
        "words = (name,)",
        f"{METRICS}::test_a_drain_sends_its_account_its_state_and_its_times_once",
    ),
    Mutant(
        "a mail server that hangs keeps the webhook from telling",
        "plugins/sluice_airflow/bounded.py",
        "thread.join(SECONDS)",
        "thread.join()",
        f"{TOLD}::test_a_mail_server_that_hangs_does_not_keep_the_webhook_from_telling",
    ),
    Mutant(
        "a check task that fails for another reason than its checks is told to nobody",
        "plugins/sluice_airflow/told.py",
        "failed = {**(found or {}), **other}",
        "failed = found or other if found is None else found",
        f"{TOLD}::test_a_check_task_that_fails_though_its_checks_have_passed_is_told",
    ),
    Mutant(
        "a check that failed is told to nobody where its report cannot be read",
        "plugins/sluice_airflow/told.py",
        'log.warning("the report of %s was not read: %s", task.of, _short(error))\n        return None',
        "raise",
        f"{TOLD}::test_a_check_whose_report_cannot_be_read_is_told_by_its_own_error",
    ),
)
