"""Mutants of repairs, their swaps and their contexts. See mutant.py."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

REPLAYED = (
    "tests/spark/test_quarantine.py::test_after_a_replay_the_table_has_what_the_corrected_spec_"
    "decodes_until_it_is_undone"
)

REFUSED = "tests/unit/test_refused_repair.py::"
NO_JAVA = (
    "tests/unit/test_refused_commands.py::test_a_refused_repair_starts_no_java_and_loads_no_spark"
)
KEPT = "tests/unit/test_kept.py::"
FOREIGN = "tests/unit/test_foreign.py::"
TERMINAL = "tests/unit/test_carry_out.py::"
NAMED = (
    "tests/spark/test_failing_repair.py::test_a_repair_names_the_record_on_which_an_expression_"
    "fails_and_is_done_when_that_is_corrected"
)
AROUND_1970 = (
    "tests/spark/test_replay.py::"
    "test_records_of_1970_and_of_years_before_are_in_it_as_those_of_later_years"
)
ESTIMATE = "tests/unit/test_estimate.py::"
KILLED = "tests/unit/test_killed_swap.py::"
APPROVE = "tests/airflow/test_approve.py::"
MUTANTS = (
    Mutant(
        "Spark drops what a repair's GroupState has of 1970 and of years before",
        "spark_jobs/repair/one_batch.py",
        ".withWatermark(WATERMARK, delay)",
        ".withWatermark(self._event_time, delay)",
        f"{AROUND_1970}[row]",
    ),
    Mutant(
        "Spark drops what a repair's applyInPandasWithState has of 1970 and of years before",
        "spark_jobs/repair/one_batch.py",
        "F.greatest(F.col(self._event_time), after_1970_began)",
        "F.col(self._event_time)",
        f"{AROUND_1970}[apply]",
    ),
    Mutant(
        "a function for applyInPandasWithState gets a column of Sluice's own in a repair",
        "spark_jobs/steps/hidden.py",
        "        return function(key, (frame.drop(columns=name) for frame in frames), state)\n",
        "        return function(key, frames, state)\n",
        "tests/unit/test_hidden.py::test_a_function_gets_all_columns_but_the_hidden_one",
    ),
    Mutant(
        "a range of a GroupState is computed without its initial state",
        "spark_jobs/contract/step/group_state.py",
        "if self.initial_state is not None:\n            return (",
        'if self.initial_state == "":\n            return (',
        "tests/unit/test_ranged.py::test_what_no_range_can_be_computed_of_is_refused_with_the_"
        "reason",
    ),
    Mutant(
        "behind a raised state version a person is sent to a drain that is refused",
        "spark_jobs/repair/planner.py",
        "        refuse_foreign(way.spec, paths, found.identity.generation)\n",
        "",
        f"{FOREIGN}test_behind_a_raised_state_version_the_way_out_is_a_rebuild_that_is_not_refused",
    ),
    Mutant(
        "a person is sent to a rebuild with a state version that was used",
        "spark_jobs/repair/foreign.py",
        "max(mine, *versions) + 1",
        "theirs + 1",
        f"{FOREIGN}test_behind_a_raised_state_version_the_way_out_is_a_rebuild_that_is_not_refused",
    ),
    Mutant(
        "an end of a range is called by a name that no form and no option has",
        "spark_jobs/contract/model.py",
        "names.get(part, part) if n == 0 else part",
        "part",
        "tests/unit/test_cli.py::test_an_end_of_a_range_that_is_no_time_is_called_by_its_option",
    ),
    Mutant(
        "a repair takes late records that came after its plan",
        "spark_jobs/repair/kept.py",
        "AND batch_id <= {plan.batch} ",
        "",
        f"{KEPT}test_late_records_of_the_needed_times_are_there_byte_for_byte_and_no_others",
    ),
    Mutant(
        "a repair takes quarantined records that no replay has brought",
        "spark_jobs/repair/kept.py",
        "            offset in named.get(partition, ())\n",
        "            partition in named\n",
        f"{KEPT}test_of_the_quarantine_those_are_there_that_the_plan_names",
    ),
    Mutant(
        "records that are late or in quarantine are taken from the archive too",
        "spark_jobs/repair/kept.py",
        "for parts in (plan.parts, plan.archived)",
        "for parts in (plan.parts,)",
        f"{KEPT}test_places_are_those_of_either_table_at_offsets_that_are_read_from_anywhere",
    ),
    Mutant(
        "the bytes of late records stay in the staging for as long as a repair can be undone",
        "spark_jobs/repair/stage.py",
        "            _remove_kept(paths, plan)\n",
        "",
        "tests/spark/test_repair.py::test_after_a_repair_the_table_is_what_duckdb_makes_of_all_good_records",
    ),
    Mutant(
        "a repair replaces whole hours that lie in its ranges in part",
        "spark_jobs/repair/staged.py",
        "                unit.within(span) for unit",
        "                unit for unit",
        "tests/unit/test_staged.py::test_hours_that_differ_are_cut_at_the_ends_of_the_ranges_and_joined",
    ),
    Mutant(
        "a change that no record explains is made, and nobody is asked",
        "spark_jobs/contract/change.py",
        "        change.unexplained or change.newly_bad or change.count_difference\n",
        "        change.newly_bad\n",
        "tests/browser/test_backfill.py::test_a_change_that_late_records_explain_is_made_and_for_any_other_a_person_is_asked",
    ),
    Mutant(
        "a person declines a repair, and coverage says that it waits for one",
        "spark_jobs/repair/reject.py",
        '    repairs.put(paths.root, [row | {"state": "rejected"}])\n',
        "",
        "tests/unit/test_coverage.py::test_an_hour_whose_repair_a_person_declined_waits_for_none_"
        "and_is_late_again",
    ),
    Mutant(
        "a repair that is in the table is told to be rejected",
        "spark_jobs/repair/reject.py",
        'row is None or row["state"] != "staged"',
        "row is None",
        "tests/unit/test_coverage.py::test_an_hour_whose_repair_a_person_declined_waits_for_none_"
        "and_is_late_again",
    ),
    Mutant(
        "a person who has rejected a repair is asked about it again, in vain",
        "plugins/sluice_airflow/approve.py",
        "            refuse_ended(manifest, row)\n",
        "",
        "tests/airflow/test_approve.py::test_a_task_that_is_cleared_after_a_reject_is_refused_and_"
        "asks_nobody",
    ),
    Mutant(
        "a No at the terminal leaves a repair that no command ends",
        "spark_jobs/cli/question.py",
        "            reject(paths, manifest.repair_id, who)\n",
        "            pass\n",
        f"{TERMINAL}test_who_says_no_has_seen_the_rows_and_nothing_waits_for_a_person_any_more",
    ),
    Mutant(
        "a person at the terminal is asked by counts alone",
        "spark_jobs/cli/question.py",
        "    _show(paths, manifest)\n",
        "",
        f"{TERMINAL}test_who_says_yes_has_it_swapped_in",
    ),
    Mutant(
        "a second repair is refused behind the start of a JVM alone",
        "spark_jobs/cli/carry_out.py",
        "    _refuse_second(paths)\n",
        "",
        f"{TERMINAL}test_while_another_repair_is_computed_the_plan_says_by_whom_and_none_is_begun",
    ),
    Mutant(
        "a verify that fails shows none of the rows that differ",
        "spark_jobs/repair/stage.py",
        "        _log_rows(folder)\n",
        "        pass\n",
        "tests/spark/test_repair.py::test_a_verify_of_a_table_that_lacks_late_records_fails_shows_"
        "rows_and_changes_nothing",
    ),
    Mutant(
        "a record that a repair finds bad is in quarantine twice",
        "spark_jobs/repair/bad_rows.py",
        "lambda: staged.parts(there)",
        "lambda: staged.parts(there.slice(0, 0))",
        "tests/unit/test_bad_rows.py::test_of_two_repairs_that_found_one_record_bad_one_keeps_it",
    ),
    Mutant(
        "a repair counts as done whose bad records a kill has lost",
        "spark_jobs/repair/swap.py",
        '    if manifest.newly_bad and before.get("state") not in SETTLED:\n'
        "        put_bad(paths, manifest)\n"
        "    repairs.put(paths.root, [row])\n",
        "    repairs.put(paths.root, [row])\n"
        '    if manifest.newly_bad and before.get("state") not in SETTLED:\n'
        "        put_bad(paths, manifest)\n",
        "tests/unit/test_bad_rows.py::test_a_repair_that_is_told_to_be_in_the_table_has_its_bad_"
        "records_in_quarantine",
    ),
    Mutant(
        "what a repair found bad leaves the rows without a trace",
        "spark_jobs/repair/record.py",
        "        newly_bad=found.newly_bad,\n",
        "",
        REPLAYED,
    ),
    Mutant(
        "a replayed record that is bad again counts as in the rows",
        "spark_jobs/repair/bad_rows.py",
        "    if there.num_rows:\n        of_these",
        "    if there.num_rows < 0:\n        of_these",
        "tests/unit/test_bad_rows.py::test_a_replayed_record_that_is_bad_again_stays_where_it_is_"
        "and_waits_again",
    ),
    Mutant(
        "a swap that is given again takes a later replay's fate",
        "spark_jobs/repair/swap.py",
        'if manifest.newly_bad and before.get("state") not in SETTLED:',
        "if manifest.newly_bad:",
        "tests/unit/test_bad_rows.py::test_a_swap_that_is_given_again_leaves_a_record_that_a_replay_"
        "has_brought_back_since",
    ),
    Mutant(
        "a late record that a repair found bad is found bad again by each verify",
        "spark_jobs/repair/records.py",
        "found.append(_not_at(late, bad))",
        "found.append(late)",
        REPLAYED,
    ),
    Mutant(
        "a verify does not say what to do with records that are bad by now",
        "spark_jobs/contract/verdict.py",
        "    if span is not None and NEWLY_BAD in metrics:",
        "    if span is not None and NEWLY_BAD in failed:",
        "tests/unit/test_verdict.py::test_a_verify_with_bad_records_that_nobody_has_quarantined_"
        "names_the_command",
    ),
    Mutant(
        "records are read only where a range needs them",
        "spark_jobs/repair/slices.py",
        "        wanted += (every or {}).get(partition, ())\n",
        "",
        "tests/unit/test_offsets_of.py::test_some_are_read_whatever_their_times_are",
    ),
    Mutant(
        "whoever approves does not see first what no record explains",
        "spark_jobs/repair/sample.py",
        "ORDER BY explained LIMIT",
        "ORDER BY explained DESC LIMIT",
        "tests/airflow/test_approve.py::test_a_person_is_asked_with_the_rows_and_answers_by_the_api",
    ),
    Mutant(
        "a stage that was killed can be swapped in, if an earlier try had ended",
        "spark_jobs/repair/stage.py",
        '    (paths.staging(plan.repair_id) / "manifest.json").unlink(missing_ok=True)\n',
        "",
        "tests/faults/test_repairing.py::test_no_kill_of_a_stage_or_a_swap_leaves_anything_half_done",
    ),
    Mutant(
        "a copy waits no more although what it is a copy of was taken back",
        "spark_jobs/ops/repairs.py",
        "if copies := _copies_within(rows, needed):",
        "if copies := '':",
        "tests/unit/test_swap.py::test_a_copy_in_another_range_waits_too_when_what_it_is_a_copy_of_goes",
    ),
    Mutant(
        "of two repairs that change no row both say what became of a record",
        "spark_jobs/ops/repairs.py",
        "if _record(row) not in told]",
        "]",
        "tests/unit/test_swap.py::test_of_two_repairs_at_once_that_change_no_row_one_has_the_record",
    ),
    Mutant(
        "a rewind leaves the fates of records that the next drain reads anew",
        "spark_jobs/admin/taken_back.py",
        "if any(at > end.get(int(p), 0)",
        "if any(at > 2**63",
        "tests/unit/test_repaired.py::test_a_rewind_takes_back_what_changed_no_row_if_it_knew_later_records",
    ),
    Mutant(
        "a repair of a pipeline that never ran ends in Python's own error",
        "spark_jobs/repair/planner.py",
        "    if not committed:\n",
        "    if committed is None:\n",
        f"{REFUSED}test_of_a_pipeline_that_never_ran_no_row_is_computed_again",
    ),
    Mutant(
        "a repair does not wait for the account of a batch",
        "spark_jobs/repair/planner.py",
        "found.cursor.audited < committed[-1] or ",
        "",
        f"{REFUSED}test_while_a_batch_has_no_account_nobody_knows_what_was_late_and_the_next_drain_"
        "mends_it",
    ),
    Mutant(
        "a repair does not wait for a batch that is begun",
        "spark_jobs/repair/planner.py",
        " or found.checkpoint.planned()[-1] != committed[-1]:",
        ":",
        f"{REFUSED}test_so_it_is_while_a_batch_is_begun_and_not_committed",
    ),
    Mutant(
        "a backfill takes rows that drains still write, if the range begins before them",
        "spark_jobs/repair/planner.py",
        "if given[-1].end > closed.until:",
        "if given[-1].start >= closed.until:",
        f"{REFUSED}test_a_range_that_drains_still_write_is_refused_with_the_time_up_to_which_rows_"
        "are_final",
    ),
    Mutant(
        "most_records is not kept to",
        "spark_jobs/repair/planner.py",
        "if plan.offsets > request.most_records:",
        "if plan.offsets > 2**63:",
        f"{REFUSED}test_more_records_than_the_request_allows_are_refused_with_both_numbers",
    ),
    Mutant(
        "records that nobody has any more are left out of a repair without a word",
        "spark_jobs/repair/planner.py",
        "    if there.nowhere:\n",
        "    if there.nowhere and broken:\n",
        f"{REFUSED}test_records_that_kafka_has_no_longer_are_counted_and_the_range_that_is_left_is_"
        "named",
    ),
    Mutant(
        "the records of a topic that was made anew go into the table of the old one",
        "spark_jobs/checkpoint/identity.py",
        "    if known.topic_id != topic.id:\n",
        "    if not topic.id:\n",
        f"{REFUSED}test_the_records_of_a_topic_that_was_made_anew_are_no_repair_of_the_old_ones",
    ),
    Mutant(
        "a repair is planned amid a switch that was cut off",
        "spark_jobs/checkpoint/identity.py",
        "    refuse_cut_off(paths.switching)\n",
        "",
        f"{REFUSED}test_a_rebuild_that_was_cut_off_in_its_switch_is_completed_by_a_drain_first",
    ),
    Mutant(
        "the planner of repairs loads Spark",
        "spark_jobs/repair/planner.py",
        "import uuid\n",
        "import uuid\nimport pyspark\n",
        NO_JAVA,
    ),
    Mutant(
        "a JVM starts before a repair is planned",
        "spark_jobs/cli/carry_out.py",
        "        spec = live_spec(spec, settings.root)\n",
        "        spec = live_spec(spec, settings.root)\n        os.system('java -version')\n",
        NO_JAVA,
    ),
    Mutant(
        "a row of the year 1 keeps every day from being published",
        "spark_jobs/runs/days.py",
        'f"WHERE {position.sql([Span(FIRST, LAST)])}"',
        '""',
        "tests/unit/test_days.py::test_a_row_of_the_year_1_keeps_no_day_from_being_told",
    ),
    Mutant(
        "a record of the year 1 stops every repair",
        "spark_jobs/contract/ranged.py",
        "if not FIRST <= event_time < LAST:",
        "if event_time is None:",
        "tests/unit/test_ranged.py::test_a_record_at_the_end_of_time_is_in_no_range_and_stops_no_repair",
    ),
    Mutant(
        "the records of a repair that needed no commit stay merged when the rows that it relied on go",
        "spark_jobs/ops/repairs.py",
        "in _relying_on(root, rows) if",
        "in () if",
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
        "rows = way.rows_of(touched)",
        "rows = touched",
        "tests/unit/test_fates.py::test_the_day_on_which_a_week_ends_has_the_row_of_its_late_records",
    ),
    Mutant(
        "a swap that an earlier try has committed is committed again",
        "spark_jobs/repair/exchange.py",
        "            done = committed(paths, known, claim)\n",
        "            done = None\n",
        "tests/unit/test_swap.py::test_a_second_swap_does_nothing",
    ),
    Mutant(
        "brackets in a root's name are read as a pattern",
        "spark_jobs/repair/records.py",
        '.option("__globPaths__", "false")',
        "",
        "tests/spark/test_root_name.py::test_what_a_repair_keeps_under_such_a_root_is_read_and_no_"
        "file_that_the_pattern_would_match[a[b]-ab]",
    ),
    Mutant(
        "a repair does not look for the records on which an expression fails",
        "spark_jobs/repair/stage.py",
        "        raise expression_failed(spark, way, settings, paths, plan, data) from error\n",
        "        raise\n",
        NAMED,
    ),
    Mutant(
        "a late record on which an expression fails is not found",
        "spark_jobs/repair/failing.py",
        "NEVER_LATE_MS = int(datetime(1, 1, 1",
        "NEVER_LATE_MS = int(datetime(2100, 1, 1",
        NAMED,
    ),
    Mutant(
        "records from quarantine do not count for how Spark makes its queries",
        "spark_jobs/repair/plan.py",
        "return self.offsets + self.late + self.from_quarantine",
        "return self.offsets + self.late",
        f"{KEPT}test_records_of_every_source_count_for_how_spark_makes_its_queries",
    ),
    Mutant(
        "a plan takes the time of a large repair from small ones, of which each record takes longer",
        "spark_jobs/repair/estimate.py",
        "abs(math.log(run.records / max(records, 1)))",
        "0",
        f"{ESTIMATE}test_those_count_that_read_about_as_many_and_no_older_ones",
    ),
    Mutant(
        "a plan does not say how long it takes",
        "spark_jobs/repair/planner.py",
        "    if not plan.idle:\n        lines = (*lines, *_time(",
        "    if plan.idle:\n        lines = (*lines, *_time(",
        f"{ESTIMATE}test_a_plan_of_a_late_record_says_it_and_one_with_nothing_to_do_does_not",
    ),
    Mutant(
        "an undo of a pipeline that has no ranges any more fails behind its commit",
        "spark_jobs/contract/ranged.py",
        "    return (lambda span: span) if unranged(spec) else ranged(spec).needed\n",
        "    return ranged(spec).needed\n",
        "tests/unit/test_swap.py::test_an_undo_is_whole_though_the_spec_has_no_ranges_any_more",
    ),
    Mutant(
        "a No is recorded of a repair that a killed swap has put into the table",
        "spark_jobs/repair/reject.py",
        "(version := in_table(paths, manifest, row)) is not None",
        "(version := None) is not None",
        f"{KILLED}test_a_no_comes_too_late_and_the_swap_completes_the_record_without_a_yes",
    ),
    Mutant(
        "a repair that was undone counts as one that is in the table",
        "spark_jobs/repair/preconditions.py",
        'row is not None and row["state"] == "undone"',
        'row is not None and row["state"] == "rejected"',
        f"{KILLED}test_a_no_comes_too_late_and_the_swap_completes_the_record_without_a_yes",
    ),
    Mutant(
        "a stage that is cleared computes again what a killed swap has put into the table",
        "spark_jobs/repair/stage.py",
        "    complete(spec, settings.root, plan.repair_id, outcome.run_id)\n",
        "",
        f"{KILLED}test_a_stage_that_is_cleared_completes_the_record_and_computes_nothing",
    ),
    Mutant(
        "a swap that was completed late is younger than what was found in its rows meanwhile",
        "spark_jobs/repair/swap.py",
        "    return committed or datetime.now(UTC)\n",
        "    return datetime.now(UTC)\n",
        f"{KILLED}test_what_a_repair_found_before_the_record_was_there_waits_too_when_the_rows_go",
    ),
    Mutant(
        "a rewind loses a late record that a repair found in the rows of a killed swap",
        "spark_jobs/repair/swap.py",
        "    complete_others(spec, root, repair_id, run_id)\n",
        "",
        f"{KILLED}test_the_next_swap_completes_the_record_before_it_finds_the_rows_there",
    ),
    Mutant(
        "an undo says of a repair whose swap was killed that none of its rows is in the table",
        "spark_jobs/repair/undo.py",
        "        complete(spec, root, repair_id, run_id)\n",
        "",
        f"{KILLED}test_an_undo_completes_the_record_before_it_takes_the_rows_back",
    ),
    Mutant(
        "a repair is swapped in whose spec says that it has no ranges",
        "spark_jobs/repair/swap.py",
        "        refuse_unranged(spec, manifest)\n",
        "",
        f"{KILLED}test_a_repair_whose_spec_has_lost_its_ranges_is_refused_in_words",
    ),
    Mutant(
        "one that a killed swap has put into the table is refused for a spec without ranges",
        "spark_jobs/repair/swap.py",
        "    if not _there(paths, manifest, row):\n",
        "    if True:\n",
        f"{KILLED}test_but_one_that_was_killed_behind_its_commit_is_completed_and_may_be_repeated",
    ),
    Mutant(
        "nobody is told who declined a repair, and when",
        "spark_jobs/repair/reject.py",
        "        manifest.model_copy(update=answer).write(path)\n",
        "        pass\n",
        f"{KILLED}test_a_stage_that_is_cleared_after_a_no_is_refused_by_whom_and_when",
    ),
    Mutant(
        "a person is asked of a change that a killed swap has made",
        "plugins/sluice_airflow/approve.py",
        "(version := in_table(paths, manifest, row)) is not None",
        "(version := None) is not None",
        f"{APPROVE}test_nobody_is_asked_of_a_change_that_a_killed_swap_has_made",
    ),
    Mutant(
        "a person is asked of a change that the swap refuses for a spec without ranges",
        "plugins/sluice_airflow/approve.py",
        "            refuse_unranged(spec, manifest)\n",
        "",
        f"{APPROVE}test_nobody_is_asked_where_the_spec_has_lost_its_ranges_meanwhile",
    ),
    Mutant(
        "an empty form begins a rebuild of a pipeline without ranges",
        "spark_jobs/contract/request.py",
        '        "default": None,\n',
        '        "default": "rebuild",\n',
        "tests/airflow/test_backfill_api.py::test_a_pipeline_without_ranges_has_a_form_for_a_"
        "rebuild_and_no_backfill_over_days",
    ),
    Mutant(
        "behind late records of a pipeline without ranges a repair is named that is refused",
        "spark_jobs/ops/next_steps.py",
        "    if _lacks_ranges(name):\n",
        "    if False:\n",
        "tests/unit/test_next_steps.py::"
        "test_late_records_wait_for_a_repair_and_without_ranges_for_a_rebuild",
    ),
    Mutant(
        "coverage says that a repair waits for a person who has approved it",
        "spark_jobs/repair/coverage.py",
        "        return not read_manifest(paths, repair_id).approved\n",
        "        return bool(read_manifest(paths, repair_id))\n",
        f"{TERMINAL}test_what_a_person_approved_and_no_swap_ended_waits_for_no_person_any_more",
    ),
    Mutant(
        "a plan fails since nobody can tell how long it takes",
        "spark_jobs/repair/planner.py",
        "    except Exception as error:  # noqa: BLE001 - whatever delta-rs or the store threw\n        LOG",
        "    except MemoryError as error:\n        LOG",
        f"{ESTIMATE}test_a_plan_of_a_late_record_says_it_and_one_with_nothing_to_do_does_not",
    ),
    Mutant(
        "a question is not asked since its rows cannot be shown",
        "spark_jobs/cli/question.py",
        "    except Exception as error:  # noqa: BLE001 - whatever delta-rs or the store threw, the question stands\n",
        "    except MemoryError as error:\n",
        f"{TERMINAL}test_rows_that_cannot_be_shown_do_not_end_the_question",
    ),
)
