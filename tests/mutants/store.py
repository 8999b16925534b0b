"""Mutants of a root on an object store. See mutant.py."""

from tests.mutants.mutant import Mutant

COMMITS = "tests/store/test_commits.py"
RECOVERY = "tests/store/test_recovery.py"
UNIT = "tests/unit"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "Spark writes Delta's log by Delta's own store for S3",
        "spark_jobs/launch/submit.py",
        '"sluice.store.ConditionalLogStore"',
        '"io.delta.storage.S3SingleDriverLogStore"',
        f"{COMMITS}::test_a_commit_of_sparks_that_was_on_its_way_while_another_was_made_overwrites_it_not",
    ),
    Mutant(
        "listings of the store are remembered",
        "spark_jobs/contract/store.py",
        "sluice_url(root), use_listings_cache=False",
        "sluice_url(root), use_listings_cache=True",
        f"{RECOVERY}::test_what_a_crash_leaves_at_each_place_is_gone_on_from",
    ),
    Mutant(
        "a reset that was cut off is not noted",
        "spark_jobs/storage/folders.py",
        "    write_whole(note, json.dumps",
        "    str(json.dumps",
        f"{RECOVERY}::test_a_reset_that_is_cut_off_is_told_and_goes_on_where_it_stopped",
    ),
    Mutant(
        "a folder of the store is moved as one of a disk",
        "spark_jobs/storage/folders.py",
        "    if not is_remote(str(note)):\n        for old",
        "    if True:\n        for old",
        f"{RECOVERY}::test_beginning_anew_moves_every_object_and_says_how_many",
    ),
    Mutant(
        "the rows of a repair are written as on a disk",
        "spark_jobs/repair/staged.py",
        "    rows.write.parquet(spark_url(path))",
        "    rows.write.parquet(str(path))",
        "tests/store/test_repair.py::test_late_records_are_repaired_by_a_swap_that_a_second_try_"
        "completes_and_an_undo_takes_back",
    ),
    Mutant(
        "a bucket that is not there is made",
        "spark_jobs/storage/object_store.py",
        "        refuse_unusable(str(paths.version))",
        "        paths.ensure_writable()",
        "tests/store/test_words.py::test_a_store_that_cannot_be_used_is_told_in_one_line",
    ),
    Mutant(
        "an error of the store is any error",
        "spark_jobs/runs/spark_errors.py",
        "    if (store := translate_store_error(error)) is not None:",
        "    if (store := None) is not None:",
        "tests/store/test_faults.py::test_a_store_that_is_gone_in_a_batch_ends_the_run_in_words_and_the_next_is_exact",
    ),
    Mutant(
        "a store that leaves conditions out is taken",
        "spark_jobs/storage/object_store.py",
        "        unsafe = _overwrites(store, probe)",
        "        unsafe = False",
        f"{UNIT}/test_store.py::test_a_store_that_leaves_the_condition_of_a_put_out_is_refused",
    ),
    Mutant(
        "with the bucket in the host, Rust's clients are told the store's own",
        "spark_jobs/contract/store.py",
        'endpoint = self.endpoint if self.path_style else f"{scheme}://{bucket(url)}.{host}"',
        "endpoint = self.endpoint",
        f"{UNIT}/test_store.py::test_the_bucket_is_in_the_path_or_in_the_host_and_no_part_of_a_key_is_taken_for_it",
    ),
    Mutant(
        "what the store did not remove is not looked for",
        "spark_jobs/storage/folders.py",
        "    _refuse_left(old, waiting)\n",
        "",
        f"{UNIT}/test_folders.py::test_an_object_that_the_store_did_not_remove_is_told_and_the_move_is_not_done",
    ),
    Mutant(
        "a reset goes on without its lease",
        "spark_jobs/storage/folders.py",
        "    for name in waiting:\n        confirm()\n",
        "    for name in waiting:\n",
        f"{UNIT}/test_folders.py::test_whoever_has_lost_the_lease_removes_nothing_and_copies_no_more",
    ),
    Mutant(
        "a run that has lost its lease takes a planned batch back",
        "spark_jobs/runs/query.py",
        "        self._run.lease.confirm()  # without",
        "        pass  # without",
        f"{UNIT}/test_lost_lease.py::test_a_batch_without_data_that_the_next_run_has_planned_is_not_taken_back",
    ),
    Mutant(
        "a plan that was put and refused by itself is another's",
        "spark_jobs/contract/files.py",
        "        if path.read_bytes() != text.encode():",
        "        if True:",
        f"{UNIT}/test_files.py::test_what_a_store_refuses_is_ones_own_where_it_says_the_same_and_another_writers_where_not",
    ),
)
