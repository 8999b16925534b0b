"""What a rebuild's switch must not do. See mutant.py."""

from tests.mutants.mutant import Mutant

SWITCH, PLAN = "tests/unit/test_switch.py", "tests/unit/test_rebuild_plan.py"
CUT_OFF = f"{SWITCH}::test_a_switch_that_was_cut_off_is_completed_by_the_next_run"

ARCHIVED = "tests/unit/test_archive_merge.py"
DAG, LATE = "tests/airflow/test_rebuild_dag.py", "tests/unit/test_rebuilding.py"
ANSWER = f"{DAG}::test_an_answer_holds_only_for_what_the_question_showed"
SHOWN = "spark_jobs/rebuild/shown.py"
WITHOUT_RANGES = (
    "tests/airflow/test_dags.py::test_a_pipeline_without_ranges_has_a_dag_for_its_rebuild_and_both_"
    "pages_say_so"
)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a switch that was cut off behind its commit commits again",
        "spark_jobs/rebuild/commit.py",
        "        if made is not None:\n            return made\n",
        "        if made is not None and len(history.SWITCH) == 0:\n            return made\n",
        CUT_OFF,
    ),
    Mutant(
        "the commit of a switch has no transaction id",
        "spark_jobs/rebuild/commit.py",
        '"txn": {"appId": owner,',
        '"txn": {"appId": "",',
        f"{SWITCH}::test_a_switch_is_one_commit_of_a_table_that_keeps_its_id_and_nothing_is_left",
    ),
    Mutant(
        "a switch leaves the old rows in the table",
        "spark_jobs/rebuild/commit.py",
        "if key not in _keys(wanted)]",
        "if not key]",
        f"{SWITCH}::test_a_switch_is_one_commit_of_a_table_that_keeps_its_id_and_nothing_is_left",
    ),
    Mutant(
        "a rebuild that is behind the live table is switched to",
        "spark_jobs/rebuild/ready.py",
        "    if missing:\n",
        "    if missing < 0:\n",
        f"{SWITCH}::test_a_rebuild_that_is_behind_is_not_switched_to",
    ),
    Mutant(
        "rows that have not passed are switched to",
        "spark_jobs/rebuild/ready.py",
        "    if begun or not passed or",
        "    if begun or",
        f"{SWITCH}::test_rows_that_have_not_passed_are_not_switched_to",
    ),
    Mutant(
        "SPEC drains whatever the root says",
        "spark_jobs/checkpoint/live.py",
        "    if wanted is None or spec.state.version == wanted:\n",
        "    if wanted is None or spec.state.version:\n",
        f"{SWITCH}::test_which_spec_drains_is_a_fact_of_the_root_in_both_orders",
    ),
    Mutant(
        "one rewinds to a batch of which the table has no version",
        "spark_jobs/admin/rewind.py",
        "    if began is None or not history.is_switch(began[1]):",
        "    if began is None or history.is_switch(began[1]):",
        f"{SWITCH}::test_a_rewind_to_before_the_switch_is_refused",
    ),
    Mutant(
        "what Kafka has no longer is lost without a word",
        "spark_jobs/admin/rebuild.py",
        "    if plan.lost:\n",
        "    if plan.lost and plan.begun is None:\n",
        f"{PLAN}::test_what_kafka_has_no_longer_is_told_and_refused_unless_the_rebuild_has_read_it",
    ),
    Mutant(
        "a run whose spec was loaded before the switch drains the former checkpoint",
        "spark_jobs/checkpoint/identity.py",
        "    refuse_not_live(paths)\n",
        "",
        f"{SWITCH}::test_a_run_whose_spec_was_loaded_before_the_switch_is_refused",
    ),
    Mutant(
        "a run goes on in the root from which a switch takes what it has",
        "spark_jobs/rebuild/switch.py",
        "        Live(version=CLOSED,",
        "        Live(version=self.note.version,",
        f"{SWITCH}::test_from_the_first_step_on_no_run_goes_on_beside",
    ),
    Mutant(
        "what a run beside wrote after the note is lost",
        "spark_jobs/rebuild/switch.py",
        "        if newest != [self.note.batch] or",
        "        if not newest and",
        f"{SWITCH}::test_a_run_beside_between_the_note_and_the_switch_loses_nothing",
    ),
    Mutant(
        "Spark looks for the schemas of state in the root that is gone",
        "spark_jobs/rebuild/state_files.py",
        "text.replace(was, now)",
        "text",
        f"{SWITCH}::test_spark_finds_the_schemas_of_state_where_the_checkpoint_is_now",
    ),
    Mutant(
        "a rebuild by Airflow's form asks nobody",
        "plugins/sluice_airflow/approve.py",
        "            return super().execute(context)\n        from",
        "            return None\n        from",
        f"{DAG}::test_a_rebuild_is_computed_asks_is_rejected_goes_on_catches_up_and_switches",
    ),
    Mutant(
        "a switch by Airflow needs no answer of a person",
        "plugins/sluice_airflow/rebuild_handed_over.py",
        'if answer.get("chosen_options") != ["Approve"] or not about:',
        "if not about:",
        f"{DAG}::test_a_switch_needs_the_answer_of_this_run_and_the_rebuild_that_was_planned",
    ),
    Mutant(
        "the switch by Airflow is of another rebuild than the one that was planned",
        "plugins/sluice_airflow/rebuild.py",
        'if begun is None or begun.began.isoformat() != planned["began"]:',
        "if begun is None:",
        f"{DAG}::test_a_switch_needs_the_answer_of_this_run_and_the_rebuild_that_was_planned",
    ),
    Mutant(
        "the answer holds for a rebuild that was discarded and made anew",
        SHOWN,
        "was.began != now.began",
        "not was.began",
        ANSWER,
    ),
    Mutant(
        "the answer holds for another NEXT",
        SHOWN,
        "was.following != now.following",
        "not was.following",
        ANSWER,
    ),
    Mutant(
        "the answer holds for another live table",
        SHOWN,
        "was.replaced != now.replaced",
        "not was.replaced",
        ANSWER,
    ),
    Mutant(
        "the answer holds for a rebuild that was rewound",
        SHOWN,
        'was.computed not in ("", now.computed)',
        "not now.computed",
        ANSWER,
    ),
    Mutant(
        "a stage computes another NEXT than the one that was planned",
        "plugins/sluice_airflow/rebuild.py",
        'if digest(following) != planned["following"]:',
        'if not planned["following"]:',
        ANSWER,
    ),
    Mutant(
        "a rebuild goes on by a plan that lacks what later tasks need",
        "plugins/sluice_airflow/rebuild_handed_over.py",
        "for field in NEEDED if",
        "for field in NEEDED[:1] if",
        f"{DAG}::test_a_plan_or_a_question_of_an_older_sluice_is_refused_with_the_task_to_clear",
    ),
    Mutant(
        "half of a rebuild is classified by another rule",
        "spark_jobs/rebuild/side.py",
        "    return found | _classified(following)\n",
        "    return found\n",
        f"{PLAN}::test_a_rebuild_that_cannot_be_is_refused",
    ),
    Mutant(
        "what retention takes while a rebuild waits is lost without a word",
        "spark_jobs/admin/rebuilding.py",
        "    while True:\n        it.refuse()\n",
        "    while True:\n",
        f"{DAG}::test_what_retention_took_since_the_plan_is_refused_before_anything_is_read_or_"
        "switched",
    ),
    Mutant(
        "what neither version has read counts as lost",
        "spark_jobs/admin/rebuild.py",
        "begins = min(first.get(p, earliest), end)",
        "begins = first.get(p, earliest)",
        f"{PLAN}::test_only_what_the_live_table_was_made_from_can_be_lost",
    ),
    Mutant(
        "records behind a hole of the archive count as there",
        "spark_jobs/admin/older.py",
        "if max(start, first) < stop <= end:",
        "if max(start, first) < stop:",
        f"{PLAN}::test_what_the_archive_has_up_to_kafkas_first_offset_is_not_lost",
    ),
    Mutant(
        "a rebuild looks for the archive in its side root",
        "spark_jobs/contract/paths.py",
        "return root.parent.parent if beside else root",
        "return root",
        "tests/unit/test_archive_merge.py::test_the_archive_of_a_rebuild_is_that_of_the_live_root_"
        "and_no_other_folder_is_taken_for_one",
    ),
    Mutant(
        "a rebuild looks for the initial state in its side root",
        "spark_jobs/steps/group_state.py",
        'live_root(root) / "tables"',
        'root / "tables"',
        "tests/unit/test_archive_merge.py::test_a_rebuild_begins_with_the_initial_state_of_the_live"
        "_root",
    ),
    Mutant(
        "slices alone count as the backfill of what only the archive has",
        "spark_jobs/admin/older.py",
        "AND state IN ('swapped', 'canonical') AND request",
        "AND request",
        "tests/unit/test_archive_merge.py::test_it_is_in_by_the_backfill_that_was_swapped_in_and_"
        "not_by_its_slices_alone",
    ),
    Mutant(
        "records of the archive are put in while drains write their rows",
        "spark_jobs/admin/archive_merge.py",
        "if until is None or found[-1].end > until:",
        "if until is None:",
        "tests/unit/test_archive_merge.py::test_records_that_touch_rows_which_drains_still_write_"
        "wait",
    ),
    Mutant(
        "a rebuild whose swap was cut off waits for a drain that never comes",
        "spark_jobs/admin/side_repair.py",
        "judged is not None and judged < version:",
        "judged is not None and judged > version:",
        "tests/unit/test_side_repair.py::test_a_swap_that_was_cut_off_behind_its_commit_is_"
        "completed_so_that_nothing_waits_for_a_drain[swap.recorded]",
    ),
    Mutant(
        "bad records that only the archive has are in no quarantine",
        "spark_jobs/admin/archive_merge.py",
        "planned = plan_repair(it.following, it.beside, request, brought)",
        "planned = plan_repair(it.following, it.beside, request, Brought({}, spans))",
        "tests/unit/test_archive_merge.py::test_all_of_them_are_read_also_if_none_is_good_since_"
        "the_bad_ones_are_to_be_in_quarantine",
    ),
    Mutant(
        "one record of the archive with an old time has all rows since then computed again",
        "spark_jobs/admin/archive_times.py",
        "floor_sql('at', timedelta(days=1))",
        "floor_sql('at', timedelta(days=400_000))",
        f"{ARCHIVED}::test_an_archive_of_many_years_stops_no_rebuild_and_an_old_record_has_its_own_"
        "range",
    ),
    Mutant(
        "a time of the archive that no range reaches is taken for one that a range does",
        "spark_jobs/admin/archive_times.py",
        'f"at >= {microseconds(FIRST)} AND at < {microseconds(LAST)}"',
        'f"at >= {microseconds(FIRST)}"',
        f"{ARCHIVED}::test_a_time_that_no_range_reaches_is_said_and_stops_no_rebuild[2200]",
    ),
    Mutant(
        "what a rebuild has put in is called lost once the archive has lost it",
        "spark_jobs/admin/rebuild.py",
        " and not put_in(side, following.name)",
        "",
        f"{ARCHIVED}::test_what_is_in_is_not_lost_if_the_archive_loses_it_before_the_switch_and_"
        "what_is_not_is[left1]",
    ),
    Mutant(
        "a switch loses what only the archive has",
        "spark_jobs/admin/rebuilding.py",
        "    refuse_pending(it)\n",
        "",
        "tests/unit/test_archive_merge.py::test_a_switch_without_what_only_the_archive_has_is_"
        "refused",
    ),
    Mutant(
        "somebody else's switch counts as the one that was approved",
        "plugins/sluice_airflow/rebuild_handed_over.py",
        'if live.state.version == planned["version"] and approved',
        "if planned or approved",
        f"{DAG}::test_somebody_elses_switch_that_was_cut_off_does_not_count_as_the_one_that_was_"
        "approved",
    ),
    Mutant(
        "late records that nobody can merge stop a rebuild that is computed",
        "spark_jobs/admin/late_merge.py",
        "    except NOT_MERGED as error:\n",
        "    except (RangeUnsupported, RangeOpen) as error:\n",
        f"{LATE}::test_late_records_that_no_plan_can_merge_wait_and_the_question_says_why",
    ),
    Mutant(
        "late records that the stage cannot merge stop a rebuild that is computed",
        "spark_jobs/admin/side_repair.py",
        "    if report.problem and report.problem.code in passed_over:",
        "    if report.problem and report.problem.code not in passed_over:",
        f"{LATE}::test_so_do_those_that_the_stage_finds_it_cannot_merge",
    ),
    Mutant(
        "the bound of a repair stops the late records of a rebuild",
        "spark_jobs/admin/late_merge.py",
        'note="rebuild", most_records=it.most_records)',
        'note="rebuild")',
        f"{LATE}::test_late_records_that_no_plan_can_merge_wait_and_the_question_says_why",
    ),
    Mutant(
        "the question does not tell of late records that wait",
        "plugins/sluice_airflow/rebuild.py",
        "*([waits] if waits else [])",
        "",
        f"{DAG}::test_a_rebuild_is_computed_asks_is_rejected_goes_on_catches_up_and_switches",
    ),
    Mutant(
        "the time of a drain ends the stage of a rebuild",
        "plugins/sluice_airflow/repair.py",
        "            self.execution_timeout = None\n",
        "            pass\n",
        f"{DAG}::test_a_rebuild_is_computed_asks_is_rejected_goes_on_catches_up_and_switches",
    ),
    Mutant(
        "a column of the table is taken for a count of the comparison",
        "spark_jobs/rebuild/compare.py",
        """f'"~{name}"' for name""",
        """f'"{name}"' for name""",
        "tests/unit/test_compare.py::test_columns_may_have_any_name",
    ),
    Mutant(
        "a pipeline without ranges has no DAG for its rebuild",
        "dags/sluice.py",
        "return [build(spec), build_backfill(spec)]",
        "return [build(spec)]",
        WITHOUT_RANGES,
    ),
    Mutant(
        "the form of a pipeline without ranges offers what is refused",
        "plugins/sluice_airflow/backfill_dag.py",
        "        params=params(why),\n",
        "        params=params(),\n",
        WITHOUT_RANGES,
    ),
    Mutant(
        "Airflow makes a run a day of a rebuild, which computes the whole table",
        "plugins/sluice_airflow/backfill_dag.py",
        "OF_REBUILDS if why else OF_BACKFILLS",
        "OF_BACKFILLS",
        "tests/airflow/test_backfill_api.py::test_a_pipeline_without_ranges_has_a_form_for_a_rebuild_"
        "and_no_backfill_over_days",
    ),
)
