"""The Spark options that an installation, Airflow's connection or a spec may set.

Sluice refuses those that it sets itself.

It passes any other option on unchanged: Spark has many, and checks their values itself.
"""

from __future__ import annotations

import re
import shlex
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from spark_jobs.errors import SettingInvalid
from spark_jobs.spec.model import refuse
from spark_jobs.values.pinned import OVERRIDES, PINNED, executor_options

Options = dict[str, str]

_CODE = "Sluice sends its code and the pipelines' with each run"
_PATHS = (
    "all runs have the same class path: SLUICE_JARS and SLUICE_EXECUTOR_JARS name the "
    "folders of the jars"
)
_JAVA = "Sluice sets how the JVMs start, with their time zone, language and class-data archive"
_STREAM = "checkpoint, recovery and account depend on Sluice's value"
_TABLE = "the table's exactly-once commits depend on Sluice's value"
_FILES = "SLUICE_LOCAL_FILES sets it"
_KAFKA = "Kafka is declared in one place: SLUICE_KAFKA_CONFIG, or Airflow's connection sluice_kafka"
_STATUS = "a run reads there whether Spark ran a stage twice, and then counts again"
_LANGUAGE = "everything runs in UTC, UTF-8 and one language, or results would depend on the machine"
_RESULT = "it changes the results of a query, and the stored state was made without it"
_SCRATCH = "TMPDIR and SPARK_LOCAL_DIRS say where each run has its own folder"
_SECRET = "SLUICE_SPARK_SECRET_FILE sets it, together with the options that belong to it"

OWNED = {
    "spark.master": "the installation sets it: SLUICE_MASTER, or Airflow's connection sluice_spark",
    "spark.submit.deployMode": "the report is a file of the machine that starts the run",
    "spark.app.name": "it is the pipeline's name",
    "spark.driver.memory": "SLUICE_DRIVER_MEMORY sets it",
    "spark.python.daemon.module": "workers have their own daemon",
    **dict.fromkeys(
        ("spark.archives", "spark.submit.pyFiles", "spark.files", "spark.executorEnv.PYTHONPATH"),
        _CODE,
    ),
    **dict.fromkeys(
        (
            "spark.jars",
            "spark.jars.packages",
            "spark.jars.excludes",
            "spark.jars.ivy",
            "spark.jars.repositories",
            "spark.driver.extraClassPath",
            "spark.executor.extraClassPath",
            "spark.driver.userClassPathFirst",
            "spark.executor.userClassPathFirst",
            "spark.files.userClassPathFirst",
        ),
        _PATHS,
    ),
    **dict.fromkeys(
        (
            "spark.driver.extraJavaOptions",
            "spark.executor.extraJavaOptions",
            "spark.driver.defaultJavaOptions",
            "spark.executor.defaultJavaOptions",
        ),
        _JAVA,
    ),
    **dict.fromkeys(
        ("spark.pyspark.python", "spark.pyspark.driver.python"),
        "SLUICE_EXECUTOR_PYTHON names the executors' Python; the driver's is the one that Sluice "
        "runs in",
    ),
    **dict.fromkeys(
        (*executor_options(), *(f"spark.executorEnv.{name}" for name in OVERRIDES)), _LANGUAGE
    ),
    **dict.fromkeys(
        ("spark.ui.enabled", "spark.ui.showConsoleProgress"),
        "sluice show and Airflow show what a run did",
    ),
    **dict.fromkeys(
        ("spark.ui.retainedJobs", "spark.ui.retainedStages", "spark.ui.liveUpdate.period"), _STATUS
    ),
    **dict.fromkeys(
        (
            "spark.authenticate",
            "spark.authenticate.secret",
            "spark.authenticate.secret.file",
            "spark.authenticate.secret.driver.file",
            "spark.authenticate.secret.executor.file",
            "spark.network.crypto.enabled",
            "spark.network.crypto.cipher",
            "spark.io.encryption.enabled",
        ),
        _SECRET,
    ),
    **dict.fromkeys(
        ("spark.hadoop.fs.file.impl", "spark.hadoop.fs.AbstractFileSystem.file.impl"), _FILES
    ),
    **dict.fromkeys(
        ("spark.sql.extensions", "spark.sql.catalog.spark_catalog"), "Delta needs Sluice's value"
    ),
    **dict.fromkeys(PINNED, _RESULT),
    "spark.sql.parquet.outputTimestampType": "the ops tables' times are written by it",
    "spark.sql.session.timeZone": "everything runs in UTC",
    "spark.sql.shuffle.partitions": "the spec has a field for it, which the first batch fixes: "
    "state.shuffle_partitions",
    "spark.sql.redaction.options.regex": "it keeps Kafka's secrets out of plans",
    "spark.redaction.regex": "it keeps secrets out of Spark's logs and pages",
    **dict.fromkeys(
        (
            "spark.local.dir",
            "spark.hadoop.hadoop.tmp.dir",
            "spark.python.unix.domain.socket.enabled",
            "spark.python.unix.domain.socket.dir",
        ),
        _SCRATCH,
    ),
    "spark.databricks.delta.snapshotPartitions": "Sluice's tables have small logs, and one task "
    "reads them",
    **dict.fromkeys(
        (
            "spark.databricks.delta.write.txnAppId",
            "spark.databricks.delta.write.txnVersion",
            "spark.databricks.delta.commitInfo.userMetadata",
            "spark.databricks.delta.schema.autoMerge.enabled",
        ),
        _TABLE,
    ),
    **dict.fromkeys(
        ("spark.plugins", "spark.plugins.defaultList"),
        "no run needs plugins, and every run would load them",
    ),
    "spark.databricks.delta.history.metricsEnabled": "the account compares with the row counts in "
    "the table's history",
}
"""Name -> why Sluice refuses it."""
OWNED_PREFIXES = {
    "spark.sql.legacy.": _RESULT,
    "spark.sql.optimizer.decorrelate": _RESULT,
    "spark.sql.streaming.": _STREAM,
    "spark.kafka.": _KAFKA,
    "spark.delta.logStore.": _TABLE,
}
"""Prefix -> why Sluice refuses all options with it."""
SECRETIVE = re.compile(
    r"(?i)secret|passw(or)?d|passphrase|token|credential|[._]sas[._]|"
    r"(access|account|api|private|storage)[._-]?key"
)
"""The names that Spark redacts (spark.redaction.regex), Azure's keys, private keys and environment
variables.
"""


