"""Mutants of this subject. See mutant.py."""

from tests.mutants.mutant import Mutant

UNIT, E2E = "tests/unit", "tests/e2e"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a column that an ops table has not is dropped in silence", "spark_jobs/ops/ops_tables.py",
        "    if surplus:\n", "    if surplus and not rows:\n",
        f"{UNIT}/test_ops_tables.py::test_a_column_that_there_is_not_is_refused_by_its_name_and_nothing_is_written",
    ),
    Mutant(
        "so is one within the structs of a list", "spark_jobs/ops/ops_tables.py",
        "            surplus |= {", "            _ = {",
        f"{UNIT}/test_ops_tables.py::test_a_column_that_there_is_not_is_refused_by_its_name_and_nothing_is_written",
    ),
    Mutant(
        "the holder of a lease does not renew it", "spark_jobs/checkpoint/object_lease.py",
        "                obstore.put(self._store, self._name(self._fence), _json(self._content))\n                self._ren",
        "                self._ren",
        f"{UNIT}/test_object_lease.py::test_a_holder_that_was_stopped_for_too_long_finds_it_lost_before_it_writes",
    ),
    Mutant(
        "a holder that could not renew its lease writes on", "spark_jobs/checkpoint/object_lease.py",
        " or time.monotonic() - self._renewed_at > TTL_SECONDS:", ":",
        f"{UNIT}/test_object_lease.py::test_a_holder_that_could_not_renew_it_for_a_life_gives_up_though_nobody_took_it",
    ),
    Mutant(
        "a lease that expired is held for ever", "spark_jobs/checkpoint/object_lease.py",
        'content["released"] or age > TTL_SECONDS', 'content["released"]',
        f"{UNIT}/test_object_lease.py::test_a_holder_that_was_killed_keeps_it_until_it_expires_and_no_longer",
    ),
    Mutant(
        "a broker that says nothing is waited for as long as Kafka's client likes", "spark_jobs/source/topic_state.py",
        "client.list_topics(timeout=share * TIMEOUT_SECONDS)", "client.list_topics(timeout=60)",
        f"{UNIT}/test_topic_state.py::test_a_broker_that_does_not_answer_is_given_up_in_time_and_named",
    ),
    Mutant(
        "offsets that a broker did not tell in time are taken for those of an empty topic", "spark_jobs/source/topic_state.py",
        "if any(result.offset == OFFSET_INVALID for result in results.values()):", "if not results:",
        f"{E2E}/test_refusals.py::"
        "test_a_broker_that_stands_still_is_given_up_after_each_question_and_after_all_within_half_a_minute",
    ),
    Mutant(
        "all questions together are given up after a minute", "spark_jobs/source/topic_state.py",
        "TIMEOUT_SECONDS = 7.0", "TIMEOUT_SECONDS = 15.0",
        f"{E2E}/test_refusals.py::"
        "test_a_broker_that_stands_still_is_given_up_after_each_question_and_after_all_within_half_a_minute",
    ),
    Mutant(
        "the root, and with it perhaps a key, stands on the command line", "spark_jobs/launch/submit.py",
        '"spark.ui.enabled": "false",', '"spark.ui.enabled": "false", "spark.executorEnv.ROOT": settings.root,',
        f"{UNIT}/test_submit.py::test_where_data_lies_and_who_may_read_it_is_in_the_environment_and_not_on_the_command_line",
    ),
    Mutant(
        "Python has the machine's time zone", "spark_jobs/launch/submit.py",
        '        "TZ": "UTC",\n', "", f"{UNIT}/test_submit.py::test_driver_and_python_work_in_utc",
    ),
    Mutant(
        "an owned option of Spark is passed on", "spark_jobs/contract/spark_options.py",
        "    if owned:\n", "    if False:\n",
        f"{UNIT}/test_spark_options.py::test_an_owned_one_is_refused_by_name_with_the_reason",
    ),
    Mutant(
        "Hadoop's own file classes cannot be chosen", "spark_jobs/launch/submit.py",
        'if settings.local_files == "sluice" and files_jar', "if files_jar",
        f"{UNIT}/test_files_jar.py::test_a_drain_uses_them_where_they_are_and_nobody_wants_hadoops",
    ),
    Mutant(
        "a group may not write", "spark_jobs/java/sluice/files/RawFileSystem.java",
        "ALL_BUT_IDS = 01777;", "ALL_BUT_IDS = 01757;",
        f"{UNIT}/test_files_jar.py::test_files_modes_links_checksums_and_renames_are_as_hadoops_own_classes_make_them",
    ),
    Mutant(
        "a sticky bit is forgotten", "spark_jobs/java/sluice/files/RawFileSystem.java",
        "ALL_BUT_IDS = 01777;", "ALL_BUT_IDS = 0777;",
        f"{UNIT}/test_files_jar.py::test_files_modes_links_checksums_and_renames_are_as_hadoops_own_classes_make_them",
    ),
    Mutant(
        "a folder loses its set-group bit", "spark_jobs/java/sluice/files/RawFileSystem.java", "IDS = 06000;", "IDS = 0;",
        f"{UNIT}/test_files_jar.py::test_files_modes_links_checksums_and_renames_are_as_hadoops_own_classes_make_them",
    ),
    Mutant(
        "a link does not say what it says", "spark_jobs/java/sluice/files/RawFileSystem.java",
        "new Path(Files.readSymbolicLink(file).toString())",
        "new Path(file.resolveSibling(Files.readSymbolicLink(file)).toString())",
        f"{UNIT}/test_files_jar.py::test_files_modes_links_checksums_and_renames_are_as_hadoops_own_classes_make_them",
    ),
    Mutant(
        "modes are set by chmod", "spark_jobs/java/sluice/files/RawFileSystem.java",
        "    java.nio.file.Path file = nio(path);\n    try {\n",
        "    java.nio.file.Path file = nio(path);\n    if (true) {\n      super.setPermission(path, permission);\n"
        "      return;\n    }\n    try {\n",
        f"{UNIT}/test_files_jar.py::test_no_process_is_started_for_them_where_hadoops_own_need_chmod_and_readlink",
    ),
    Mutant(
        "the jar of the same sources has other bytes each time", "local/files_jar.py",
        "(1980, 1, 1, 0, 0, 0)", "(1980, 1, 1, 0, hash(folder) // 60 % 60, hash(folder) % 60)",
        f"{UNIT}/test_files_jar.py::test_the_jar_is_the_same_bytes_when_it_is_made_again",
    ),
    Mutant(
        "the old archive is removed first", "local/archive.py",
        "        _drained(settings, unfinished)\n", "        final.unlink()\n        _drained(settings, unfinished)\n",
        f"{UNIT}/test_archive.py",
    ),
    Mutant(
        "half an archive is left behind", "spark_jobs/contract/files.py",
        "        partial.unlink(missing_ok=True)\n", "        pass\n",
        f"{UNIT}/test_archive.py::test_drains_that_fail_when_it_is_half_made_leave_the_old_one",
    ),
    Mutant(
        "setup asks for a broker", "spark_jobs/contract/settings.py",
        'os.environ.get("SLUICE_KAFKA") or "127.0.0.1:9092"', 'os.environ.get("SLUICE_KAFKA", "")',
        f"{UNIT}/test_archive.py::test_setup_heeds_the_variables_needs_no_broker_and_says_in_a_line_what_is_missing",
    ),
    Mutant(
        "a demo whose ledger disagrees ends well", "local/summary.py",
        "    if wrong:\n        return False\n", "    if wrong:\n        return True\n",
        f"{UNIT}/test_summary.py::TestDemo::test_that_disagrees_with_its_ledger_says_in_what_and_ends_with_1",
    ),
    Mutant(
        "a demo does not hold what is premature against its ledger", "local/summary.py",
        '("premature", kinds["premature"], account.premature), ("unaccounted"', '("unaccounted"',
        f"{UNIT}/test_summary.py::test_each_count_that_the_ledger_contradicts_is_said_with_both_numbers",
    ),
    Mutant(
        "a time counts though the table has rows too many", "bench/oracle.py",
        "    if missing or surplus:\n", "    if missing:\n",
        f"{UNIT}/test_bench.py::test_a_table_that_is_not_duckdbs_counts_for_nothing_and_the_arm_is_named",
    ),
    Mutant(
        "a target is reached by the best pair", "bench/results.py",
        'max(self.ratios) if self.unit == "GB" else median(self.ratios)', "max(self.ratios)",
        f"{UNIT}/test_bench.py::test_a_measure_is_held_against_its_target_by_the_median_of_its_pairs_and_memory_by_the_largest",
    ),
    Mutant(
        "what is only to be shown is done", "spark_jobs/cli/admin.py",
        "in (intent.execute() or ()) if execute else ():", "in intent.execute() or ():",
        f"{E2E}/test_commands.py",
    ),
    Mutant(
        "a drain from the command line does not take the name that it is given", "spark_jobs/cli/run.py",
        'run_id = run_id or f"cli-', 'run_id = f"cli-',
        f"{E2E}/test_commands.py::test_plan_says_what_is_new_drain_drains_it_and_then_there_is_nothing",
    ),
    Mutant(
        "nothing is to be done though offsets wait", "spark_jobs/runs/plan.py",
        'reasons = [f"{new_offsets} new offsets to read"] if new_offsets else []', "reasons = list[str]()",
        f"{UNIT}/test_plan.py::test_a_new_pipeline_reads_all_that_retention_has_left",
    ),
    Mutant(
        "the check task of a run whose critical check failed is green", "plugins/sluice_airflow/checks.py",
        "                raise error\n", "                pass\n",
        f"{E2E}/test_airflow_run.py::test_a_critical_check_that_fails_publishes_nothing_and_nothing_is_tried_again",
    ),
    Mutant(
        "a run that failed is published", "plugins/sluice_airflow/publish.py",
        "            if report.problem is not None:\n", "            if False:\n",
        "tests/airflow/test_tasks.py::TestPublish::test_tells_nobody_of_a_run_that_has_a_problem",
    ),
    Mutant(
        "a drain that was killed is not tried again", "spark_jobs/contract/errors.py",
        'code, exit_status, retry = "REPORT_MISSING", 41, True', 'code, exit_status = "REPORT_MISSING", 41',
        f"{E2E}/test_airflow_run.py::test_a_drain_that_was_killed_is_tried_again_judged_and_published",
    ),
    Mutant(
        "the documents name an option that there is not", "spark_jobs/cli/look.py",
        '        "--changes", help=', '        "--history", help=',
        "tests/examples/test_examples.py",
    ),
    Mutant(
        "a table is wider than the terminal", "spark_jobs/cli/layout.py",
        "        if column.least <= left:\n", "        if column.least <= left + GAP:\n",
        f"{UNIT}/test_layout.py::test_no_line_is_wider_than_the_terminal",
    ),
    Mutant(
        "columns that have no room are left out in silence", "spark_jobs/cli/look.py",
        "if left_out else []", "if not left_out else []",
        f"{UNIT}/test_views.py::test_no_line_is_wider_than_the_terminal_and_every_column_is_shown_or_named",
    ),
    Mutant(
        "a drain says 100% while offsets are left", "spark_jobs/runs/progress_log.py",
        "({100 * done // whole}%)", "({100 * done / whole:.0f}%)",
        f"{UNIT}/test_progress_log.py::test_it_never_says_100_percent_while_offsets_are_left",
    ),
    Mutant(
        "a Ctrl-C that comes while another is answered is lost", "spark_jobs/launch/foreground.py",
        "            asked = True\n", "            asked = True\n            pressed.clear()\n",
        f"{UNIT}/test_foreground.py::test_so_does_one_that_comes_while_the_first_is_being_answered",
    ),
    Mutant(
        "a drain in the background takes Ctrl-C", "spark_jobs/launch/foreground.py",
        "    if before is not signal.SIG_IGN:\n", "    if before:\n",
        f"{UNIT}/test_foreground.py::test_ctrl_c_stays_ignored_where_it_is_as_in_the_background_and_is_afterwards_what_it_was",
    ),
    Mutant("a topic that lost its end is read on from the checkpoint", "spark_jobs/checkpoint/identity.py",
           "    _refuse_shortened_topic(spec, paths, topic)\n", "",
           "tests/unit/test_plan.py::test_as_many_new_offsets_as_lost_ones_are_not_nothing_to_do"),
    Mutant("the stack's authority has a certificate for another key than its own", "local/stack/secrets.py",
           "certificates.authority(key, ", "certificates.authority(certificates.private_key(), ",
           "tests/unit/test_stack_secrets.py::test_each_is_what_its_reader_takes"),
)
