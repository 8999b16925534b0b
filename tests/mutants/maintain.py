"""Mutants of this subject. See mutant.py."""

from tests.mutants.mutant import Mutant

UNIT = "tests/unit/test_maintain.py"
SPARK = "tests/spark/test_maintain.py"
CARE = "spark_jobs/admin/table_care.py"
COMPACTION = "spark_jobs/storage/compaction.py"
EXPIRED = "spark_jobs/admin/expired.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "VACUUM goes by age alone, and removes files of a version that is published",
        COMPACTION,
        "keep_versions=kept or None,",
        "keep_versions=None,",
        f"{UNIT}::test_versions_that_consumers_read_stay_whole_however_old",
    ),
    Mutant(
        "the published version is vacuumed, once newer rows have passed",
        CARE,
        "        published.table_version,\n",
        "",
        f"{UNIT}::test_versions_that_consumers_read_stay_whole_however_old",
    ),
    Mutant(
        "files go that the published table shows",
        CARE,
        "        *_shown(paths, begins),\n",
        "",
        f"{UNIT}::test_the_published_table_can_be_read_however_long_publish_has_not_moved_it",
    ),
    Mutant(
        "the version that was published before the last is vacuumed",
        CARE,
        "        published.before_version,\n",
        "",
        f"{UNIT}::test_versions_that_consumers_read_stay_whole_however_old",
    ),
    Mutant(
        "a reader that began a week ago loses its files",
        CARE,
        "        history.read_at(paths.table, begins),\n",
        "",
        f"{UNIT}::test_a_version_that_was_newest_a_week_ago_stays_though_newer_ones_are_published",
    ),
    Mutant(
        "the change feed of rows that have not passed is vacuumed",
        CARE,
        "passed_at - MARGIN if passed_at else None",
        "None",
        f"{UNIT}::test_rows_that_have_not_passed_stay_in_the_change_feed",
    ),
    Mutant(
        "a light VACUUM leaves the change feed's files for ever",
        COMPACTION,
        "            full=True,\n",
        "",
        f"{UNIT}::test_rows_that_have_not_passed_stay_in_the_change_feed",
    ),
    Mutant(
        "a table with deletion vectors is vacuumed",
        CARE,
        "sorted(has - FEATURES)",
        "sorted(has - has)",
        f"{UNIT}::test_a_table_with_a_feature_of_spark_alone_is_refused_in_words_after_all_else_is_done",
    ),
    Mutant(
        "maintenance does not take the lease",
        "spark_jobs/admin/maintain.py",
        'with lease(paths.lease, "sluice maintain") as held:',
        'with lease(paths.lease.with_name("another"), "sluice maintain") as held:',
        f"{UNIT}::test_beside_a_run_it_is_refused_by_the_runs_name_and_the_next_pipeline_is_maintained",
    ),
    Mutant(
        "a batch that is not published goes from ops.batches",
        EXPIRED,
        'kept = [f"batch_id >= {self._needed_from}"]',
        'kept = ["batch_id < 0"]',
        f"{UNIT}::test_what_has_not_passed_or_is_not_published_stays_however_old",
    ),
    Mutant(
        "the batch from which doctor knows the newest event goes",
        EXPIRED,
        'for newest in ("table_version", "last_event_time"):',
        'for newest in ("table_version",):',
        f"{UNIT}::test_the_batch_with_the_newest_event_stays_for_the_cursor",
    ),
    Mutant(
        "a person's decision expires",
        EXPIRED,
        " AND outcome <> 'accepted'\"",
        '"',
        f"{UNIT}::test_a_persons_decision_stays_for_ever",
    ),
    Mutant(
        "rejected records of batches that have not passed expire",
        EXPIRED,
        "                generation: min(last, self._needed_from - 1)\n",
        "                generation: last\n",
        f"{UNIT}::test_rejected_records_of_batches_that_may_still_be_judged_stay",
    ),
    Mutant(
        "a rewind takes the batch of an abandoned generation",
        "spark_jobs/sink/history.py",
        "                restored = _restored(entry)\n",
        "                pass\n",
        "tests/unit/test_history.py::test_batches_that_a_rewind_kept_are_found_by_their_generation_and_abandoned_ones_are_not",
    ),
    Mutant(
        "a rewind after a rewind finds no batch of the earlier generation, and empties the table",
        "spark_jobs/admin/rewind.py",
        "known.owners(spec.name), batch)",
        "known.owners(spec.name)[-1:], batch)",
        f"{SPARK}::test_runs_rewind_and_change_feed_go_on_after_it_and_the_table_is_exact",
    ),
    Mutant(
        "a rewind begins though VACUUM has removed the rows",
        "spark_jobs/admin/rewind.py",
        "    _refuse_vacuumed(paths, version, batch)\n    note",
        "    note",
        f"{SPARK}::test_runs_rewind_and_change_feed_go_on_after_it_and_the_table_is_exact",
    ),
    Mutant(
        "after a maintenance a run without rows is judged by its rows",
        "spark_jobs/checks/expectations.py",
        "    if not history.rows_changed(run.target.table, since, version):\n        return []\n",
        "",
        f"{SPARK}::test_runs_rewind_and_change_feed_go_on_after_it_and_the_table_is_exact",
    ),
    Mutant(
        "a maintenance is published as if rows had come",
        "spark_jobs/runs/evaluation.py",
        "return now if history.rows_changed(run.target.table, before, now) else before",
        "return now",
        f"{SPARK}::test_runs_rewind_and_change_feed_go_on_after_it_and_the_table_is_exact",
    ),
    Mutant(
        "a maintenance voids the verdict that a person accepts",
        "spark_jobs/admin/accept.py",
        "history.rows_changed(paths.table, judged, now)",
        "judged < now",
        "tests/unit/test_accept.py::test_files_that_were_joined_after_the_verdict_do_not_void_it",
    ),
    Mutant(
        "a MERGE that OPTIMIZE overtook fails the run",
        "spark_jobs/sink/contention.py",
        "ATTEMPTS = 5",
        "ATTEMPTS = 1",
        f"{SPARK}::test_a_merge_beside_which_somebody_optimized_is_repeated_and_the_table_is_exact",
    ),
    Mutant(
        "an overwrite that OPTIMIZE overtook is SPARK_FAILED",
        "spark_jobs/sink/writer.py",
        "            with contention.in_words(path):\n",
        "            if path:\n",
        f"{SPARK}::test_an_overwrite_beside_which_somebody_optimized_is_refused_in_words_and_repeated_by_the_next_run",
    ),
)
