"""Spark errors: translates the error of a failed query into one SluiceError.

Spark wraps the cause in a thousand lines.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.errors import (
    DiskFull,
    JarsMissing,
    KafkaRefused,
    KafkaUnreachable,
    NoExecutors,
    ProcessDied,
    SettingInvalid,
    SluiceError,
    SparkFailed,
    SpecInvalid,
    StateMisused,
    TableChanged,
    unexpected,
)
from spark_jobs.errors.carried import carried_in
from spark_jobs.registry.fingerprint.code import resume_remedy
from spark_jobs.runs.failures.code_errors import (
    FRAME,
    called_place,
    driver_error,
    last_place,
    result_error,
    worker_error,
)
from spark_jobs.runs.failures.data_error import DataError, constraint_error
from spark_jobs.storage.root.store import sluice_url, translate_store_error

MISUSED = {
    "STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL": (
        "a TTL goes by the clock, but the GroupState's time mode is not processing",
        "Use time_mode='processing', or leave the TTL out.",
    ),
    "STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE": (
        "a TTL must be at least 1 ms",
        "Set ttlDurationMs, in milliseconds, to 1 or more.",
    ),
    "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE": (
        "it registered a timer, but the GroupState's time mode is none",
        "Use time_mode='event' or 'processing'.",
    ),
    "CANNOT_WITHOUT": (
        "it set a time-out by another clock than the GroupState's time mode",
        "setTimeoutDuration needs time_mode='processing', setTimeoutTimestamp needs "
        "time_mode='event' and a watermark.",
    ),
    "INVALID_TIMEOUT_TIMESTAMP": (
        "it set an event-time time-out behind the watermark, which Spark refuses",
        "Set it after state.getCurrentWatermarkMs().",
    ),
    "VALUE_NOT_POSITIVE": (
        "a time-out must be at least 1 ms",
        "Give milliseconds greater than 0: max(ms, state.getCurrentWatermarkMs() + 1), since a "
        "repair has records of 1970 too.",
    ),
    "CANNOT_BE_NONE": ("it set the state to None", "Remove the state instead: state.remove()."),
    "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED": (
        "it yielded a row whose event time is behind the watermark, which the next stateful step "
        "cannot take",
        "Yield rows with an event time after the watermark, for example the timer's own.",
    ),
}
"""Spark's error class -> what the pipeline's code did wrong, and the remedy."""
MACHINE: tuple[tuple[str, Callable[..., SluiceError]], ...] = (
    # errno 2, 8, 13: the program is missing, is not executable code, or may not be run. With others
    # the machine is at fault.
    (
        r"Cannot run program \"(?P<detail>[^\"]+)\"[^\n]*?error(?:=|: )(?:2|8|13)\b|"
        r"ModuleNotFoundError: (?P<lacks>No module named '(?!logic)[\w.]+')|"
        r"(?P<version>\[PYTHON_VERSION_MISMATCH\][^.]{1,200})",
        SettingInvalid.executor_python,
    ),
    (r"Cannot run program \"(?P<detail>[^\"]+)\"", ProcessDied.no_other_process),
    (
        r"ClassNotFoundException: "
        r"(?P<detail>(?:io\.delta|org\.apache\.(?:spark\.sql\.(?:delta|kafka010)|kafka)|sluice)\.[\w.$]+)",
        SettingInvalid.executor_jar_absent,
    ),
    ("Master removed our application: KILLED", NoExecutors.application_killed),
    ("Master removed our application", NoExecutors.application_removed),
    ("Cannot call methods on a stopped SparkContext", ProcessDied.spark_ended),
    ("No space left on device|Disk quota exceeded", DiskFull.disk_full),
    (
        r"ExecutorLostFailure \(executor (?!driver)[^)]*\)(?: Reason: (?P<detail>[^\n]{1,200}))?|"
        "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND|"  # it had what was computed once (few_records.py)
        r"executor (?!driver)\w+\): java\.lang\.(?P<memory>OutOfMemoryError[^\n]{0,100})",
        ProcessDied.executors_died,
    ),
    (
        r"OutOfMemoryError|py4j\.protocol\.Py4JNetworkError|Answer from Java side is empty|"
        "Error while sending or receiving",
        ProcessDied.jvm_died,
    ),
    (
        r"Python worker exited unexpectedly|pyspark\.daemon|daemon failed to launch worker|"
        # By a signal, or nobody knows yet how it ended.
        r"reading the port number from \S+ stdout(?:\.| and terminated with code: 1[2-4]\d)",
        ProcessDied.python_worker_died,
    ),
    (
        r"kafka\.common\.errors\.\w*(?:Authentication|Authorization)Exception: "
        r"(?P<detail>[^\n]{1,200})",
        KafkaRefused.connector_refused,
    ),
    (r"kafka\.common\.errors\.(?:Timeout|Disconnect)Exception", KafkaUnreachable.stopped_answering),
)
"""Pattern in Spark's text about its machine or Kafka -> the error's reason.

