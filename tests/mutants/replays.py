"""Mutants of the replay of quarantined records."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

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
)
