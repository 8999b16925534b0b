"""The account, recovery and what keeps a table safe. See mutant.py."""

from tests.mutants.mutant import Mutant

BALANCE, AUDIT, DRAIN = (
    "spark_jobs/audit/balance.py",
    "spark_jobs/audit/audit.py",
    "spark_jobs/runs/drain.py",
)
PREFLIGHT, UNIT = "spark_jobs/runs/preflight.py", "tests/unit/test_balance.py"
SAFETY, OFF = "tests/spark/test_safety.py", "tests/spark/test_account.py"
TABLE = f"{SAFETY}::test_another_table_than_the_one_that_the_checkpoint_wrote_is_refused_before_a_row_is_written"
CRASH = "tests/spark/test_failpoints.py::"
CRASH += "test_what_a_crash_leaves_at_a_place_is_gone_on_from_and_nothing_is_lost_doubled_or_counted_twice"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the account does not hold what Spark read against what was read again",
        BALANCE,
        "        batch.covered - progress.read - (batch.covered - records.read if records else 0),\n",
        "",
        UNIT,
    ),
    Mutant(
        "the account does not hold the fates against what was read",
        BALANCE,
        "        progress.read - malformed - premature - good,\n",
        "",
        UNIT,
    ),
    Mutant(
        "the account does not notice that a Transform made several records of one",
        BALANCE,
        "        min(filtered, 0),  # a Transform that made several records of one\n",
        "",
        UNIT,
    ),
    Mutant(
        "the account does not hold Spark's late rows against those that were kept",
        BALANCE,
        "        _late_by_spark(spec, progress, late) - late,\n",
        "",
        UNIT,
    ),
    Mutant(
        "the account does not hold rows, duplicates and what a Deduplicate let through against one another",
        BALANCE,
        "        unexplained,\n",
        "",
        UNIT,
    ),
    Mutant(
        "the account does not hold what the table took against what the last step yielded",
        BALANCE,
        "        _written(spec, (passed or [entered])[-1], rows_out) - rows_out,\n",
        "",
        UNIT,
    ),
    Mutant(
        "the account does not hold the counts of bad records against those that were kept",
        BALANCE,
        "        differences += [malformed - records.malformed, premature - records.premature]\n",
        "",
        UNIT,
    ),
    Mutant(
        "the account does not hold what was filtered against a second reading",
        BALANCE,
        "        differences += [filtered - records.filtered] if records.reread else []\n",
        "",
        UNIT,
    ),
    Mutant(
        "where progress is lost, a table with more rows than records is not noticed",
        BALANCE,
        "return max(rows_out - accepted, 0) if only_fewer else 0",
        "return 0",
        UNIT,
    ),
    Mutant(
        "what a look finds is not of the batch that runs meanwhile",
        "spark_jobs/audit/repeated.py",
        "again = repeated or self._before",
        "again = repeated",
        "tests/unit/test_repeated.py",
    ),
    Mutant(
        "an executor that is gone makes nothing doubtful",
        "spark_jobs/audit/repeated.py",
        "return self._stage_ran_again() or newly_lost",
        "return self._stage_ran_again()",
        "tests/unit/test_repeated.py",
    ),
    Mutant(
        "differences of the account cancel each other",
        BALANCE,
        "unaccounted=sum(map(abs, differences))",
        "unaccounted=abs(sum(differences))",
        UNIT,
    ),
    Mutant(
        "an aggregation's late groups are not held against its late records at all",
        BALANCE,
        "return late if bool(dropped) == bool(late) else dropped",
        "return late",
        UNIT,
    ),
    Mutant(
        "a run whose account does not balance succeeds",
        "spark_jobs/contract/state_checks.py",
        '    "unaccounted",\n    0,\n    severity="critical",',
        '    "unaccounted",\n    0,\n    severity="warning",',
        OFF,
    ),
    Mutant(
        "the account of a batch does not come into the report",
        AUDIT,
        "self.accounts[batch.id] = account\n",
        "self.accounts[batch.id] = account.model_copy(update={'unaccounted': 0})\n",
        OFF,
    ),
    Mutant(
        "a run does not look whether its table was dropped, made anew or restored",
        PREFLIGHT,
        "    table.refuse_replaced(target.table, identity.table_id, cursor.table_version)\n",
        "",
        TABLE,
    ),
    Mutant(
        "a run does not look whether its table has a batch that the checkpoint does not know",
        PREFLIGHT,
        "    table.refuse_ahead(target.table, target.owner, Checkpoint(target.checkpoint))\n",
        "",
        TABLE,
    ),
    Mutant(
        "a run writes its identity though another has its lease",
        DRAIN,
        "        held.confirm()",
        "        pass",
        "tests/unit/test_drain.py::test_it_looks_with_the_lease_held_and_writes_only_with_the_lease_confirmed",
    ),
    Mutant(
        "a first run's table is there before its identity: whoever dies between locks the next out",
        "spark_jobs/runs/query.py",
        "            self._store(run.identity)\n",
        "            pass\n",
        "tests/spark/test_housekeeping.py::"
        "test_a_run_that_lost_its_lease_commits_nothing_and_the_next_goes_on",
    ),
    Mutant(
        "a report that cannot be made hides what went wrong with the run",
        "spark_jobs/runs/outcome.py",
        "problem=Problem.of(problem or unexpected(error))",
        "problem=Problem.of(unexpected(error))",
        "tests/unit/test_outcome.py::"
        "test_an_outcome_that_makes_no_valid_report_does_not_hide_the_problem_of_the_run",
    ),
    Mutant(
        "the cursor moves past rows that a check has failed",
        "spark_jobs/runs/evaluation.py",
        "    if verdict(run.spec.name, drained.table_version, results) is None:\n",
        "    if True:\n",
        f"{SAFETY}::test_a_failed_critical_check_fails_the_run_and_its_rows_are_judged_again_until_it_is_but_a_warning",
    ),
    Mutant(
        "what Spark counted of a stage that ran twice is believed",
        AUDIT,
        "progress = None if reported and reported.repeated else reported",
        "progress = reported",
        "tests/cluster/test_faults.py::test_an_executor_killed_amid_a_batch_doubles_nothing_in_table_or_account",
    ),
    Mutant(
        "a run does not complete the account that an earlier one left",
        DRAIN,
        "    audit.catch_up({}, ended=True)\n",
        "",
        f"{CRASH}[audit-3]",
    ),
    Mutant(
        "a batch's row in ops.batches is added again when its account is repeated",
        AUDIT,
        'ops_tables.replace(self.run.paths.root, "batches", [row], **self._key(batch))',
        'ops_tables.append(self.run.paths.root, "batches", [row])',
        f"{CRASH}[audited-2]",
    ),
    Mutant(
        "a batch's commit does not carry its transaction id",
        "spark_jobs/sink/commit.py",
        "transaction.commit(files.appended(mark), operation)",
        "transaction.commit(files, operation)",
        f"{CRASH}[table.committed-3]",
    ),  # batch 2 lets no row go: its timers are due in the batch without data
    Mutant(
        "a batch that is in the table already is left out, and its state with it",
        "spark_jobs/sink/writer.py",
        'batch.write.format("noop").mode("append").save()',
        "pass",
        f"{CRASH}[table.committed-2]",
    ),
    Mutant(
        "max_minutes is ignored",
        "spark_jobs/limits.py",
        "self._deadline is not None and time.monotonic() >= self._deadline",
        "False",
        "tests/spark/test_drain.py::test_a_run_begins_no_batch_after_its_last_minute_and_says_so_and_the_next_goes_on",
    ),
    Mutant(
        "doctor passes a snapshot whose SST files are lost",
        "spark_jobs/checkpoint/file_check.py",
        "            yield path, MISSING\n",
        "            continue\n",
        "tests/spark/test_doctor.py::test_other_damage_to_the_same_files_is_refused_and_its_mending_told",
    ),
    Mutant(
        "doctor passes a file that was changed",
        "spark_jobs/checkpoint/file_check.py",
        'return f"is not what was written, from byte {number * size} on"',
        'return ""',
        "tests/spark/test_doctor.py::test_other_damage_to_the_same_files_is_refused_and_its_mending_told",
    ),
    Mutant(
        "reset keeps nothing",
        "spark_jobs/storage/folders.py",
        "            old.rename(new)\n",
        "            shutil.rmtree(str(old))\n",
        "tests/spark/test_reset.py::test_beginning_anew_reads_everything_into_a_new_table_and_keeps_the_old",
    ),
    Mutant(
        "rewind leaves the table as it is",
        "spark_jobs/admin/reset.py",
        "delta.restore(version)",
        "pass",
        "tests/spark/test_reset.py::test_after_going_back_the_later_batches_are_read_again_and_nothing_is_lost_or_doubled",
    ),
    Mutant(
        "rewind leaves the state of batches that no longer count",
        "spark_jobs/admin/reset.py",
        "            purge(checkpoint, slack=0)  # the state of those batches\n",
        "",
        "tests/spark/test_upkeep.py::"
        "test_after_many_short_runs_state_holds_what_the_kept_batches_need",
    ),
    Mutant(
        "a run leaves the state that no batch needs",
        DRAIN,
        "    purge_state(run, query.query_run_id)\n",
        "",
        "tests/spark/test_upkeep.py::"
        "test_after_many_short_runs_state_holds_what_the_kept_batches_need",
    ),
    Mutant(
        "the snapshot of an attempt that did not count stays",
        "spark_jobs/checkpoint/purge.py",
        "        return ids is None or bool(ids and unique not in ids)\n",
        "        return ids is None\n",
        "tests/unit/test_purge.py::test_a_snapshot_of_another_timeline_or_attempt_goes",
    ),
    Mutant(
        "an SST file goes that a kept snapshot needs",
        "spark_jobs/checkpoint/purge.py",
        "if path.name not in needed]",
        "if path.name]",
        "tests/unit/test_purge.py::"
        "test_what_the_kept_batches_need_stays_and_the_rest_goes_with_its_checksums",
    ),
    Mutant(
        "a clock in the future is believed where Kafka has it too",
        "spark_jobs/classify/premature.py",
        'F.least(F.col("kafka.timestamp"), clock)',
        'F.col("kafka.timestamp")',
        "tests/spark/test_dataflow.py::"
        "test_a_record_that_is_newer_than_its_batch_is_premature_whatever_kafka_has",
    ),
    Mutant(
        "a query runs away from its audit",
        "spark_jobs/sink/writer.py",
        "        while batch_id - audited() > MOST_BEHIND:\n",
        "        while False:\n",
        f"{OFF}::test_an_audit_that_falls_behind_holds_the_query_back",
    ),
    Mutant(
        "the cursor moves past a batch whose progress is lost",
        AUDIT,
        "[batch for batch in waiting if batch <= reported]",
        "[batch for batch in waiting if batch in progress]",
        f"{OFF}::test_a_batch_whose_progress_is_lost_amid_others_is_accounted_for_in_its_turn",
    ),
    Mutant(
        "Spark's parser does not judge the SQL of a spec",
        DRAIN,
        "        refuse_unsafe_trees(session, found.spec)\n",
        "",
        "tests/spark/test_sql_tree.py::test_a_run_refuses_it_before_it_reads",
    ),
)
