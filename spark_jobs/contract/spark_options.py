"""Options of Spark that an installation, Airflow's connection or a spec may set; those that Sluice owns are refused.

Any other option is passed on as it is: Spark's names are many, and it checks their values itself.
"""

from __future__ import annotations

import re
import shlex
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from spark_jobs.contract.errors import SettingInvalid
from spark_jobs.contract.model import refuse

Options = dict[str, str]

_CODE = "Sluice sends its code and the pipelines' with each run"
_PATHS = "the class path is the same for all runs: SLUICE_JARS and SLUICE_EXECUTOR_JARS say where the jars are"
_JAVA = "it says how the JVMs start, their time zone and their class-data archive"
_STREAM = "checkpoint, recovery and account depend on how a stream runs"
_TABLE = "the table's exactly-once commits depend on it"
_FILES = "SLUICE_LOCAL_FILES says it"
_KAFKA = "Kafka is declared in one place: SLUICE_KAFKA_CONFIG, or Airflow's connection sluice_kafka"
_STATUS = "a run looks there whether Spark ran a stage twice, and counts again where it did"
_RESULT = "it changes what a query gives, and the state that is kept was made without it"
_SECRET = "SLUICE_SPARK_SECRET_FILE sets it together with what belongs to it"

OWNED = {
    "spark.master": "it is the installation's: SLUICE_MASTER, or Airflow's connection sluice_spark",
    "spark.submit.deployMode": "the report is a file of the machine that starts the run",
    "spark.app.name": "it is the pipeline's name",
    "spark.driver.memory": "it has a setting of its own: SLUICE_DRIVER_MEMORY",
    **dict.fromkeys(("spark.archives", "spark.submit.pyFiles", "spark.files", "spark.executorEnv.PYTHONPATH"), _CODE),
    **dict.fromkeys(("spark.jars", "spark.jars.packages", "spark.jars.excludes", "spark.jars.ivy", "spark.jars.repositories",
                     "spark.driver.extraClassPath", "spark.executor.extraClassPath", "spark.driver.userClassPathFirst",
                     "spark.executor.userClassPathFirst", "spark.files.userClassPathFirst"), _PATHS),
    **dict.fromkeys(("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions", "spark.driver.defaultJavaOptions",
                     "spark.executor.defaultJavaOptions"), _JAVA),
    **dict.fromkeys(("spark.pyspark.python", "spark.pyspark.driver.python"),
                    "SLUICE_EXECUTOR_PYTHON names the executors' Python; the driver's is the one that Sluice runs in"),
    "spark.executorEnv.TZ": "everything runs in UTC",
    **dict.fromkeys(("spark.ui.enabled", "spark.ui.showConsoleProgress"), "sluice show and Airflow tell of a run"),
    **dict.fromkeys(("spark.ui.retainedJobs", "spark.ui.retainedStages", "spark.ui.liveUpdate.period"), _STATUS),
    **dict.fromkeys(("spark.authenticate", "spark.authenticate.secret", "spark.authenticate.secret.file",
                     "spark.authenticate.secret.driver.file", "spark.authenticate.secret.executor.file",
                     "spark.network.crypto.enabled", "spark.network.crypto.cipher", "spark.io.encryption.enabled"), _SECRET),
    **dict.fromkeys(("spark.hadoop.fs.file.impl", "spark.hadoop.fs.AbstractFileSystem.file.impl"), _FILES),
    **dict.fromkeys(("spark.sql.extensions", "spark.sql.catalog.spark_catalog"), "Delta needs it as it is"),
    **dict.fromkeys(("spark.sql.ansi.enabled", "spark.sql.caseSensitive", "spark.sql.timestampType",
                     "spark.sql.mapKeyDedupPolicy", "spark.sql.storeAssignmentPolicy",
                     "spark.sql.decimalOperations.allowPrecisionLoss"), _RESULT),
    "spark.sql.session.timeZone": "everything runs in UTC",
    "spark.sql.shuffle.partitions": "it has a field of its own, which the first batch freezes: state.shuffle_partitions",
    "spark.sql.redaction.options.regex": "it keeps Kafka's secrets out of plans",
    "spark.redaction.regex": "it keeps secrets out of Spark's logs and pages",
    "spark.databricks.delta.snapshotPartitions": "Sluice's tables have small logs, which one task reads",
    **dict.fromkeys(("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion",
                     "spark.databricks.delta.commitInfo.userMetadata"), _TABLE),
    **dict.fromkeys(("spark.plugins", "spark.plugins.defaultList"), "code that no run needs would be in every run"),
    "spark.databricks.delta.history.metricsEnabled": "the account holds what each commit wrote, by the table's history",
}
"""Each by name, and why it is not taken."""
OWNED_PREFIXES = {
    "spark.sql.legacy.": _RESULT,
    "spark.sql.streaming.": _STREAM,
    "spark.kafka.": _KAFKA,
    "spark.delta.logStore.": _TABLE,
}
"""Each family by the beginning of its names, and why none of it is taken."""
_SECRETIVE = re.compile(r"(?i)secret|passw(or)?d|passphrase|token|credential|[._]sas[._]|"
                        r"(access|account|api|private|storage)[._-]?key")
