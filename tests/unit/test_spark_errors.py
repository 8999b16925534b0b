"""What a query that failed says, from the text that Spark makes of it."""

import socket
import traceback

import pytest
from py4j.clientserver import ClientServerConnection, JavaParameters, PythonParameters
from py4j.java_gateway import GatewayProperty
from py4j.protocol import Py4JNetworkError

from spark_jobs import errors
from spark_jobs.errors import (
    CheckFailed,
    JarsMissing,
    ProcessDied,
    RegistryUnreachable,
    RowRefused,
    SparkFailed,
    TableChanged,
    unexpected,
)
from spark_jobs.errors.carried import MARK, carried, carried_in
from spark_jobs.messages.report import Problem
from spark_jobs.runs.failures.failed import translate_error
from tests.harness.refused import because, has
from tests.harness.roots import ROOT

TRACE = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: ...
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/opt/lib/pyspark/worker.py", line 3622, in main
    process()
  File "/srv/spark_jobs/pipelines/mine/logic.py", line 27, in handleInputRows
    {line}
{rest}
 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: mine [id = 1, runId = 2]
"""


CHECK = """[STREAM_FAILED] Query [id = 1] terminated with exception: Return Message: Traceback
org.apache.spark.sql.delta.schema.DeltaInvariantViolationException: [DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint delay_ok (delay_minutes < 100) violated by row with values:
 - delay_minutes : 120
 - carrier : U\x1bA SQLSTATE: 23001
\tat org.apache.spark.sql.delta
"""
NULL = "[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] NOT NULL constraint violated for column: carrier.\n"


def test_a_row_that_breaks_a_constraint_is_named_and_nobody_is_told_to_run_again(monkeypatch):
    found = translate_error(RuntimeError(CHECK), "mine")
    told = {"row": "delay_minutes, carrier", "hidden": has("SLUICE_RECORD_BYTES=shown")}
    constraint = "CHECK constraint delay_ok (delay_minutes < 100)"
    because(found, RowRefused, "constraint_broken", constraint=constraint, **told)
    assert not found.retry
    assert "120" not in str(found)
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    assert "delay_minutes 120" in str(translate_error(RuntimeError(CHECK), "mine"))
    assert "NOT NULL" in (null := str(translate_error(RuntimeError(NULL), "mine")))
    assert "carrier null" in null


def test_of_an_unknown_error_nobody_says_that_running_again_helps():
    for error in (RuntimeError("long overflow"), ValueError("of a command that only shows")):
        assert "resumes" not in str(translate_error(error, "mine"))
    assert "resumes" not in str(unexpected(RuntimeError("x")))


LOST = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 5.0 "
    "failed 4 times, most recent "
    "failure: Lost task 1.3 in stage 5.0 (TID 20) (10.0.0.2 executor 3): "
)


def said(rest: str, line: str = "self._n.update(None)") -> str:
    return str(translate_error(RuntimeError(TRACE.format(line=line, rest=rest)), "mine"))


def test_an_error_of_the_pipelines_code_is_told_with_its_place():
    assert said("KeyError: 'boom'").startswith(
        "PROCESSOR_FAILED: mine/logic.py line 27, in handleInputRows: KeyError: 'boom'"
    )


def cases(table: str) -> list[list[str]]:
    """A line each, its cells between bars."""
    return [[cell.strip() for cell in line.split(" |")] for line in table.strip().splitlines()]


MISUSED = """
TypeError: 'NoneType' object is not iterable | clear()
pyspark.errors.exceptions.base.PySparkTypeError: [CANNOT_BE_NONE] Argument `newValue` cannot be None. | state.remove()
PySparkRuntimeError: [CANNOT_WITHOUT] Cannot set timeout duration without processing time timeout | time_mode=
PySparkValueError: [INVALID_TIMEOUT_TIMESTAMP] Timeout timestamp (1) cannot be earlier | getCurrentWatermarkMs
PySparkValueError: [VALUE_NOT_POSITIVE] Value for `durationMs` must be positive | greater than 0
E: [STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL] Cannot use TTL | time_mode='processing'
E: [STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE] TTL | ttlDurationMs
E: [STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE] Failed to register | time_mode='event'
"""
CLIENT = '  File "/opt/pyspark/value_state_client.py", line 9, in update\n    x\n'


@pytest.mark.parametrize(("rest", "remedy"), cases(MISUSED))
def test_a_broken_rule_of_sparks_state_is_told_with_its_remedy(rest, remedy):
    text = said(CLIENT + rest if rest.startswith("TypeError") else rest)
    assert text.startswith("STATE_MISUSED: mine/logic.py line 27, in handleInputRows: ")
    assert remedy in text
    assert "\n" not in text


def test_a_row_behind_the_watermark_is_told_although_spark_finds_it_and_not_the_code():
    error = RuntimeError(
        "[EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED] Previous node emitted a row"
    )
    text = str(translate_error(error, "mine"))
    assert text.startswith("STATE_MISUSED: ")
    assert "an event time after the watermark" in text


def test_an_error_in_the_sink_is_told_by_its_last_line_and_not_by_what_wraps_it():
    text = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: "
        "[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: An "
        "exception was raised by the Python Proxy. Return Message: Traceback (most recent call "
        "last):\n"
        '  File "x", line 1, in write\nspark_jobs.somewhere.DiskFull: no space left\n SQLSTATE: '
        "39000\n"
        "=== Streaming Query ===\nIdentifier: mine [id = 1]"
    )
    assert str(translate_error(RuntimeError(text), "mine")).startswith(
        "SPARK_FAILED: DiskFull: no space left "
    )


def test_another_error_is_told_by_its_first_line_and_one_of_ours_as_it_is():
    assert str(translate_error(OSError("no space left\nand more"), "mine")).startswith(
        "SPARK_FAILED: OSError: no space left "
    )
    ours = CheckFailed("one", "two")
    assert translate_error(ours, "mine") is ours


HAPPENED = f"""
java.io.IOException: No space left on device | DiskFull | disk_full |
java.lang.OutOfMemoryError: Java heap space | ProcessDied | jvm_died |
py4j.protocol.Py4JNetworkError: Answer from Java side is empty | ProcessDied | jvm_died |
org.apache.spark.SparkException: Python worker exited unexpectedly (crashed) | ProcessDied | python_worker_died |
org.apache.spark.SparkException: EOFException occurred while reading the port number from spark_jobs.launch.quiet_python_daemon's stdout and terminated with code: 137. | ProcessDied | python_worker_died |
org.apache.spark.SparkException: EOFException occurred while reading the port number from spark_jobs.launch.quiet_python_daemon's stdout. | ProcessDied | python_worker_died |
java.io.IOException: Python daemon failed to launch worker with code -12 | ProcessDied | python_worker_died |
org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired | KafkaUnreachable | stopped_answering |
java.io.IOException: Cannot run program "/opt/python": error=2, No such file or directory | SettingInvalid | executor_python | : /opt/python
java.io.IOException: Cannot run program "/opt/python" (in directory "."): Exec failed, error: 13 (Permission denied) | SettingInvalid | executor_python | : /opt/python
java.io.IOException: Cannot run program "/opt/python": error=12, Cannot allocate memory | ProcessDied | no_other_process | : /opt/python
ModuleNotFoundError: No module named 'pyarrow' | SettingInvalid | executor_python | : No module named 'pyarrow'
java.lang.ClassNotFoundException: org.apache.spark.sql.kafka010.KafkaBatchInputPartition | SettingInvalid | executor_jar_absent | : org.apache.spark.sql.kafka010.KafkaBatchInputPartition
{LOST}ExecutorLostFailure (executor 3 exited caused by one of the running tasks) Reason: Command exited with code 137 | ProcessDied | executors_died | : Command exited with code 137
{LOST}ExecutorLostFailure (executor 3 exited unrelated to the running tasks) Reason: Connection reset by peer | ProcessDied | executors_died | : Connection reset by peer
org.apache.spark.SparkException: [CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_5_0 not found! | ProcessDied | executors_died |
{LOST}java.lang.OutOfMemoryError: Java heap space | ProcessDied | executors_died | : OutOfMemoryError: Java heap space
{LOST.replace("executor 3", "executor driver")}java.lang.OutOfMemoryError: Java heap space | ProcessDied | jvm_died |
org.apache.spark.SparkException: Master removed our application: FAILED | NoExecutors | application_removed |
org.apache.spark.SparkException: Master removed our application: KILLED | NoExecutors | application_killed |
java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext. | ProcessDied | spark_ended |
org.apache.spark.SparkException: something else | SparkFailed | unexpected | something else
"""


@pytest.mark.parametrize(("cause", "kind", "reason", "quoted"), cases(HAPPENED))
def test_what_happened_to_the_machine_is_told_and_not_what_wraps_it(cause, kind, reason, quoted):
    text = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: "
        "[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: An "
        "exception was raised by the Python Proxy. Return Message: Traceback (most recent call "
        "last):\n"
        "py4j.protocol.Py4JJavaError: An error occurred while calling o275.writeFiles.\n"
        ": org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed.\n\tat x.y(Z.scala:1)\n"
        f"Caused by: {cause}\n\tat x.y(Z.scala:2)\n SQLSTATE: 39000\n=== Streaming Query "
        "===\nIdentifier: mine [id = 1]"
    )
    told = translate_error(RuntimeError(text), "mine")
    because(told, getattr(errors, kind), reason)
    assert quoted in (told.parameters.get("detail"), told.parameters.get("text"))
    assert "\n" not in str(told)


TORN = f"""
org.apache.hadoop.fs.ChecksumException: Checksum error: file:/r/v1/spark/state/1/0/SSTs/1.sst at 20 exp: 6 got: 1 | /r/v1/spark/state/1/0/SSTs/1.sst is not what was written
org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] Error reading streaming state file of file:/r/7_a.changelog does not exist. If the stream job is restarted | CANNOT_READ_STREAMING_STATE_FILE
java.io.FileNotFoundException: File file:/r/v1/spark/state/0/0/3.delta does not exist | state/0/0/3.delta is missing
java.io.FileNotFoundException: File file:/{ROOT}/v1/spark/state/0/0/3.delta does not | : /{ROOT}/v1/spark/state/0/0/3.delta is missing
java.io.FileNotFoundException: /{ROOT}/v1/spark/state/0/0/3.delta (No such file | : /{ROOT}/v1/spark/state/0/0/3.delta is missing
org.apache.hadoop.fs.ChecksumException: Checksum error: file:/{ROOT}/v1/spark/state/1/0/SSTs/1.sst at 20 exp: 6 got: -1 | : /{ROOT}/v1/spark/state/1/0/SSTs/1.sst is not what was written
"""


@pytest.mark.parametrize(("cause", "what"), cases(TORN))
def test_a_state_file_that_cannot_be_read_is_named_with_the_doctor(cause, what):
    told = str(translate_error(RuntimeError(f"STREAM_FAILED\nCaused by: {cause}\n\tat x"), "mine"))
    assert told.startswith("CHECKPOINT_BROKEN: ")
    assert what in told
    assert told.endswith("sluice doctor mine")


@pytest.mark.parametrize("of", ["a worker", "foreachBatch"])
def test_an_error_of_sluices_own_is_whole_after_its_way_through_spark(of):
    own = RegistryUnreachable.answered_error(url="http://r/\u202e", said="a\nb\udce9", status=503)
    with pytest.raises(RegistryUnreachable), carried():
        raise own
    trace = "".join(traceback.format_exception(own))
    if of == "a worker":
        text = f"An exception was thrown from the Python worker:\n{trace} SQLSTATE: 39000\n\tat org.apache.spark"
    else:
        text = f"Return Message: {trace}\n SQLSTATE: 39000\n=== Streaming Query ===\nIdentifier: m"
    problem = Problem.of(translate_error(RuntimeError(text), "mine"))
    assert Problem.model_validate_json(problem.model_dump_json()) == Problem.of(own)


NOTE = '{"code": "X", "what": "w", "remedy": "", "reason": "", "parameters": {"a": 1}}'
ODD = {
    "no field": "{}",
    "no end": "{",
    "a number as code": '{"code": 1}',
    "a list as parameter": NOTE.replace("1", "[1]"),
    "half a character": NOTE.replace('"w"', r'"\ud800"'),
    "too deep": NOTE.replace("1", "[" * 100_000),
}


@pytest.mark.parametrize("how", ODD)
def test_what_only_looks_like_a_carried_error_is_none(how):
    assert carried_in(f"line\n{MARK}{ODD[how]}\n") is None
    assert carried_in(f"line\n{MARK}{ODD[how]}\n{MARK}{NOTE}\n").parameters == {"a": 1}


def test_of_a_server_that_refuses_nobody_says_that_sparks_jvm_died():
    for said in ("java.net.ConnectException: Connection refused", "Connection reset by peer"):
        because(translate_error(RuntimeError(said), "mine"), SparkFailed, "unexpected")
    with pytest.raises(ConnectionRefusedError) as refused:
        socket.create_connection(("127.0.0.1", 1))
    because(translate_error(refused.value, "mine"), SparkFailed, "unexpected")


def test_a_jvm_that_py4j_no_longer_finds_has_died():
    nobody = JavaParameters(port=1)
    with pytest.raises(ConnectionRefusedError) as refused:
        ClientServerConnection(
            nobody, PythonParameters(), GatewayProperty(False, None), None
        ).connect_to_java_server()
    because(translate_error(refused.value, "mine"), ProcessDied, "jvm_died")
    because(
        translate_error(Py4JNetworkError("Error while sending"), "mine"), ProcessDied, "jvm_died"
    )


def test_a_timestamp_that_sparks_own_reader_cannot_read_is_named_with_the_jar_that_can():
    said = (
        "org.apache.spark.sql.kafka010.KafkaIllegalStateException: [KAFKA_MALFORMED_RECORD_TIMESTAMP] "
        "Record at topic sales partition 3 offset 41 has timestamp value 9223372036854775807 that "
        "overflows when converting to Spark's microsecond-precision TimestampType. SQLSTATE: 22008"
    )
    found = translate_error(OSError(said), "mine")
    assert not found.retry
    place = {"topic": "sales", "partition": "3", "offset": "41"}
    because(found, JarsMissing, "timestamp_unreadable", **place)


@pytest.mark.parametrize(
    ("said", "file"),
    [
        ("Checksum error: file:/r/a b/tables/t/p.parquet at 20 exp: 6 got: 1", "/r/a b/tables/t/p.parquet"),
        ("Checksum error: file:/r/t/p.parquet at 17920", "/r/t/p.parquet"),
        ("x: file:/r/a b/t/p.parquet is not a Parquet file (length is too low: 0)", "/r/a b/t/p.parquet"),
        ("x: s3a://b/t/p.parquet is not a Parquet file. Expected magic", "s3://b/t/p.parquet"),
    ],
    ids=["checksum", "behind its end", "empty", "no footer"],
)  # fmt: skip
def test_a_torn_file_of_a_table_is_no_broken_checkpoint(said, file):
    found = translate_error(RuntimeError(f"java.lang.Exception: {said}\n\tat org.apache"), "mine")
    because(found, TableChanged, "file_torn", file=file)
