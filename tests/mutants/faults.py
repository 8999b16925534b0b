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
        "        if not warm:\n            parent_watch.watch()\n",
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
    Mutant(
        "a server is given a port that a client may be handed before it listens",
        "local/ports.py",
        "*random.SystemRandom().sample(OURS, TRIES), 0)",
        "0)",
        "tests/unit/test_local_ports.py::test_no_outgoing_connection_is_handed_a_free_port",
    ),
    Mutant(
        "a run whose own thread is stuck is not watched",
        "spark_jobs/main.py",
        "        watchdog.watch(spec, settings)\n",
        "",
        f"{MACHINE}::test_a_jvm_that_stands_still_ends_the_drain_with_what_its_threads_did",
    ),
    Mutant(
        "a JVM that stood still goes on without the lease",
        "spark_jobs/launch/processes.py",
        "            parent.kill()\n",
        "            parent.send_signal(0)\n",
        f"{MACHINE}::test_a_jvm_that_stands_still_ends_the_drain_with_what_its_threads_did",
    ),
    Mutant(
        "time in which nobody looked is a stall",
        "spark_jobs/runs/stillness.py",
        "        if missed or movement != self._last:\n",
        "        if movement != self._last:\n",
        "tests/unit/test_stillness.py::test_time_in_which_nobody_looked_does_not_count",
    ),
    Mutant(
        "a file system that nobody knows is taken for one that locks for all",
        "spark_jobs/checkpoint/file_system.py",
        "return self.kind in LOCAL or (",
        "return self.kind not in CLUSTER or (",
        "tests/unit/test_file_system.py",
    ),
    Mutant(
        "a cluster's file system that keeps its locks to itself is taken",
        "spark_jobs/checkpoint/file_system.py",
        ' and "localflocks" not in self.options',
        "",
        "tests/unit/test_file_system.py",
    ),
    Mutant(
        "one record from the future hides that a topic is silent",
        "spark_jobs/checkpoint/no_data_batch.py",
        "        since = _at(checkpoint.clock_ms(batch))\n",
        "        since = clock.newest\n",
        "tests/unit/test_no_data_batch.py",
    ),
    Mutant(
        "a clock that is behind the broker's is not told",
        "spark_jobs/runs/preflight.py",
        "    if topic.appended is None or topic.appended <= now + CLOCKS_DIFFER:\n",
        "    if topic.appended is None or topic.appended > now:\n",
        "tests/unit/test_plan.py::test_a_clock_that_is_behind_the_brokers_is_told",
    ),
    Mutant(
        "a state store that a cluster does not bound is not told",
        "spark_jobs/runs/preflight.py",
        'if spec.state.provider != "hdfs" or settings.local:',
        "if settings.local or spec.state.provider:",
        "tests/unit/test_plan.py::test_a_state_store_that_a_cluster_does_not_bound_is_told",
    ),
    Mutant(
        "a field that a newer release has added makes its report unreadable",
        "spark_jobs/contract/part.py",
        'extra="ignore"',
        'extra="forbid"',
        "tests/unit/test_report.py::test_a_field_that_a_newer_release_has_added_is_ignored",
    ),
    Mutant(
        "runs that fail keep the state that no batch needs",
        "spark_jobs/runs/drain.py",
        "            purge_after_failure(run, error)\n",
        "",
        "tests/spark/test_upkeep.py::test_runs_that_commit_and_then_fail_keep_no_more",
    ),
    Mutant(
        "what a run read past its end is taken from what is left in other partitions",
        "spark_jobs/runs/drained.py",
        "        max(latest - end.get(partition, topic.earliest.get(partition, 0)), 0)\n",
        "        latest - end.get(partition, topic.earliest.get(partition, 0))\n",
        "tests/unit/test_drained.py",
    ),
)