"""As Spark itself redacts (spark.redaction.regex), and more: Azure's keys, private keys, variables of an environment."""


class Refusal(NamedTuple):
    """Why an option is not taken, and what to do. `shown` is the option without a value that may be secret."""

    shown: Options | list[str]
    why: str
    remedy: str


def refusal(name: str, value: str) -> Refusal | None:
    """What is wrong with the option; None where it is passed on to Spark."""
    owned = OWNED.get(name) or next((why for prefix, why in OWNED_PREFIXES.items() if name.startswith(prefix)), None)
    if owned:
        return Refusal([name], owned, "Leave it out")
    if _SECRETIVE.search(name):
        return Refusal([name], "an option stands on a command line, and its name is that of a secret",
                       "Give it to Spark where the workers have it: a mounted file, the instance's role, spark-defaults.conf")
    if not name.startswith("spark.") or not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
        return Refusal([name], "it is no option of Spark's: their names begin with spark.",
                       "Write it as in Spark's documentation, for example spark.executor.memory")
    if not value.strip() or "\n" in value:
        return Refusal({name: value}, "the value is empty or has several lines", "Give one value, or leave the option out")
    return None


def _spec_options(given: Options) -> Options:
    for name, value in given.items():
        if wrong := refusal(name, value):
            refuse("spark", wrong.shown, wrong.why, wrong.remedy)
    return given


SparkOptions = Annotated[Options, AfterValidator(_spec_options)]


def checked(given: Options, source: str) -> Options:
    """The options, of a setting or a connection that `source` names. Raises SettingInvalid."""
    for name, value in given.items():
        if wrong := refusal(name, value):
            raise SettingInvalid(f"{source} has {wrong.shown}: {wrong.why}.", f"{wrong.remedy}.")
    return given


def read(text: str, source: str) -> Options:
    """Options written as in a shell: `name=value name='a value with spaces'`. Raises SettingInvalid."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingInvalid(f"{source} cannot be read: {error}.", "Close the quotation marks.") from None
    found = Options()
    for word in words:
        if "=" not in word:
            raise SettingInvalid(f"{source} has {word!r}, which is not name=value.",
                                 "Write for example 'spark.executor.memory=2g spark.cores.max=8'.")
        # Each as it comes: what follows one that is a secret's may be the rest of the secret, and is not to be shown.
        found |= checked(dict([word.split("=", 1)]), source)
    return found


def written(options: Options) -> str:
    """As `read` takes it."""
    return " ".join(shlex.quote(f"{name}={value}") for name, value in sorted(options.items()))


def merged(text: str, over: Options) -> str:
    """Options as `written`, with others over them."""
    return written({**read(text, "SLUICE_SPARK_CONF"), **over})
