"""Jars, installations and Airflow's connections."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class JarsMissing(SluiceError):
    """The jars that pyspark does not ship are not in `SLUICE_JARS`, or are old."""

    code, exit_status = "JARS_MISSING", 14
    usual_remedy = "Run `sluice install` (a clone: `make setup`), or correct `SLUICE_JARS`."

    kafka_jars_absent = reason("{jars} does not hold the jars of Delta and Kafka for Spark.")
    s3_jars_absent = reason(
        "{jars} and {files_jar} do not hold what a root on S3 needs.",
        "Run `sluice install` (in a clone `make setup`), or point SLUICE_JARS at a folder that has "
        "both, and `s3` beside it.",
    )
    timestamp_unreadable = reason(
        "Spark's Kafka reader cannot read topic {topic}, partition {partition}, offset {offset}: "
        "its Kafka timestamp is {timestamp}. Sluice's reader can, but sluice-files.jar is "
        "missing or old.",
        "Run `sluice install` (a clone: `python -m local.files_jar`). The next run resumes.",
    )
    no_end_between = reason(
        "sluice-files.jar is missing or old: a run of topic {topic} cannot end between two "
        "transactions.",
        "Run `sluice install` (a clone: `python -m local.files_jar`). The next run resumes.",
    )
    files_jar_stale = reason(
        "sluice-files.jar is of another Sluice. On S3 a run that has lost its lease could commit.",
        "Run `sluice install` (a clone: `python -m local.files_jar && python -m local.archive`). "
        "The next run resumes.",
    )
    jars_folder_absent = reason("The folder {folder} does not exist.")


class InstallFailed(SluiceError):
    """`sluice install` has not made an environment."""

    code, exit_status = "INSTALL_FAILED", 18
    usual_remedy = "Mend what the line names, and run the command again."

    folder_used = reason(
        "{folder} has files, and `sluice install` has not made it.",
        "Name a new folder, or remove that one.",
    )
    folder_spaced = reason(
        "{folder} has a space in its path. Options of Spark's JVM end there.",
        "Name a folder without one.",
    )
    python_unfit = reason(
        "{python} is Python {found}. Sluice needs one of {wanted}.",
        "Name another: `--python python3.12`.",
    )
    maven_absent = reason(
        "There is no `mvn` on the PATH, which fetches the jars.",
        "Install Maven. Debian and Ubuntu: apt-get install maven.",
    )
    java_unfit = reason(
        "Java is {found}. Spark needs Java {wanted}.",
        "Install it, or let JAVA_HOME name it. Debian: apt-get install openjdk-17-jre-headless.",
    )
    step_failed = reason("{what} failed: {said}")
    jar_differs = reason(
        "{jar} has the SHA-256 sum {found}, and not {wanted}.",
        "Remove it from Maven's local repository, and ask whose copy that is.",
    )


class ConnectionMissing(SluiceError):
    """Airflow has no connection with the given id, or the connection names no Spark master."""

    code, exit_status = "CONNECTION_MISSING", 60
    usual_remedy = "Define the connection that the line names."

    no_master = reason(
        "Connection {conn_id!r} has type {kind!r} and host {host!r}. It needs type 'spark', and "
        "Spark's master as host.",
        "{remedy}",
    )
    connection_absent = reason("Airflow has no connection {conn_id!r}.", "{remedy}")
