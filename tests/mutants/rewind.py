"""What a rewind, a RESTORE, a person's commit or a lost row of an ops table must not do to the
account. See mutant.py.
"""

from tests.mutants.mutant import Mutant

HISTORY, TABLE = "tests/unit/test_history.py", "tests/unit/test_table.py"
REWIND, CURSOR = "tests/unit/test_rewind.py", "tests/unit/test_cursor_repair.py"
RESET = "tests/spark/test_reset.py"
AGAIN = f"{REWIND}::test_one_that_was_cut_off_is_told_and_ends_as_another_if_it_is_run_again"
WHOLE = f"{RESET}::test_a_batch_that_had_no_account_when_one_went_back_to_it_gets_its_whole_account"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a person's words in a commit are read as a batch's note",
        "spark_jobs/sink/history.py",
        "    return said if isinstance(said, dict) else {}\n",
        "    return said\n",
        f"{HISTORY}::test_the_words_of_a_person_in_a_commit_are_no_batchs_note",
    ),
    Mutant(
        "a note without a batch is one",
        "spark_jobs/sink/history.py",
        " or type(batch) is not int:",
        ":",
        f"{HISTORY}::test_the_words_of_a_person_in_a_commit_are_no_batchs_note",
    ),
    Mutant(
        "a RESTORE behind a batch that has no account is let through",
        "spark_jobs/sink/table.py",
        "    last = known_version if written is None else written\n",
        "    last = known_version\n",
        f"{TABLE}::test_a_restore_behind_a_batch_that_has_no_account_yet_is_refused",
    ),
    Mutant(
        "a RESTORE to a RESTORE counts as one of what was there before",
        "spark_jobs/sink/history.py",
        "            if to is None or to < version:\n                return TakenBack(to)\n",
        "            return TakenBack(to) if to is None or to < version else None\n",
        f"{TABLE}::test_a_restore_of_a_restore_takes_back_what_that_one_did",
    ),
    Mutant(
        "a cursor that doctor makes has passed what a rewind took back",
        "spark_jobs/admin/cursor_repair.py",
        "        last = min(report.batches[-1], newest[report.generation])\n",
        "        last = report.batches[-1]\n",
        f"{CURSOR}::test_a_red_verdict_stays_red_after_a_rewind",
    ),
    Mutant(
        "a report of a generation of which no batch is left says what has passed",
        "spark_jobs/admin/cursor_repair.py",
        "        if not report.batches or report.generation not in newest:\n            continue\n",
        "        newest.setdefault(report.generation, rows[-1]['batch_id'])\n",
        f"{CURSOR}::test_after_two_rewinds_the_verdict_is_of_the_generation_whose_batches_are_left",
    ),
    Mutant(
        "a batch without its row is an account without errors",
        "spark_jobs/ops/accounts.py",
        "    if lacking is not None:\n",
        "    if lacking is not None and not rows:\n",
        f"{CURSOR}::test_a_batch_without_its_row_has_no_account_and_doctor_lets_it_be_made_again",
    ),
    Mutant(
        "a batch that is accounted for again keeps its other row",
        "spark_jobs/admin/cursor_repair.py",
        "known.generations, cursor.audited\n",
        "known.generations, 1 << 40\n",
        f"{CURSOR}::test_a_batch_with_two_rows_is_not_counted_twice",
    ),
    Mutant(
        "a batch that is missing in the commit log has no account",
        "spark_jobs/checkpoint/log.py",
        "        after = list(range(batch_id + 1, max(self.committed(), default=-1) + 1))\n",
        "        after = [batch for batch in self.committed() if batch > batch_id]\n",
        f"{CURSOR}::test_a_commit_that_is_missing_amid_others_was_one",
    ),
    Mutant(
        "doctor lets a run begin that cannot account for a batch",
        "spark_jobs/admin/doctor.py",
        "    if unread is not None:\n",
        "    if unread is not None and not planned:\n",
        f"{CURSOR}::test_without_its_offsets_a_batch_cannot_have_an_account_and_doctor_goes_back",
    ),
    Mutant(
        "a kept batch of an earlier generation has no rows in the table",
        "spark_jobs/sink/writer.py",
        "run.identity.owners(run.spec.name)",
        "[run.target.owner]",
        WHOLE,
    ),
    Mutant(
        "rejected records that an earlier generation stored are stored again",
        "spark_jobs/audit/rejected_store.py",
        "run.identity.generations)",
        "run.identity.generations[-1:])",
        WHOLE,
    ),
    Mutant(
        "a rewind keeps the row of a batch that the next run accounts for",
        "spark_jobs/admin/rewind.py",
        '(("batches", audited), ',
        '(("batches", batch), ',
        f"{REWIND}::test_a_batch_without_an_account_keeps_its_rejected_records_and_no_row_of_a_killed_run",
    ),
    Mutant(
        "a rewind leaves no note while it works",
        "spark_jobs/admin/rewind.py",
        "            note.write(paths.rewinding)\n",
        "",
        AGAIN,
    ),
    Mutant(
        "a run begins after a rewind that was cut off",
        "spark_jobs/checkpoint/identity.py",
        "        raise cut_off(paths, note)\n",
        "        str(note)\n",
        AGAIN,
    ),
    Mutant(
        "a rewind that goes on copies what it has changed over what was kept",
        "spark_jobs/admin/rewind.py",
        "        if self.note.copied:\n            return\n",
        "",
        f"{REWIND}::test_one_that_was_cut_off_amid_its_copy_and_amid_the_logs_ends_as_another",
    ),
    Mutant(
        "a rewind that goes on keeps its own generation as one of before",
        "spark_jobs/admin/rewind.py",
        "        if self.known.generation != self.note.generation:\n",
        "        if self.known:\n",
        AGAIN,
    ),
    Mutant(
        "a rewind that goes on restores the table once more",
        "spark_jobs/admin/rewind.py",
        "        if self.version != delta.version():\n",
        "        if self.version:\n",
        AGAIN,
    ),
    Mutant(
        "after a cut-off one may go back less far",
        "spark_jobs/admin/rewind.py",
        "    if begun and batch > begun.batch:",
        "    if begun and batch < begun.batch:",
        f"{REWIND}::test_after_a_cut_off_one_can_go_back_further_and_no_less_far",
    ),
    Mutant(
        "doctor takes a rewind that was cut off for damage, or for nothing",
        "spark_jobs/admin/doctor.py",
        "    if begun:\n",
        "    if begun and not known:\n",
        f"{REWIND}::test_doctor_knows_it_and_goes_on",
    ),
)
