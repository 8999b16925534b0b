"""Mutants of several drains in one application. See mutant.py."""

from tests.mutants.mutant import Mutant

IN_TURN, SHARING, SEVERAL = (
    f"tests/unit/test_{name}.py" for name in ("in_turn", "sharing", "several")
)
TURN, SHARED, COMMAND = (
    "spark_jobs/warm/in_turn.py",
    "spark_jobs/launch/sharing.py",
    "spark_jobs/cli/several.py",
)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the next drain begins over what a failed one has at work",
        TURN,
        "    if not leaves_nothing_at_work(report):\n",
        "    if spark is None:\n",
        f"{IN_TURN}::test_behind_a_drain_that_may_have_left_a_query_at_work_the_application_ends",
    ),
    Mutant(
        "any failed drain ends the application",
        SHARED,
        "    return problem is None or problem.code in CHECK_CODES or",
        "    return problem is None or problem.code == '' and",
        f"{SHARING}::test_a_jvm_is_used_again_behind_a_run_that_ended_by_itself_or_never_had_a_session",
    ),
    Mutant(
        "nothing is cleaned up between two drains of an application",
        TURN,
        "    for work in (spark.clean, spark.new_session):\n",
        "    for work in (spark.new_session,):\n",
        f"{IN_TURN}::test_each_drain_has_a_session_of_its_own_and_finds_nothing_of_the_one_before",
    ),
    Mutant(
        "two drains of an application share a session",
        TURN,
        "    for work in (spark.clean, spark.new_session):\n",
        "    for work in (spark.clean,):\n",
        f"{IN_TURN}::test_each_drain_has_a_session_of_its_own_and_finds_nothing_of_the_one_before",
    ),
    Mutant(
        "a drain finds the code of the pipeline before it",
        TURN,
        "    with put_back():\n",
        "    if True:\n",
        f"{IN_TURN}::test_a_drain_finds_no_variable_folder_path_or_module_of_the_one_before",
    ),
    Mutant(
        "a stop while the checks run begins the next pipeline",
        TURN,
        "        if stop.asked:\n",
        "        if stop.asked and not reports:\n",
        f"{IN_TURN}::test_a_stop_ends_it_behind_the_drain_at_work_also_if_that_one_ends_well",
    ),
    Mutant(
        "a pipeline's code takes the signals of those behind it",
        "spark_jobs/main.py",
        ", stop_on_signals(stop):\n",
        ":\n",
        "tests/unit/test_main.py::test_a_stop_is_heard_though_the_code_of_an_earlier_pipeline_has_taken_the_signals",
    ),
    Mutant(
        "an application of several drains does not look whether its submitter lives",
        "spark_jobs/main.py",
        "        parent_watch.watch()\n        expectations",
        "        expectations",
        "tests/unit/test_main.py::test_several_drains_watch_whoever_submitted_them",
    ),
    Mutant(
        "a watchdog's report of a stage has a kind that there is not",
        "spark_jobs/main.py",
        "Watchdog(_kind(wanted), ",
        "Watchdog(wanted.command, ",
        "tests/unit/test_main.py::test_the_watchdog_writes_a_report_of_a_kind_that_there_is",
    ),
    Mutant(
        "specs with other options of Spark share a JVM",
        SHARED,
        "tuple(sorted(each.options.items()))",
        "()",
        f"{SHARING}::test_drains_with_the_same_options_of_spark_share_an_application_in_their_order",
    ),
    Mutant(
        "drains on a cluster share an application",
        SHARED,
        "    if not settings.local:\n",
        "    if not settings.master:\n",
        f"{SHARING}::test_on_a_cluster_each_has_an_application_of_its_own",
    ),
    Mutant(
        "a drain that has not begun counts as killed",
        SHARED,
        "(status == UNBEGUN or not leaves_nothing_at_work(before))",
        "status == UNBEGUN",
        f"{SHARING}::test_the_first_drain_without_a_report_was_at_work_unless_the_application_had_ended_before_it",
    ),
    Mutant(
        "a kill of the application is a kill of all its drains",
        COMMAND,
        "            if report is None and number != killed:\n",
        "            if report is None and killed is None:\n",
        f"{SEVERAL}::test_a_killed_application_takes_the_drain_at_work_and_no_other",
    ),
    Mutant(
        "Ctrl-C is over when the application is",
        COMMAND,
        "        self.stopped |= asked or status == Stopped.exit_status\n",
        "        self.stopped |= status == Stopped.exit_status\n",
        f"{SEVERAL}::test_a_stop_begins_no_other_pipeline_and_each_of_them_says_so",
    ),
    Mutant(
        "the row of a killed drain is written twice",
        COMMAND,
        "recorded(each.pipeline, self._run_id, since=since)",
        "recorded(each.pipeline, self._run_id)",
        "tests/unit/test_several.py::test_a_drain_that_has_written_its_own_row_has_one",
    ),
    Mutant(
        "an error that the next run mends is told as the worst",
        "spark_jobs/contract/errors.py",
        "if not problem.retry), next",
        "if problem.retry), next",
        f"{SHARING}::test_the_worst_is_the_first_that_no_later_run_mends_by_itself",
    ),
    Mutant(
        "a rotation of more than two days counts in the benchmark",
        "bench/oracle.py",
        "and next_time <= event_time + interval 48 hours",
        "",
        "tests/unit/test_bench_together.py::test_each_tables_rows_are_those_of_plain_python_and_one_less_is_no_result",
    ),
)
