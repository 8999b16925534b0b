"""Mutants of the benchmark's reckoning: each is a figure that would be wrong in somebody's favour.
See mutant.py.
"""

from tests.mutants.mutant import Mutant

TEST = "tests/unit/test_bench.py"
LONG = "tests/unit/test_bench_growth.py"
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
        "rival,\n                time.target(target),",
        "rival,\n                time.target(next(iter(targets.values()))),",
        f"{TEST}::test_each_rival_has_four_rows_of_pairs_from_the_same_rounds_and_its_own_targets",
    ),
    Mutant(
        "rows that are too many are allowed",
        ORACLE,
        "if missing or surplus:",
        "if missing:",
        f"{TEST}::test_a_table_that_is_not_duckdbs_counts_for_nothing_and_the_arm_is_named",
    ),
    Mutant(
        "what a run costs after many others is turned round",
        "bench/rounds.py",
        "*_pairs(rounds, ours, before, time.of)",
        "*_pairs(rounds, before, ours, time.of)",
        f"{LONG}::test_growth_is_the_later_arm_over_the_earlier_one_and_memory_has_its_own_limit",
    ),
    Mutant(
        "any state counts as millions of keys",
        "bench/keys.py",
        "if abs(found - count) > NEAR * count:",
        "if found < 0:",
        f"{LONG}::test_a_state_with_fewer_keys_than_asked_for_or_more_is_no_row",
    ),
    Mutant(
        "windows count that the longer delay keeps open",
        ORACLE,
        "DELAYS._replace(query=_DELAYS.format(seconds=round(delay.total_seconds())))",
        "DELAYS",
        f"{TEST}::test_windows_that_a_longer_delay_keeps_open_are_no_rows",
    ),
)
