"""A run, its processes, its state, the pipeline's own code in it; errors that nobody foresaw."""

from __future__ import annotations

import os
import traceback

from spark_jobs.errors.base import SluiceError, reason


class SparkFailed(SluiceError):
    """Spark could not be started, or ended the query with an error."""

    code, exit_status, retry = "SPARK_FAILED", 40, True
    usual_remedy = "Read the line; what is committed stays. If it repeats, correct what it names."

    code_not_packed = reason(
        "The archive with the executors' code cannot be written: {error}.",
        "Make room in the temporary folder, or set TMPDIR to another.",
    )
    no_spark_submit = reason(
        "This worker has no spark-submit on its PATH.", "Install pyspark in Airflow's environment."
    )
    unexpected = reason(
        "{kind}: {text}",
        "SLUICE_TRACEBACK=1 shows the stack trace. If it fails so twice, a third run does not "
        "help.",
        quoted=("text",),
    )


class ProcessDied(SluiceError):
    """A process that Spark needs could not start, or died: its JVM, an executor, a worker."""

    code, exit_status, retry = "PROCESS_DIED", 57, True
    usual_remedy = "Read what died, and free or give memory. Running again resumes."

    no_other_process = reason(
        "A machine could not start another process{detail}.",
        "It lacks memory, processes or open files. Free some. The next run resumes.",
    )
    spark_ended = reason(
        "Spark was ended amid the run, by its master or by a person{detail}.",
        "On a cluster, read the master's log. The next run resumes.",
    )
    executors_died = reason(
        "Executors died while they worked{detail}.",
        "Read their logs. If it was memory, increase spark.executor.memory or "
        "spark.executor.memoryOverhead.",
    )
    jvm_died = reason(
        "Spark's JVM died: out of memory, or killed{detail}.",
        "Give it more memory (SLUICE_DRIVER_MEMORY=4g), or read less in a batch "
        "(max_offsets_per_batch). The next run resumes.",
    )
    python_worker_died = reason(
        "One of Spark's Python workers died: killed, or out of memory{detail}.",
        "The next run repeats the batch. If it dies each time, read less in a batch: "
        "max_offsets_per_batch.",
    )


class ReportMissing(SluiceError):
    """The process ended without a report. The run counts as failed, whatever the exit status
    was.
    """

    code, exit_status, retry = "REPORT_MISSING", 41, True
    usual_remedy = "Nothing: the next run resumes where this run ended."

    no_report = reason(
        "The run left no report at {path}. It was killed, or never started.",
        "Read the lines above in the task's log. The next run resumes where this run stopped.",
    )
    not_a_report = reason(
        "{where} is not a report of version {version}: {error}.",
        "Run Airflow and Spark with the same version of Sluice.",
    )
    run_vanished = reason(
        "Run {run} of {pipeline} ({started}) began, and nothing says how it ended. It or its "
        "machine was killed, or it stood still until it lost its lease."
    )
    no_plan = reason("The task plan of this DAG run left no plan.", "Clear plan to run it again.")
    task_left_no_report = reason(
        "The task {task} of this DAG run left no report.", "Clear {task} to run it again."
    )


class Stopped(SluiceError):
    """The run was asked to stop before it had read everything."""

    code, exit_status, retry = "STOPPED", 42, True
    usual_remedy = "Nothing: the next run resumes."

    before_drained = reason("Somebody stopped the run before Kafka was drained.")
    before_reading = reason(
        "Somebody stopped the run before it read anything.", "The next run does the same work."
    )


class ClusterUnreachable(SluiceError):
    """Spark's master does not answer, or rejects this application."""

    code, exit_status, retry = "CLUSTER_UNREACHABLE", 46, True
    usual_remedy = "Start the master, or correct its address or the secret."

    no_master = reason(
        "Spark's master does not answer at {master} ({failures}).",
        "Start it, or correct the address: spark://host:port, with commas between several.",
    )
    no_answer = reason("{master} did not accept this run within {limit} s.", "{remedy}")
    turned_away = reason("{master} turned this run away: {answer}.", "{remedy}")


class NoExecutors(SluiceError):
    """The cluster gave the run no executor within the time limit, or removed the last one."""

    code, exit_status, retry = "NO_EXECUTORS", 47, True
    usual_remedy = "Start workers, or request fewer cores or less memory."

    none_came = reason(
        "{what} within {seconds} s on {master}. Each needs {size}.",
        "Check that workers live and have that much free. Ask for less (spark.executor.memory, "
        "spark.executor.cores), or wait longer (SLUICE_EXECUTOR_WAIT).",
    )
    application_killed = reason(
        "Somebody killed the application at Spark's master{detail}.", "The next run resumes."
    )
    application_removed = reason(
        "Spark's master removed the application: executors ended as soon as they began{detail}.",
        "Read the executors' logs on the workers. Usual causes: no memory, no Java, another "
        "secret.",
    )


class RunStalled(SluiceError):
    """For the spec's stall_timeout, no batch, job or task of the run began or ended."""

    code, exit_status, retry = "RUN_STALLED", 48, True
    usual_remedy = "See what its threads did, in the file that the line names; run again."

    stood_still = reason(
        "No batch, job or task of {pipeline} began or ended for {limit}. {threads}.",
        "If a task may take longer, lengthen stall_timeout, or bound a batch by "
        "max_offsets_per_batch. The next run resumes.",
    )


