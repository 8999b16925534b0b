"""Mutants of what drains do under the faults of processes, brokers and disks. See mutant.py."""

from tests.mutants.mutant import Mutant

MACHINE = "tests/faults/test_machine.py"
CAMPAIGN = (
    "tests/faults/test_campaign.py::test_no_kill_loses_doubles_or_leaves_anything_unaccounted"
)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the lease is taken by everybody at once",
        "spark_jobs/checkpoint/lease.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        f"{MACHINE}::test_of_several_triggers_at_once_one_has_the_lease_and_where_its_task_is_killed_the_next_drains",
    ),
    Mutant(
        "who finds the lease held is not told by whom",
        "spark_jobs/checkpoint/lease.py",
        "is being written by {_describe_holder(path)}.",
        "is being written.",
        f"{MACHINE}::test_of_several_triggers_at_once_one_has_the_lease_and_where_its_task_is_killed_the_next_drains",
    ),
    Mutant(
        "a driver does not look whether its submitter lives",
        "spark_jobs/main.py",
        "        parent_watch.watch()\n",
        "",
        f"{MACHINE}::test_of_several_triggers_at_once_one_has_the_lease_and_where_its_task_is_killed_the_next_drains",
    ),
    Mutant(
        "a JVM without memory goes on without the thread that ran the query",
        "spark_jobs/launch/submit.py",
        '"-XX:+ExitOnOutOfMemoryError"',
        '"-XX:-ExitOnOutOfMemoryError"',
        f"{MACHINE}::test_a_jvm_without_memory_ends_at_once_and_with_memory_the_next_goes_on",
    ),
    Mutant(
        "a batch that is in the table already is written once more",
        "spark_jobs/sink/writer.py",
        "if newest_batch(target.table, target.owner) >= batch_id:",
        "if False:",
        CAMPAIGN,
    ),
    Mutant(
        "a batch's rows are committed without its transaction",
        "spark_jobs/sink/commit.py",
        "transaction.commit(files.appended(mark), operation)",
        "transaction.commit(files, operation)",
        CAMPAIGN,
    ),
    Mutant(
        "what a killed publish was to tell is not told by the next",
        "spark_jobs/runs/due.py",
        "elif told == last.before_version:",
        "elif told == -2:",
        CAMPAIGN,
    ),
    Mutant(
        "a worker that died is reported with all of Spark's stack",
        "spark_jobs/launch/submit.py",
        "'error' if os.environ.get('SLUICE_TRACEBACK') else 'off'",
        "'error'",
        f"{MACHINE}::test_a_python_worker_that_is_killed_fails_the_batch_and_the_next_drain_repeats_it",
    ),
    Mutant(
        "a broker that starts again does so on another port",
        "local/broker.py",
        "free_port(jvm.port(home))",
        "free_port(0)",
        "tests/e2e/test_broker.py::test_data_and_port_survive_a_restart",
    ),
)
