"""SQL settings: the settings of Spark SQL that change results, each with the value of every run.

A value that changes would change what stored state means. So users may not set them
(spark_options.py), each session sets them (launch/session.py), whatever spark-defaults.conf says
and whatever a newer Spark's default is, and each checkpoint records them (environment.py).
"""

from __future__ import annotations

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