class Refusal(NamedTuple):
    """Why Sluice refuses an option, and what to do.

    `shown` is the option, without a value that may be secret.
    """

    shown: Options | list[str]
    why: str
    remedy: str


def refusal(name: str, value: str) -> Refusal | None:
    """Why Sluice refuses the option; None where it passes it on to Spark."""
    owned = OWNED.get(name) or next(
        (why for prefix, why in OWNED_PREFIXES.items() if name.startswith(prefix)), None
    )
    if owned:
        return Refusal([name], owned, "Leave it out")
    if SECRETIVE.search(name):
        return Refusal(
            [name],
            "command lines show options, and its name is that of a secret",
            "Give it to Spark on the workers: in a mounted file, the instance's role or "
            "spark-defaults.conf",
        )
    if not name.startswith("spark.") or not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
        return Refusal(
            [name],
            "it is not a Spark option: those begin with spark.",
            "Write it as in Spark's documentation, for example spark.executor.memory",
        )
    if not value.strip() or "\n" in value:
        return Refusal(
            {name: value},
            "the value is empty or has several lines",
            "Give one value, or leave the option out",
        )
    return None


def _spec_options(given: Options) -> Options:
    for name, value in given.items():
        if wrong := refusal(name, value):
            refuse("spark", wrong.shown, wrong.why, wrong.remedy)
    return given


SparkOptions = Annotated[Options, AfterValidator(_spec_options)]


def checked(given: Options, source: str) -> Options:
    """The options unchanged.

    Raises SettingInvalid, which names `source`: the setting or the connection that has them.
    """
    for name, value in given.items():
        if wrong := refusal(name, value):
            raise SettingInvalid.option_refused(
                source=source, shown=str(wrong.shown), why=wrong.why, remedy=wrong.remedy
            )
    return given


def parse(text: str, source: str) -> Options:
    """Options in shell syntax: `name=value name='a value with spaces'`.

    Raises SettingInvalid, which names `source`.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingInvalid.options_unreadable(source=source, error=error) from None
    options = Options()
    for word in words:
        if "=" not in word:
            raise SettingInvalid.option_no_pair(source=source, word=word)
        # One at a time: a word after a secret may be the rest of it, and no message may show that
        # word.
        options |= checked(dict([word.split("=", 1)]), source)
    return options


def render(options: Options) -> str:
    """Text that `parse` reads as these options."""
    return " ".join(shlex.quote(f"{name}={value}") for name, value in sorted(options.items()))


def merged(text: str, over: Options) -> str:
    """The options of `text` and of `over`, which win; as `render` writes them."""
    return render({**parse(text, "SLUICE_SPARK_CONF"), **over})
