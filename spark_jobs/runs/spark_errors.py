"""Failure: what a query that failed says, in one error. Spark wraps an error of the pipeline's own code in a thousand lines."""

from __future__ import annotations

import re

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.contract.errors import (
    DiskFull,
    KafkaRefused,
    KafkaUnreachable,
    NoExecutors,
    ProcessorFailed,
    SettingInvalid,
    SluiceError,
    SparkFailed,
    SpecInvalid,
    StateMisused,
    by_code,
    unexpected,
)
from spark_jobs.contract.store import sluice_url
from spark_jobs.contract.store_errors import told

MISUSED = {
    "STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL": (
        "a TTL goes by the clock, and the GroupState's time mode is another",
        "Use time_mode='processing', or leave the TTL out."),
    "STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE": (
        "a TTL must be longer than nothing", "Give ttlDurationMs in milliseconds, at least 1."),
    "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE": (
        "it asked for a timer, and the GroupState's time mode is none", "Use time_mode='event' or 'processing'."),
    "CANNOT_WITHOUT": (
        "it asked for a time-out of another clock than the GroupState's time mode",
        "setTimeoutDuration needs time_mode='processing', setTimeoutTimestamp needs time_mode='event' and a watermark."),
    "INVALID_TIMEOUT_TIMESTAMP": (
        "it set an event-time time-out behind the watermark, where it could never be waited for",
        "Set it after state.getCurrentWatermarkMs()."),
    "VALUE_NOT_POSITIVE": ("a time-out must lie ahead", "Give milliseconds greater than 0."),
    "CANNOT_BE_NONE": ("it set the state to nothing", "Remove the state instead: state.remove()."),
    "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED": (
        "it yielded a row whose event time the watermark has passed, which the steps after it could not take",
        "Yield rows with an event time after the watermark, for example the timer's own."),
}
"""Spark's error class -> what it means here, and the remedy."""
MACHINE: tuple[tuple[str, type[SluiceError], str, str], ...] = (
    # 2, 8 and 13: it is not there, is no program, may not be run. Else it is the machine that can start none.
    (r"Cannot run program \"(?P<said>[^\"]+)\"[^\n]*?error(?:=|: )(?:2|8|13)\b|"
     r"ModuleNotFoundError: (?P<lacks>No module named '(?!logic)[\w.]+')|"
     r"(?P<version>\[PYTHON_VERSION_MISMATCH\][^.]{1,200})", SettingInvalid,
     "the executors' Python is not there, or not one that Sluice can use",
     "Correct SLUICE_EXECUTOR_PYTHON, or give that Python what docs/cluster.md lists."),
    (r"Cannot run program \"(?P<said>[^\"]+)\"", SparkFailed, "a machine could not start another process",
     "It lacks memory, processes or open files: see what else runs there, then run again: it resumes."),
    (r"ClassNotFoundException: (?P<said>(?:io\.delta|org\.apache\.(?:spark\.sql\.(?:delta|kafka010)|kafka)|sluice)\.[\w.$]+)",
     SettingInvalid, "executors lack one of Sluice's jars, with the class",
     "Put every jar of SLUICE_JARS into the folder that SLUICE_EXECUTOR_JARS names, on every worker; or leave it unset."),
    ("Master removed our application: KILLED", NoExecutors, "the application was killed at Spark's master",
     "Ask who did. Running again resumes."),
    ("Master removed our application", NoExecutors, "Spark's master gave up: executors ended as soon as they began",
     "Their logs on the workers say why: no memory, no Java, another secret."),
    ("Cannot call methods on a stopped SparkContext", SparkFailed, "Spark was ended amid the run, by its master or by hand",
     "On a cluster the master's log says why. Running again resumes."),
    ("No space left on device|Disk quota exceeded", DiskFull, "no space is left on a disk that the run writes to",
     "Make room under SLUICE_ROOT and in the temporary folder, then run again: it resumes."),
    (r"ExecutorLostFailure \(executor (?!driver)[^)]*\)(?: Reason: (?P<said>[^\n]{1,200}))?|"
     r"executor (?!driver)\w+\): java\.lang\.(?P<memory>OutOfMemoryError[^\n]{0,100})", SparkFailed,
     "executors died while they worked",
     "If it was memory, give them more (spark.executor.memory, spark.executor.memoryOverhead); their logs say why."),
    ("OutOfMemoryError|Answer from Java side is empty|Error while sending or receiving|Connection refused|Connection reset",
     SparkFailed, "Spark's JVM died: out of memory, or killed",
     "If it was memory, give it more (SLUICE_DRIVER_MEMORY=4g) or read less in a batch (max_offsets_per_batch). Run again."),
    (r"Python worker exited unexpectedly|pyspark\.daemon", SparkFailed,
     "one of Spark's Python workers died: killed, or out of memory",
     "Running again repeats the batch; if it dies each time, read less in a batch: max_offsets_per_batch."),
    (r"kafka\.common\.errors\.\w*(?:Authentication|Authorization)Exception: (?P<said>[^\n]{1,200})", KafkaRefused,
     "Kafka turned Spark's connector away", "Correct the declaration, or grant the rights that docs/kafka.md lists."),
    (r"kafka\.common\.errors\.(?:Timeout|Disconnect)Exception", KafkaUnreachable, "Kafka stopped answering amid a batch",
     "Check the brokers, then run again: it resumes."),
)
"""What Spark says of the machine around it -> the error, what it means here, and the remedy."""
_CAUSE = re.compile(r"^(?:: |Caused by: )(?P<name>[\w.$]+): (?P<text>.+)$", re.MULTILINE)
_FRAME = re.compile(r'File "[^"]*/(?P<file>[^"/]+/logic\.py)", line (?P<line>\d+), in (?P<function>\w+)')
_RAISED = re.compile(r"^(?P<name>[A-Za-z_][\w.]*): ?(?P<text>.*)$", re.MULTILINE)
_OWN = re.compile(r"(?P<code>[A-Z_]+): (?P<what>.+)")
"""One of Sluice's errors, as it says itself."""
_RAISED_IN_SQL = re.compile(r"\[USER_RAISED_EXCEPTION\] (.+?)\.? SQLSTATE")
_UNREADABLE = re.compile(
    r"ChecksumException: Checksum error: (?:file:)?(?P<changed>\S+)"
    r"|FileNotFoundException: (?:File )?(?:file:)?(?P<gone>/\S+/state/\S+)"
    r"|FileNotFoundException: (?:No such file or directory: )?(?P<lost>s3a://\S+/state/\S+)"
    r"|(?P<state>\[CANNOT_LOAD_STATE_STORE[\w.]*\] .*?)\.? (?:If the stream job|SQLSTATE)"
)
_SETS_STATE = re.compile(r"in (update|put|appendValue|appendList|updateValue)\b")


