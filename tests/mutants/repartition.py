"""What a repartition must not do: count before it is whole, or leave what another number needs. See
mutant.py.
"""

from tests.mutants.mutant import Mutant

UNIT, SPARK = "tests/unit/test_repartition.py", "tests/spark/test_repartition.py"
WORK, FACT = "spark_jobs/runs/repartition.py", "spark_jobs/checkpoint/repartitioned.py"
SETTLING, TO_MOVE = "spark_jobs/runs/settling.py", "spark_jobs/runs/to_move.py"
WHOLE, LATE = "spark_jobs/checkpoint/integrity.py", "spark_jobs/checkpoint/late_commit.py"
IDENTITY, DOCTOR = "spark_jobs/checkpoint/identity.py", "spark_jobs/admin/doctor.py"
KILLED = (
    f"{SPARK}::test_a_drain_behind_one_that_was_killed_has_the_old_number_or_the_new_one_and_is_"
    "exact"
)
WAY_ON = f"{UNIT}::test_whatever_the_identity_says_and_whoever_has_moved_it_there_is_a_way_on"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "state counts that is not the same in the new stores",
        WORK,
        "    if differing or any(",
        "    if any(",
        f"{SPARK}::test_state_that_is_not_the_same_does_not_count",
    ),
    Mutant(
        "state counts that is where no batch looks for it",
        WORK,
        "any(each.misplaced for each in before.values())",
        "False",
        f"{SPARK}::test_state_that_is_not_the_same_does_not_count[misplaced]",
    ),
    Mutant(
        "a key in another store than its own is not seen",
        "spark_jobs/state/contents.py",
        "(home != F.spark_partition_id())",
        "(home < 0)",
        f"{SPARK}::test_a_key_in_another_store_than_its_own_is_misplaced",
    ),
    Mutant(
        "the number counts before Spark has moved the state",
        WORK,
        '        failpoint.at("repartition.noted")\n',
        '        moved.write(paths.identity)\n        failpoint.at("repartition.noted")\n',
        f"{KILLED}[repartition.written]",
    ),
    Mutant(
        "Spark begins without a note",
        WORK,
        "        note.write(paths.repartitioning)\n",
        "        str(note)\n",
        "tests/spark/test_repartition.py::test_drains_behind_more_and_behind_fewer_stores_give_what_duckdb_makes[busy_days]",
    ),
    Mutant(
        "a run goes on behind a repartition that was cut off",
        "spark_jobs/runs/drain.py",
        "        for line in settle(spec, paths, held):\n",
        "        for line in ():\n",
        f"{KILLED}[planned]",
    ),
    Mutant(
        "what was cut off is taken back without the lease",
        SETTLING,
        "    held.confirm()\n    take_back(checkpoint, note)\n",
        "    take_back(checkpoint, note)\n",
        f"{UNIT}::test_nothing_is_taken_back_without_the_lease",
    ),
    Mutant(
        "a batch that read records is taken back",
        FACT,
        "    return not checkpoint.batch(note.batch).covered\n",
        "    return True\n",
        f"{UNIT}::test_a_batch_with_records_is_never_taken_back",
    ),
    Mutant(
        "a batch of the old number is taken back",
        FACT,
        "    if checkpoint.partitions(note.batch) != note.wanted:\n",
        "    if checkpoint.partitions(note.batch) is None:\n",
        f"{UNIT}::test_a_batch_of_the_old_number_is_never_taken_back",
    ),
    Mutant(
        "a batch that has its account is taken back",
        FACT,
        "newest > note.batch or read_cursor(paths.cursor).audited >= note.batch",
        "newest > note.batch",
        f"{UNIT}::test_a_batch_behind_which_an_older_sluice_has_drained_counts_and_that_is_told",
    ),
    Mutant(
        "a batch with another behind it is taken back",
        FACT,
        "newest > note.batch or read_cursor(paths.cursor).audited >= note.batch",
        "read_cursor(paths.cursor).audited >= note.batch",
        f"{UNIT}::test_a_batch_behind_which_an_older_sluice_has_drained_counts_and_that_is_told",
    ),
    Mutant(
        "a batch that counts is taken back while its note is there",
        FACT,
        "    return None if counts else note\n",
        "    return note\n",
        f"{UNIT}::test_one_that_counts_is_not_taken_back",
    ),
    Mutant(
        "the identity keeps a number that the checkpoint has not",
        SETTLING,
        "    if number is not None and number != told:\n",
        "    if number is not None and number == told:\n",
        WAY_ON,
    ),
    Mutant(
        "a repartition believes the identity's number",
        TO_MOVE,
        "    now = known.with_partitions(checkpoint.partitions(batches[-1]))\n",
        "    now = known\n",
        WAY_ON,
    ),
    Mutant(
        "a planned batch that nobody goes on with keeps every run from its work in Spark's words",
        FACT,
        "    if newest in checkpoint.committed() or not moves_state(checkpoint, newest):\n",
        "    if newest in checkpoint.planned():\n",
        f"{UNIT}::test_a_planned_batch_that_nobody_goes_on_with_is_refused_with_the_rewind_that_"
        "removes_it",
    ),
    Mutant(
        "a run goes on from a commit of another number of stores",
        WHOLE,
        "        if reason := wrong_stores(checkpoint, batch):\n",
        "        if (reason := wrong_stores(checkpoint, batch)) and not planned:\n",
        f"{UNIT}::test_a_commit_that_comes_late_is_refused_and_doctor_lets_the_batch_run_again",
    ),
    Mutant(
        "state is moved of which a store is gone",
        TO_MOVE,
        "    refuse_missing_state(checkpoint, name, batches[-1])\n",
        "",
        f"{UNIT}::test_state_that_is_not_whole_is_not_moved",
    ),
    Mutant(
        "state is moved by what spec.py says of another's",
        TO_MOVE,
        "    _refuse_other_steps(spec, known, paths)\n",
        "",
        f"{UNIT}::test_an_aggregate_of_everything_is_not_moved_because_spec_py_has_keys_by_now",
    ),
    Mutant(
        "a change that no batch is made by is one of other steps",
        TO_MOVE,
        "    if all(found):\n",
        "    if any(found):\n",
        f"{UNIT}::test_a_change_that_is_accepted_and_that_no_batch_is_made_by_is_none_of_the_steps",
    ),
    Mutant(
        "a torn note leaves no way on but a reset",
        DOCTOR,
        "        *_note_repair(paths),\n",
        "",
        f"{UNIT}::test_a_note_that_does_not_parse_is_refused_and_doctor_moves_it_away",
    ),
    Mutant(
        "a torn note keeps doctor and rewind from their work",
        FACT,
        "        with suppress(CheckpointBroken):  # runs refuse it: refuse_unnoted\n",
        "        with suppress(FileNotFoundError):\n",
        f"{UNIT}::test_a_rewind_behind_a_note_that_does_not_parse_is_possible",
    ),
    Mutant(
        "doctor lets Spark run a batch of a repartition again, which it does not",
        DOCTOR,
        "    incomplete = newest > last or commit in damage\n",
        "    incomplete = newest > last\n",
        f"{UNIT}::test_doctor_goes_back_behind_one_that_counts_and_whose_commit_is_torn",
    ),
    Mutant(
        "doctor finds nothing wrong with a planned batch that nobody goes on with",
        DOCTOR,
        "    incomplete = newest > last or commit in damage\n",
        "    incomplete = commit in damage\n",
        f"{UNIT}::test_doctor_goes_back_behind_a_planned_batch_that_nobody_goes_on_with",
    ),
    Mutant(
        "nobody is told of a whole batch that came late",
        SETTLING,
        "        lines += _uncompared(paths, _moved(checkpoint, told), note)\n",
        "",
        f"{UNIT}::test_a_batch_that_no_note_names_is_never_taken_back",
    ),
    Mutant(
        "the batch of a note is told in place of the one that moved the state",
        SETTLING,
        "    if note is not None and note.batch == moved:\n",
        "    if note is not None:\n",
        f"{UNIT}::test_a_batch_of_a_process_that_slept_before_its_note_is_told_by_its_own_number",
    ),
    Mutant(
        "doctor finds a commit of another number of stores whole",
        WHOLE,
        "        damage |= self._late_commit()\n",
        "",
        f"{UNIT}::test_a_commit_that_comes_late_is_refused_and_doctor_lets_the_batch_run_again",
    ),
    Mutant(
        "the one store of an aggregate of everything is taken for a late commit",
        LATE,
        "        alone = count == 1 and (",
        "        alone = count == 0 and (",
        f"{UNIT}::test_an_aggregate_of_everything_has_one_store_and_that_is_no_late_commit",
    ),
    Mutant(
        "a late commit of one store is taken for an aggregate of everything",
        LATE,
        "(single is None or operator in single)",
        "(single is None or operator >= 0)",
        f"{UNIT}::test_a_commit_that_comes_late_is_refused_and_doctor_lets_the_batch_run_again[1]",
    ),
    Mutant(
        "the state of an aggregate of everything is moved to where no batch looks for it",
        TO_MOVE,
        "    if alone:\n",
        "    if len(alone) > len(spec.steps):\n",
        f"{UNIT}::test_an_aggregate_of_everything_is_not_moved",
    ),
    Mutant(
        "a rewind goes to a batch whose state nobody has compared",
        WHOLE,
        "            if batch != self._uncounted and self._is_restorable(batch)\n",
        "            if self._is_restorable(batch)\n",
        f"{UNIT}::test_a_rewind_and_doctor_leave_out_a_batch_that_does_not_count",
    ),
    Mutant(
        "doctor goes back for a batch that a drain takes back",
        DOCTOR,
        "        [batch for batch in found if batch != beyond]\n",
        "        [batch for batch in found if batch != found]\n",
        f"{UNIT}::test_a_rewind_and_doctor_leave_out_a_batch_that_does_not_count",
    ),
    Mutant(
        "a torn entry of a repartition keeps every run from its work",
        DOCTOR,
        "        beyond = None  # no drain",
        "        str(beyond)  # no drain",
        f"{UNIT}::test_a_torn_entry_of_one_that_was_cut_off_leaves_a_way_on[offsets]",
    ),
    Mutant(
        "a torn commit of a repartition keeps a plan from its work",
        WHOLE,
        "    committed = [batch for batch in checkpoint.committed() if batch != uncounted]\n",
        "    committed = checkpoint.committed()\n",
        f"{UNIT}::test_a_torn_entry_of_one_that_was_cut_off_leaves_a_way_on[commits]",
    ),
    Mutant(
        "a missing state file of a batch before more stores is not told",
        WHOLE,
        "if batch >= oldest.get(path.parent, unknown) and not",
        "if batch >= unknown and not",
        f"{UNIT}::test_a_missing_state_file_of_a_batch_before_is_told_as_if_there_were_no_"
        "repartition",
    ),
    Mutant(
        "what Spark has purged in one store is told as missing",
        WHOLE,
        "if batch >= oldest.get(path.parent, unknown) and not",
        "if not",
        f"{UNIT}::test_state_that_spark_has_purged_in_one_store_is_not_told_as_missing",
    ),
    Mutant(
        "Spark's note of the other number stays",
        FACT,
        "    forget_operators(checkpoint, note.batch - 1)\n",
        "",
        f"{UNIT}::test_what_is_there_of_one_that_was_cut_off_is_taken_back",
    ),
    Mutant(
        "a rewind leaves the number of the stores that it takes back",
        "spark_jobs/admin/rewind.py",
        "            now = self.known.with_partitions("
        "self.checkpoint.partitions(self.note.batch))\n",
        "            now = self.known\n",
        f"{UNIT}::test_a_rewind_goes_back_behind_it_and_to_the_stores_of_then",
    ),
    Mutant(
        "a change that no batch was made by cannot be taken back behind a repartition",
        IDENTITY,
        '            before = now.model_copy(update={"committed": now.committed + 1})\n',
        "            before = now\n",
        f"{UNIT}::test_a_change_that_no_batch_was_made_by_can_still_be_taken_back_behind_it",
    ),
    Mutant(
        "a change that batches were made by can be taken back behind a rewind to them",
        IDENTITY,
        "        if before is not None and before.in_force(paths, owner):\n            now = replaced",
        "        if before is not None:\n            now = replaced",
        f"{UNIT}::test_a_change_that_batches_were_made_by_cannot_be_taken_back_behind_a_rewind_to_"
        "them",
    ),
    Mutant(
        "a line names a repartition that would be refused",
        "spark_jobs/contract/fingerprint.py",
        "    return MOVED if movable(spec, stored) else ANOTHER_STORE\n",
        "    return MOVED\n",
        "tests/unit/test_fingerprint.py::test_no_line_names_a_repartition_that_would_be_refused",
    ),
    Mutant(
        "a repartition does not look whether its submitter lives",
        "spark_jobs/main.py",
        "    parent_watch.watch()\n    with Watchdog",
        "    with Watchdog",
        "tests/unit/test_main.py::test_a_repartition_is_watched_as_a_run_is_and_leaves_no_report",
    ),
    Mutant(
        "a repartition that stands still waits without end",
        "spark_jobs/main.py",
        "        watchdog.watch(live, settings)\n",
        "",
        "tests/unit/test_main.py::test_a_repartition_is_watched_as_a_run_is_and_leaves_no_report",
    ),
    Mutant(
        "state of another number of stores cannot be read",
        "spark_jobs/checkpoint/log.py",
        "        return number is not None and number <= min(lacking)\n",
        "        return False\n",
        f"{UNIT}::test_the_state_of_batches_before_and_behind_can_be_read",
    ),
    Mutant(
        "a store that is no more says that there is nothing to purge",
        "spark_jobs/checkpoint/purge.py",
        "_surplus(min(stores, key=_number), committed)",
        "_surplus(max(stores, key=_number), committed)",
        f"{UNIT}::test_stores_that_there_are_no_more_do_not_keep_the_purge_from_its_work",
    ),
    Mutant(
        "a repartition begins beside a rebuild",
        TO_MOVE,
        "    if begun := read_begun(paths):\n",
        "    if (begun := read_begun(paths)) and wanted < 0:\n",
        f"{UNIT}::test_beside_a_rebuild_it_is_refused",
    ),
)
