"""Mutants of this subject. See mutant.py."""

from tests.mutants.mutant import Mutant

WORKER_TEST = "tests/unit/test_warm_worker.py"
PRINT_TEST = "tests/unit/test_warm_fingerprint.py"
JVM_TEST = "tests/spark/test_warm_jvm.py"
WARM = "spark_jobs/warm"
NOTHING_LEFT = f"{JVM_TEST}::test_the_next_drain_finds_no_setting_view_store_or_python_worker_of_the_one_before"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a worker goes on with code that has changed",
        f"{WARM}/reception.py",
        "if parts := changed(self._born, wanted.fingerprint):",
        "if parts := changed(self._born, self._born):",
        f"{WORKER_TEST}::test_another_fingerprint_ends_the_worker_before_the_run_and_says_what_has_changed",
    ),
    Mutant(
        "a file that was changed and changed back counts as unchanged",
        f"{WARM}/fingerprint.py",
        ' if touched else ""',
        ' if not touched else ""',
        f"{PRINT_TEST}::test_a_changed_file_of_code_or_jars_is_named",
    ),
    Mutant(
        "a second client waits for the drain of the first",
        f"{WARM}/reception.py",
        "            if turn.job is not None:\n                link.send(Busy(turn.job.run))",
        "            if turn.ending:\n                link.send(Busy(turn.ending))",
        f"{WORKER_TEST}::test_a_second_client_is_told_at_once_that_the_worker_is_busy",
    ),
    Mutant(
        "a drain whose client has vanished goes on",
        f"{WARM}/job.py",
        "            os.kill(os.getpid(), signal.SIGTERM)\n",
        "",
        f"{WORKER_TEST}::test_a_client_that_vanishes_stops_its_run_and_ends_the_worker",
    ),
    Mutant(
        "a worker lives on behind a drain that failed",
        f"{WARM}/recycling.py",
        "        if status:\n",
        "        if status < 0:\n",
        f"{PRINT_TEST}::test_a_worker_ends_behind_a_failed_drain_the_last_one_or_one_that_left_it_large",
    ),
    Mutant(
        "a drain finds the variables of the one before",
        f"{WARM}/surroundings.py",
        "        _set_environment(before[0])\n",
        "",
        f"{WORKER_TEST}::test_each_run_has_its_own_environment_and_folder_and_finds_nothing_of_the_one_before",
    ),
    Mutant(
        "users' modules stay loaded",
        f"{WARM}/surroundings.py",
        "        _forget(_users_modules())\n",
        "",
        f"{WORKER_TEST}::test_each_run_has_its_own_environment_and_folder_and_finds_nothing_of_the_one_before",
    ),
    Mutant(
        "another user's process may hand a worker code",
        f"{WARM}/link.py",
        "    if user != os.getuid():\n",
        "    if user < 0:\n",
        "tests/unit/test_warm_messages.py::test_another_users_process_is_refused",
    ),
    Mutant(
        "a task's token stays in a worker's environment",
        f"{WARM}/variables.py",
        'PREFIXES: Final = ("AIRFLOW_CTX_", "_AIRFLOW_", "__AIRFLOW_")',
        'PREFIXES: Final = ("AIRFLOW_CTX_",)',
        f"{PRINT_TEST}::test_a_worker_is_started_with_no_variable_of_a_run",
    ),
    Mutant(
        "state stores stay loaded behind a drain",
        f"{WARM}/jvm.py",
        '        _object(self._java, f"{STATE}.StateStore$").stop()\n',
        "",
        NOTHING_LEFT,
    ),
    Mutant(
        "Python workers with a pipeline's code stay",
        f"{WARM}/jvm.py",
        "        end_python_workers(self._process)\n",
        "",
        NOTHING_LEFT,
    ),
    Mutant(
        "settings of one drain's session are those of the next",
        f"{WARM}/jvm.py",
        "        made = self._first.newSession()\n",
        "        made = SparkSession._instantiatedSession or self._first\n",
        NOTHING_LEFT,
    ),
    Mutant(
        "a killed task leaves the worker at its drain",
        "plugins/sluice_airflow/submission.py",
        "            end_tree(run.process.pid, GRACE_SECONDS)\n",
        "            pass\n",
        "tests/airflow/test_warm_drain.py::test_a_killed_task_kills_the_worker_and_the_next_one_starts_another",
    ),
    Mutant(
        "a failed drain is cleaned up at leisure",
        f"{WARM}/worker.py",
        '            problem = "" if status else within(CLEAN_SECONDS, self._jvm.clean)\n',
        "            problem = within(CLEAN_SECONDS, self._jvm.clean)\n",
        f"{WORKER_TEST}::test_a_failed_drain_is_answered_when_the_jvm_is_dead_and_nothing_is_cleaned_at_leisure",
    ),
    Mutant(
        "a clean-up may take for ever",
        f"{WARM}/limited.py",
        "    thread.join(seconds)\n",
        "    thread.join()\n",
        f"{WORKER_TEST}::test_a_worker_that_cannot_clean_up_in_time_answers_and_ends_at_once",
    ),
    Mutant(
        "a process that a run has left keeps the client's file",
        f"{WARM}/output.py",
        "                os.dup2(nothing, self._client, inheritable=False)\n",
        "",
        f"{WORKER_TEST}::test_a_client_reads_to_the_end_though_the_run_has_left_a_process",
    ),
    Mutant(
        "a run begins whose client does not wait for it",
        f"{WARM}/worker.py",
        "        if not job.begins():\n",
        "        if not job.begins() and not job.run:\n",
        f"{WORKER_TEST}::test_no_drain_begins_whose_client_does_not_say_that_it_waits",
    ),
    Mutant(
        "a worker removes the socket of another one",
        f"{WARM}/address.py",
        "and self._there() == self._own:",
        "and self._there():",
        f"{WORKER_TEST}::test_a_worker_does_not_remove_the_socket_of_another_one",
    ),
    Mutant(
        "a worker knows its socket by an inode that another one may have been given",
        f"{WARM}/address.py",
        "status.st_ino, status.st_ctime_ns",
        "status.st_ino, 0",
        f"{WORKER_TEST}::test_a_socket_with_the_inode_of_its_own_and_another_time_is_another_one",
    ),
    Mutant(
        "a worker that was retired by somebody who is gone waits for a drain",
        f"{WARM}/turn.py",
        "                    if self.job is None and self.ending:",
        "                    if self.job is not None and self.ending:",
        f"{WORKER_TEST}::test_one_that_was_retired_and_not_woken_ends_without_waiting_for_a_drain",
    ),
    Mutant(
        "a signal that does not wake the main thread is not heard",
        f"{WARM}/turn.py",
        "timeout=min(LOOK_SECONDS, idle_seconds)",
        "timeout=idle_seconds",
        f"{WORKER_TEST}::test_a_signal_that_another_thread_is_given_ends_it_too",
    ),
    Mutant(
        "a client kills the worker of another run behind its own",
        f"{WARM}/client.py",
        "        return self._ended or (self._link is not None and self._link.is_told())\n",
        "        return self._ended\n",
        "tests/unit/test_warm_client.py::test_a_client_says_that_it_waits_and_sees_the_end_before_it_looks",
    ),
    Mutant(
        "what fails before a worker accepts fails the drain",
        f"{WARM}/client.py",
        "    except (SluiceError, OSError, ValueError) as error:",
        "    except (SluiceError, OSError) as error:",
        "tests/unit/test_warm_client.py::test_whatever_fails_before_the_worker_accepts",
    ),
    Mutant(
        "a table made anew at its path is the one of the drain before",
        f"{WARM}/jvm.py",
        '        _object(self._java, "org.apache.spark.sql.delta.DeltaLog$").clearCache()\n',
        "",
        f"{JVM_TEST}::test_a_query_what_it_kept_and_a_tables_snapshot_are_gone_behind_a_drain",
    ),
    Mutant(
        "a query at work stays behind a drain",
        f"{WARM}/jvm.py",
        "                query.stop()\n",
        "                pass\n",
        f"{JVM_TEST}::test_a_query_what_it_kept_and_a_tables_snapshot_are_gone_behind_a_drain",
    ),
    Mutant(
        "what a drain has kept in memory stays",
        f"{WARM}/jvm.py",
        "            session.catalog.clearCache()\n",
        "            pass\n",
        f"{JVM_TEST}::test_a_query_what_it_kept_and_a_tables_snapshot_are_gone_behind_a_drain",
    ),
)