class ProcessorFailed(SluiceError):
    """The pipeline's own code in `logic.py` raised an error."""

    code, exit_status = "PROCESSOR_FAILED", 43
    usual_remedy = "Correct the line of `logic.py` that is named."

    timers_endless = reason(
        "{pipeline}: {processor} sets timers that are due at once, again and again. After "
        "{batches} batches there were more.",
        "A processor must handle all that the watermark has passed, and set timers after it.",
    )
    code_raised = reason("{place}: {kind}: {text}", "{resume}", quoted=("text",))
    code_raised_in_batch = reason("{where}: {said}", "{resume}", quoted=("said",))
    result_wrong = reason(
        "The code of {pipeline} returned what Spark cannot take: {text}.",
        "{resume}",
        quoted=("text",),
    )
    signature_unfit = reason(
        "{handler}in {name}: it takes {signature}, and Spark passes ({parameters}) {how}: {error}.",
        "{resume}",
        quoted=("error",),
    )


class StateMisused(SluiceError):
    """The pipeline's own code used its state in a way that Spark does not allow: a timer of another
    clock, None as a value.
    """

    code, exit_status = "STATE_MISUSED", 44
    usual_remedy = "Correct the line of `logic.py` that is named."

    none_as_value = reason("{where}: {why}.", "Clear the state instead: clear(). {resume}")
    misused = reason("{where}: {why} ({name}).", "{remedy} {resume}")


class ExpressionFailed(SluiceError):
    """Spark could not compute an expression of the spec: for more than the few records that a drain
    puts aside, or in a repair, which puts none aside.
    """

    code, exit_status = "EXPRESSION_FAILED", 55
    usual_remedy = "Correct the expression, and name the old one in `compatible_expressions`."

    expression_failed = reason(
        "{pipeline}: {where}: {condition}: {message}. {why}",
        "{first}Correct the expression in spec.py: try_divide and try_cast give null where / and "
        "CAST fail. Add its old text to compatible_expressions, or of one in logic.py its digest "
        "to compatible_logic. {then}",
        quoted=("condition", "message"),
    )


class StateIncompatible(SluiceError):
    """The spec changed: Spark cannot resume the state, or would compute wrong results from it."""

    code, exit_status = "STATE_INCOMPATIBLE", 31
    usual_remedy = "Revert the change, or start over from Kafka: `sluice reset`."

    spec_changed = reason(
        "The state at {folder} was made by another spec: {differences}.",
        "{revert};{declare} or {reset}.",
    )
    types_changed = reason("{pipeline}: {text}.")
    batch_half_done = reason(
        "Batch {batch} of {pipeline} was written with the old {what}. Its state is not stored yet.",
        "Put the old {what} back and run once: sluice drain {pipeline}. Then change it.",
    )
    corrected_type_differs = reason(
        "The corrected expressions of {pipeline} need a state of other types: {changes}.",
        "Write an expression of the same type, with the same aggregate functions. Or start again "
        "from Kafka: `sluice reset {pipeline}`.",
    )
    steps_changed = reason(
        "The state at {folder} was made by other steps: {differences}.",
        "Revert spec.py. See what is possible: sluice plan {pipeline}",
    )
    written_by_other_spec = reason(
        "The state at {folder} was written with a different spec: {differences}.",
        "Revert the spec to read this state.",
    )


def unexpected(error: BaseException) -> SluiceError:
    """Any other error as SparkFailed, with its first line.

    SLUICE_TRACEBACK=1 prints its stack trace.
    """
    if isinstance(error, SluiceError):
        return error
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return SparkFailed.unexpected(kind=type(error).__name__, text=first)


class RecordsRefused(SluiceError):
    """A rule with on_failure='refuse' refuses records: the batch, or the repair, is not done."""

    code, exit_status = "RECORDS_REFUSED", 65
    usual_remedy = "Put the records into quarantine, or change the rule."

    batch = reason(
        "{pipeline}: records of batch {batch} fail a rule with on_failure='refuse': {places}.",
        "Look at them, and put them into quarantine: sluice quarantine {pipeline}. The next run "
        "repeats the batch without them. Or change the rule in spec.py.",
    )
    repair = reason(
        "{pipeline}: records of repair {repair} fail a rule with on_failure='refuse': {places}.",
        "Put them into quarantine: sluice quarantine {pipeline} {named} --reason WHY. Or change "
        "the rule in spec.py. Nothing was changed: then plan the repair again.",
    )


class VersionNotLive(SluiceError):
    """spec.py has no spec of the state version that the live table is of."""

    code, exit_status = "VERSION_NOT_LIVE", 95
    usual_remedy = "Put the spec of that state version into spec.py, as SPEC or as NEXT."

    switched_meanwhile = reason(
        "{folder} is no longer live: {live}.", "Give the same command again."
    )
    spec_absent = reason(
        "{pipeline}: state version {wanted} drains. spec.py has SPEC of version {version}{also}.",
        "Deploy the spec with state=State(version={wanted}), as SPEC or still as NEXT. Or switch "
        "back: `sluice rebuild {pipeline} --back`. Or begin with SPEC: `sluice reset {pipeline}`.",
    )