The first match counts.
"""
_TIMESTAMP = re.compile(
    r"Record at topic (?P<topic>\S+) partition (?P<partition>\d+) offset (?P<offset>\d+) has "
    r"timestamp value (?P<number>-?\d+)"
)
_WORKER = "An exception was thrown from the Python worker"
_CAUSE = re.compile(r"^(?:: |Caused by: )(?P<name>[\w.$]+): (?P<text>.+)$", re.MULTILINE)
_RAISED = re.compile(
    r"^(?P<name>[A-Za-z_][\w.]*)(?:: ?(?P<text>.*)|(?<=Error)|(?<=Exception))$", re.MULTILINE
)
_UNREADABLE = re.compile(
    r"ChecksumException: Checksum error: (?:file:)?(?P<changed>[^\n]+?)(?= at -?\d+ exp:|\n|$)"
    r"|FileNotFoundException: (?:File )?(?:file:)?(?P<gone>/[^\n]+/state/\S+)"
    r"|FileNotFoundException: (?:No such file or directory: )?(?P<lost>s3a://\S+/state/\S+)"
    r"|(?P<state>\[CANNOT_LOAD_STATE_STORE[\w.]*\] .*?)\.? (?:If the stream job|SQLSTATE)"
)
_TORN = re.compile(
    r"Checksum error: (?:file:)?(?P<changed>[^\n]+?\.parquet)(?= at -?\d+|\n|$)"
    r"|(?P<none>(?:file:|s3a:)[^\n]*?\.parquet) is not a Parquet file"
)
"""A file of a table: a checkpoint has none of Parquet."""
_SETS_STATE = re.compile(r"in (update|put|appendValue|appendList|updateValue)\b")


def translated(error: BaseException, pipeline: str, lost: str) -> SluiceError:
    """See failed.translate_error; of an error that is no SluiceError."""
    text = f"{error}\n{_WORKER}: {lost}" if lost else str(error)
    if (store := translate_store_error(error)) is not None:
        return store
    if isinstance(error, AnalysisException):
        said = text.strip().splitlines()[0].rstrip("; ")
        return SpecInvalid.query_unplannable(pipeline=pipeline, said=said)
    if _jvm_gone(error):
        return ProcessDied.jvm_died(detail="")
    known = (
        carried_in(text)
        or _reader_error(text)
        or _table_error(text)
        or _checkpoint_error(text, pipeline)
        or constraint_error(text, pipeline)
        or _logic_error(text, pipeline)
        or _machine_error(text)
        or _result_error(text, pipeline)
        or _sink_error(text)
    )
    return known or driver_error(error, pipeline) or unexpected(error)


def _jvm_gone(error: BaseException) -> bool:
    """Whether Py4J found nobody at the JVM's port. It passes on the socket's own error, which other
    servers give too: only the place tells them apart.
    """
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    by_py4j = any(frame.f_globals["__name__"].startswith("py4j.") for frame in frames)
    return isinstance(error, Py4JNetworkError) or (isinstance(error, ConnectionError) and by_py4j)


def _reader_error(text: str) -> SluiceError | None:
    """Spark's own Kafka reader fails over a timestamp that does not fit its microseconds. The
    reader of Sluice's jar takes any.
    """
    if (at := _TIMESTAMP.search(text)) is None:
        return None
    return JarsMissing.timestamp_unreadable(
        topic=at["topic"], partition=at["partition"], offset=at["offset"], timestamp=at["number"]
    )


def _table_error(text: str) -> SluiceError | None:
    if (torn := _TORN.search(text)) is None:
        return None
    file = torn["changed"] or sluice_url(torn["none"]).removeprefix("file:")
    error = "its checksum is another" if torn["changed"] else "Spark finds no footer in it"
    return TableChanged.file_torn(file=file, error=error)


def _checkpoint_error(text: str, pipeline: str) -> SluiceError | None:
    """A message that names the file is preferred."""
    matches = list(_UNREADABLE.finditer(text))
    changed = next(
        (f"{one['changed']} is not what was written" for one in matches if one["changed"]), None
    )
    gone = next(
        (
            f"{sluice_url(one['gone'] or one['lost'])} is missing"
            for one in matches
            if one["gone"] or one["lost"]
        ),
        None,
    )
    what = changed or gone or next((one["state"] for one in matches if one["state"]), None)
    return checkpoint_broken(what, pipeline) if what else None


def _logic_error(text: str, pipeline: str) -> SluiceError | None:
    worker = _worker_text(text)
    error = _raised(worker)
    place = last_place(worker, pipeline)
    if place is None and error and error["name"] == "TypeError":
        place = called_place(error["text"] or "", pipeline)
    where = str(place) if place else f"the code of {pipeline}"
    for name, (why, remedy) in MISUSED.items():
        if f"[{name}" in text:
            return StateMisused.misused(
                where=where, why=why, name=name, remedy=remedy, resume=resume_remedy(pipeline)
            )
    if (
        error
        and error["name"] == "TypeError"
        and "'NoneType'" in (error["text"] or "")
        and _SETS_STATE.search(worker)
    ):
        return StateMisused.none_as_value(
            where=where, why=MISUSED["CANNOT_BE_NONE"][0], resume=resume_remedy(pipeline)
        )
    if (data := DataError.of(text)) is not None:
        where = data.fragment or "an expression of a step"
        return data.failed(pipeline, where, "The batch was not committed.")
    if place is None or error is None:
        return None
    return worker_error(where, error["name"], error["text"] or "", pipeline)


def _result_error(text: str, pipeline: str) -> SluiceError | None:
    if _WORKER not in text:
        return None
    worker = _worker_text(text)
    error = _raised(worker)
    return result_error(worker, error["name"], error["text"] or "", pipeline) if error else None


def _worker_text(text: str) -> str:
    return text.rpartition(_WORKER)[2].partition("\n SQLSTATE:")[0].partition("\n\tat ")[0]


def _raised(worker: str) -> re.Match[str] | None:
    frames = [frame.end() for frame in FRAME.finditer(worker)]
    return _RAISED.search(worker, frames[-1] if frames else 0)


def _machine_error(text: str) -> SluiceError | None:
    for pattern, because in MACHINE:
        if match := re.search(pattern, text):
            detail = next(filter(None, match.groupdict().values()), None)
            return because(detail=f": {detail.rstrip('.')}" if detail else "")
    return None


def _sink_error(text: str) -> SluiceError | None:
    """Py4J carries an error of foreachBatch to the JVM and back; the last line has it."""
    proxy = text.partition("Return Message: Traceback")[2].partition("=== Streaming Query ===")[0]
    raised = [one for one in _RAISED.finditer(proxy.partition("\n\tat ")[0]) if one["text"]]
    if not raised:
        return None
    # For a Java exception, the text has Py4J's error first and Java's own after it.
    last = next(reversed([*_CAUSE.finditer(proxy)]), raised[-1])
    return SparkFailed.unexpected(kind=last["name"].rpartition(".")[2], text=last["text"][:300])
