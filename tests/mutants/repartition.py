"""What a repartition must not do: count before it is whole, or leave what another number needs. See
mutant.py.
"""

from tests.mutants.mutant import Mutant

UNIT, SPARK = "tests/unit/test_repartition.py", "tests/spark/test_repartition.py"
WORK, FACT = "spark_jobs/runs/repartition.py", "spark_jobs/checkpoint/repartitioned.py"
KILLED = (
    f"{SPARK}::test_a_drain_behind_one_that_was_killed_has_the_old_number_or_the_new_one_and_is_"
    "exact"
)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "state counts that is not the same in the new stores",
        WORK,
        "    if differing or any(",
        "    if any(",
        f"{SPARK}::test_state_that_is_not_the_same_does_not_count",
    ),
    Mutant(
        "the number counts before Spark has moved the state",
        WORK,
        "        held.confirm()\n        spark._streaming",
        "        found.identity.with_partitions(wanted, batches=1).write(paths.identity)\n"
        "        spark._streaming",
        f"{KILLED}[repartition.written]",
    ),
    Mutant(
        "a run goes on behind a repartition that was cut off",
        "spark_jobs/runs/drain.py",
        "        if taken_back := take_back_cut_off(paths, held):\n",
        '        if taken_back := "":\n',
        f"{KILLED}[planned]",
    ),
    Mutant(
        "what was cut off is taken back without the lease",
        WORK,
        "    held.confirm()\n    take_back(checkpoint, batch)\n",
        "    take_back(checkpoint, batch)\n",
        f"{UNIT}::test_nothing_is_taken_back_without_the_lease",
    ),
    Mutant(
        "a batch that read records is taken back",
        FACT,
        "    return None if checkpoint.batch(planned[-1]).covered else planned[-1]\n",
        "    return planned[-1]\n",
        f"{UNIT}::test_a_batch_with_records_is_never_taken_back",
    ),
    Mutant(
        "the mark of what is to be taken back goes before the rest",
        FACT,
        '    _remove(checkpoint.folder / "commits" / str(batch))\n',
        '    _remove(checkpoint.folder / "offsets" / str(batch))\n',
        f"{UNIT}::test_what_is_there_of_one_that_was_cut_off_is_taken_back",
    ),
    Mutant(
        "Spark's note of the other number stays",
        FACT,
        "    forget_operators(checkpoint, batch - 1)\n",
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
        "spark_jobs/checkpoint/identity.py",
        "            committed = before.committed + batches\n",
        "            committed = before.committed\n",
        f"{UNIT}::test_a_change_that_no_batch_was_made_by_can_still_be_taken_back_behind_it",
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
        WORK,
        "    if begun := read_begun(paths):\n",
        "    if (begun := read_begun(paths)) and wanted < 0:\n",
        f"{UNIT}::test_beside_a_rebuild_it_is_refused",
    ),
)
