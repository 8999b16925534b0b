"""Mutants of the benchmark's reckoning: each is a figure that would be wrong in somebody's favour.
See mutant.py.
"""

from tests.mutants.mutant import Mutant

TEST = "tests/unit/test_bench.py"
TREE = "bench/process_tree.py"
PROCESS = "bench/process.py"
ORACLE = "bench/oracle.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "Python workers that end before their daemon cost nothing",
        TREE,
        "return bool(int(mask, 16) >> (signal.SIGCHLD - 1) & 1)",
        "return False",
        f"{TEST}::test_the_seconds_of_a_python_worker_of_spark_count_though_its_daemon_waits_for_none",
    ),
    Mutant(
        "a process for which somebody waited counts twice",
        TREE,
        "if seen.unwaited and pid not in waited",
        "if pid",
        f"{TEST}::test_the_processor_seconds_and_the_memory_of_a_child_count_whoever_waits_for_it",
    ),
    Mutant(
        "the benchmark's own broker counts as the arm's",
        TREE,
        "if child.pid not in self._others:",
        "if child.pid:",
        f"{TEST}::test_what_ran_before_the_measured_process_is_no_part_of_it",
    ),
    Mutant(
        "orphans are not waited for",
        PROCESS,
        "orphans = _wait_for_orphans(others)",
        "orphans = set[int]()",
        f"{TEST}::test_the_processor_seconds_and_the_memory_of_a_child_count_whoever_waits_for_it",
    ),
    Mutant(
        "the median stands for the smallest value too",
        "bench/results.py",
        "(median(values), min(values), max(values))",
        "(median(values), median(values), max(values))",
        f"{TEST}::test_a_cell_has_the_median_and_where_there_are_several_values_the_smallest_and_the_largest",
    ),
    Mutant(
        "a rival's target is every rival's",
        "bench/rounds.py",
        'Measure.less(f"{work}: {what}", rival, target_of(target),',
        'Measure.less(f"{work}: {what}", rival, target_of(next(iter(targets.values()))),',
        f"{TEST}::test_each_rival_has_four_rows_of_pairs_from_the_same_rounds_and_its_own_targets",
    ),
    Mutant(
        "rows that are too many are allowed",
        ORACLE,
        "if missing or surplus:",
        "if missing:",
        f"{TEST}::test_a_table_that_is_not_duckdbs_counts_for_nothing_and_the_arm_is_named",
    ),
)
