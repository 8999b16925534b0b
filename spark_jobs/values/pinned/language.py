"""Language, character encoding and time zone of each JVM and each Python process of a run, whatever
the machine has.

upper('i é') is another text in Turkish, and the default encoding of a file that a pipeline's code
opens is the machine's. Each checkpoint records these values (environment.py), as those of
sql_settings.py.
"""

from __future__ import annotations

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
