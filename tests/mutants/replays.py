"""Mutants of the replay of quarantined records."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

BAD = "tests/unit/test_bad_rows.py"
REPLAYING = "tests/unit/test_replaying.py"
QUARANTINE = "spark_jobs/repair/quarantine.py"

MUTANTS = (
    Mutant(
        "a record that was replayed is replayed again",
        QUARANTINE,
        "FROM {waiting_sql(paths, 'quarantine', generations, batch)}\",",
        'FROM quarantine WHERE {_of(paths, generations)} AND batch_id <= {batch}",',
        f"{REPLAYING}::test_a_replayed_record_waits_no_more_and_every_later_repair_uses_it_until_"
        "the_undo",
    ),
    Mutant(
        "a wrong clock that Kafka's timestamp shares becomes right by waiting",
        QUARANTINE,
        'for at in (row["kafka_timestamp"], row["planned_at"])',
        'for at in (row["kafka_timestamp"],)',
        f"{REPLAYING}::test_a_premature_record_is_good_once_max_ahead_allows_it_by_the_clock_of_"
        "its_batch",
    ),
    Mutant(
        "a record is replayed on which an expression of the spec fails still",
        QUARANTINE,
        'if row["kind"] == "malformed" and fails_still(row["reason"], spec):',
        "if False:",
        f"{REPLAYING}::test_a_record_on_which_an_expression_failed_is_good_once_that_one_is_"
        "corrected",
    ),
    Mutant(
        "a later repair leaves replayed records out without a word, once they have expired",
        QUARANTINE,
        "    if lost:\n",
        "    if False:\n",
        f"{REPLAYING}::test_a_range_whose_replayed_record_is_no_longer_kept_is_unreachable",
    ),
    Mutant(
        "a record is replayed whose row drains still write",
        "spark_jobs/repair/replaying.py",
        "        elif span.end > self.until:\n",
        "        elif span.start > self.until:\n",
        f"{REPLAYING}::test_the_plan_tells_which_are_merged_which_wait_until_when_and_why_the_"
        "others_stay",
    ),
    Mutant(
        "an hour with replayable records is called canonical",
        "spark_jobs/repair/coverage.py",
        '"replayable" if replayable else "canonical"',
        '"canonical"',
        f"{REPLAYING}::test_coverage_knows_which_hours_a_replay_would_complete_and_its_balance_"
        "closes",
    ),
    Mutant(
        "a repair leaves out the records that replays have brought in",
        "spark_jobs/repair/planner.py",
        "_by_partition({*used, *(each[:2] for each in replayed)})",
        "_by_partition({*(each[:2] for each in replayed)})",
        "tests/spark/test_quarantine.py::test_after_a_replay_the_table_has_what_the_corrected_"
        "spec_decodes_until_it_is_undone",
    ),
    Mutant(
        "an undo that puts the row of a replayed record back leaves the record without its fate",
        "spark_jobs/ops/repairs.py",
        "            taken_out.give_back(root, pipeline, _ids([*rows, *relying]))\n",
        "",
        f"{BAD}::test_an_undo_that_puts_its_row_back_gives_its_fate_back_with_its_place_and_time",
    ),
    Mutant(
        "a rewind to before an undo leaves the records of the repair without their fates",
        "spark_jobs/admin/taken_back.py",
        "    for row in back:\n",
        "    for row in back[:0]:\n",
        f"{BAD}::test_a_rewind_to_before_an_undo_says_what_was_said_then[]",
    ),
    Mutant(
        "what a swap took out that was cut off stays out for ever",
        "spark_jobs/admin/taken_back.py",
        "    taken_out.give_back_but(paths.root, paths.pipeline, generations, in_table)\n",
        "",
        f"{BAD}::test_a_rewind_gives_back_what_a_swap_took_that_was_cut_off_and_told_nothing",
    ),
    Mutant(
        "the fate of a record is said twice",
        "spark_jobs/ops/taken_out.py",
        "(theirs.join(told, RECORD",
        "(theirs.join(told.slice(0, 0), RECORD",
        f"{BAD}::test_a_record_that_a_replay_has_brought_since_is_said_once",
    ),
    Mutant(
        "a rewind restores the fates of repairs in the order of their undos",
        "spark_jobs/admin/taken_back.py",
        '    back.sort(key=lambda row: row["table_version"])\n',
        "",
        "tests/unit/test_bad_rows.py::test_of_two_undos_that_a_rewind_takes_back_the_later_repair_"
        "still_takes_out",
    ),
    Mutant(
        "a swap given again says again what a later repair took out",
        "spark_jobs/ops/repairs.py",
        "AND ({own}) = ({taken})",
        "AND NOT ({own}) AND NOT ({taken})",
        "tests/unit/test_bad_rows.py::test_a_swap_that_is_given_again_does_not_say_what_a_later_"
        "repair_took_out",
    ),
    Mutant(
        "a swap that is told late to be there says what a later repair took out",
        "spark_jobs/repair/swap.py",
        "    if version is not None:\n        _let",
        "    if version is None:\n        _let",
        "tests/unit/test_bad_rows.py::test_nor_does_one_that_was_killed_behind_its_commit",
    ),
    Mutant(
        "a rewind gives back fates of another checkpoint of the pipeline",
        "spark_jobs/ops/taken_out.py",
        """equals({'pipeline': pipeline})} AND {of_these}\"""",
        """equals({'pipeline': pipeline})}\"""",
        "tests/unit/test_bad_rows.py::test_a_rewind_gives_nothing_back_of_another_checkpoint_of_the_"
        "pipeline",
    ),
)
