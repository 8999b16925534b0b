"""Mutants of a root on an object store. See mutant.py."""

from tests.mutants.mutant import Mutant

COMMITS = "tests/store/test_commits.py"
RECOVERY = "tests/store/test_recovery.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "Spark writes Delta's log by Delta's own store for S3",
        "spark_jobs/submit.py", '"sluice.store.ConditionalLogStore"', '"io.delta.storage.S3SingleDriverLogStore"',
        f"{COMMITS}::test_a_commit_of_sparks_that_was_on_its_way_while_another_was_made_overwrites_it_not"),
    Mutant(
        "listings of the store are remembered",
        "spark_jobs/contract/store.py",
        "sluice_url(root), use_listings_cache=False", "sluice_url(root), use_listings_cache=True",
        f"{RECOVERY}::test_what_a_crash_leaves_at_each_place_is_gone_on_from"),
    Mutant(
        "a reset that was cut off is not noted",
        "spark_jobs/folders.py", "    write_whole(note, json.dumps", "    str(json.dumps",
        f"{RECOVERY}::test_a_reset_that_is_cut_off_is_told_and_goes_on_where_it_stopped"),
    Mutant(
        "a folder of the store is moved as one of a disk",
        "spark_jobs/folders.py", "    if not is_remote(str(note)):\n        for old", "    if True:\n        for old",
        f"{RECOVERY}::test_beginning_anew_moves_every_object_and_says_how_many"),
    Mutant(
        "a bucket that is not there is made",
        "spark_jobs/store.py", "        refuse_unusable(str(paths.version))", "        paths.ensure_writable()",
        "tests/store/test_words.py::test_a_store_that_cannot_be_used_is_told_in_one_line"),
    Mutant(
        "an error of the store is any error",
        "spark_jobs/failure.py", "    if (store := told(error)) is not None:", "    if (store := None) is not None:",
        "tests/store/test_faults.py::test_a_store_that_is_gone_in_a_batch_ends_the_run_in_words_and_the_next_is_exact"),
)
