"""Pinned: language, encoding, time zone and SQL settings of each JVM and each Python process of a
run, whatever the machine has.

upper('i é') is another text in Turkish, and the default encoding of a file that a pipeline's code
opens is the machine's. Each checkpoint records these values (registry/fingerprint/environment.py).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

JAVA: Final = {
    "user.language": "en",
    "user.country": "US",
    "user.timezone": "UTC",
    "file.encoding": "UTF-8",
}
"""Property of a JVM -> value. An option on its command line wins over JAVA_TOOL_OPTIONS and
JDK_JAVA_OPTIONS, and over the locale of its environment.
"""
VARIABLES: Final = {
    "TZ": "UTC",
    # Also how a JVM writes the names of files: without it those with an umlaut are not found.
    "LC_ALL": "C.UTF-8",
    "PYTHONUTF8": "1",
}
"""Environment variable -> value, for drivers, executors and their Python workers."""
OVERRIDES: Final = ("_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
"""Variables by which an executor's JVM would take other options. The first wins over the command
line.
"""


def java_options() -> list[str]:
    """The options of a JVM's command line."""
    return [f"-D{name}={value}" for name, value in JAVA.items()]


def executor_options() -> dict[str, str]:
    """Spark's options that give executors the variables: name -> value."""
    return {f"spark.executorEnv.{name}": value for name, value in VARIABLES.items()}


BASE: Final = Path(getattr(sys, "_base_executable", sys.executable))
"""The interpreter from which this process's environment was made."""


def own() -> Path:
    """This process's interpreter."""
    return Path(sys.executable)


def searching(python: Path | str, *words: str) -> list[str]:
    """It finds packages as this process does, also in PYTHONPATH."""
    return [str(python), "-P", *words]


def isolated(python: Path | str, *words: str) -> list[str]:
    """It finds the packages of its own environment alone, and reads no variable of Python's."""
    return [str(python), "-I", *words]


PINNED = {
    # Overflow, division by zero, casts.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    # What a text of SQL means.
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # By default Spark replaces ${name} by an option or an environment variable: a spec's text would
    # mean something else on another machine.
    "spark.sql.variable.substitute": "false",
    # Time.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # Functions.
    "spark.sql.columnNameOfCorruptRecord": "_corrupt_record",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.icu.caseMappings.enabled": "true",
    "spark.sql.json.enableExactStringParsing": "true",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.retainGroupColumns": "true",
    # Types.
    "spark.sql.charAsVarchar": "false",
    "spark.sql.readSideCharPadding": "true",
    # Values on their way to and from Python: logic.py, and what it returns.
    "spark.sql.execution.pandas.convertToArrowArraySafely": "true",
    "spark.sql.execution.pandas.inferPandasDictAsMap": "false",
    "spark.sql.execution.pandas.structHandlingMode": "legacy",
    "spark.sql.execution.pyspark.binaryAsBytes": "true",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
    "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled": "false",
    "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype": "false",
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "false",
    # The table's files.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.sources.partitionOverwriteMode": "STATIC",
}
"""Name -> value. But for the substitution they are Spark 4.2's defaults in a JVM that runs in UTC
(tests/spark/test_sql_settings.py).
"""
FAMILIES = ("spark.sql.legacy.", "spark.sql.streaming.", "spark.sql.optimizer.decorrelate")
"""Prefixes of settings that change results or recovery. A session drops those that it inherits from
spark-defaults.conf.
"""