def understood(error: BaseException, pipeline: str) -> SluiceError:
    """The error as one that names what happened, where, and what fixes it, if it is known; else as any other."""
    if isinstance(error, SluiceError):
        return error
    text = str(error)
    if (store := told(error)) is not None:
        return store
    known = _in_the_checkpoint(text, pipeline) or _in_the_logic(text, pipeline) or _around(text) or _in_the_sink(text)
    return known or unexpected(error)


def _in_the_checkpoint(text: str, pipeline: str) -> SluiceError | None:
    """What Spark could not read of the checkpoint: a file that is named tells most."""
    found = list(_UNREADABLE.finditer(text))
    changed = next((f"{one['changed']} is not what was written" for one in found if one["changed"]), None)
    gone = next((f"{sluice_url(one['gone'] or one['lost'])} is missing" for one in found if one["gone"] or one["lost"]), None)
    what = changed or gone or next((one["state"] for one in found if one["state"]), None)
    return checkpoint_broken(what, pipeline) if what else None


def _in_the_logic(text: str, pipeline: str) -> SluiceError | None:
    """What logic.py, or an expression of spec.py, did wrong."""
    worker = text.rpartition("An exception was thrown from the Python worker")[2].partition("\n SQLSTATE:")[0]
    frames, raised = list(_FRAME.finditer(worker)), list(_RAISED.finditer(worker))
    last, said = frames[-1] if frames else None, raised[-1] if raised else None
    where = f"{last['file']} line {last['line']}, in {last['function']}" if last else f"the code of {pipeline}"
    for name, (why, remedy) in MISUSED.items():
        if f"[{name}" in text:
            return StateMisused(f"{where}: {why} ({name}).", remedy)
    if said and said["name"] == "TypeError" and "'NoneType'" in said["text"] and _SETS_STATE.search(worker):
        return StateMisused(f"{where}: {MISUSED['CANNOT_BE_NONE'][0]}.", "Clear the state instead: clear().")
    if (own := _RAISED_IN_SQL.search(text)) is not None:
        return SpecInvalid(f"{pipeline}: {own[1].strip()}.", "Correct the expression in spec.py; the batch is repeated.")
    if last is None or said is None:
        return None
    return ProcessorFailed(f"{where}: {said['name'].rpartition('.')[2]}: {said['text'][:300]}",
                           "Correct logic.py; the batch was not committed, and the next run repeats it.")


def _around(text: str) -> SluiceError | None:
    """What happened to the machine: the last cause that Spark names has its own words for it."""
    for pattern, error, what, remedy in MACHINE:
        if found := re.search(pattern, text):
            said = next(filter(None, found.groupdict().values()), None)
            return error(f"{what}: {said.rstrip('.')}." if said else f"{what}.", remedy)
    return None


def _in_the_sink(text: str) -> SluiceError | None:
    """An error of Sluice's own part of a batch, which Py4J carries to the JVM and back: its last line says what it was."""
    proxy = text.partition("Return Message: Traceback")[2].partition("=== Streaming Query ===")[0]
    raised = list(_RAISED.finditer(proxy.partition("\n\tat ")[0]))
    if not raised:
        return None
    if (own := _OWN.match(raised[-1]["text"])) and by_code(own["code"]) is not SluiceError:
        return by_code(own["code"])(own["what"])
    # What Java raised, Py4J tells in its own words first, and then as Java would.
    last = next(reversed([*_CAUSE.finditer(proxy)]), raised[-1])
    return SparkFailed(f"{last['name'].rpartition('.')[2]}: {last['text'][:300]}",
                       "Running again resumes; SLUICE_TRACEBACK=1 shows the stack trace.")
