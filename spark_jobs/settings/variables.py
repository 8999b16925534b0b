"""Variables: the table of an installation's settings, an environment variable each."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spark_jobs.storage.root.store import PATH_STYLE

REPO: Final = Path(__file__).parent.parent.parent
ROOT: Final = "SLUICE_ROOT"
ABOUT: Final = "the folder or URL that holds tables, checkpoints and ops tables"
DEFAULT_ROOT: Final = str(REPO / ".local" / "root") if (REPO / "pyproject.toml").exists() else None
"""Beside an installed Sluice a root would go with the environment."""

BY_SCHEDULE: Final = "schedule"

VARIABLES: Final[dict[str, tuple[str, str | None]]] = {
    ROOT: (ABOUT, DEFAULT_ROOT),
    "SLUICE_KAFKA": ("the brokers, host:port separated by commas", None),
    "SLUICE_JARS": (
        "the folder with the jars; default: jars/spark of SLUICE_SPARK_ENV, or of a clone",
        "",
    ),
    "SLUICE_MASTER": (
        "Spark's master for the command line; Airflow uses its connection sluice_spark",
        "local[2]",
    ),
    "SLUICE_DRIVER_MEMORY": ("heap of the driver; in local mode it includes the executor", "2g"),
    "SLUICE_PIPELINES": (
        "the Python package that holds the pipelines, one folder for each",
        "spark_jobs.pipelines",
    ),
    "SLUICE_LOCAL_FILES": (
        "how Spark sets file modes and finds links on a local disk: sluice (java.nio, starts no "
        "process) or hadoop",
        "sluice",
    ),
    "SLUICE_SPARK_CONF": (
        "Spark options for every run, name=value separated by spaces: docs/deploy.md",
        "",
    ),
    "SLUICE_SPARK_SECRET_FILE": (
        "the file with the secret of the cluster's RPC; other users must not be able to read it",
        "",
    ),
    "SLUICE_EXECUTOR_PYTHON": (
        "the executors' Python: a path on the workers, or ENVIRONMENT.tar.gz#NAME/bin/python; "
        "default: the driver's",
        "",
    ),
    "SLUICE_EXECUTOR_JARS": (
        "a folder on the workers with the jars of SLUICE_JARS; default: each run sends them",
        "",
    ),
    "SLUICE_EXECUTOR_WAIT": ("seconds that a run waits without an executor before it fails", "120"),
    PATH_STYLE: (
        "whether the bucket is in the path of an S3 URL (true) or in its host name (false)",
        "",
    ),
    "SLUICE_LOG": ("the format of a run's log lines: text, or json (one object per line)", "text"),
    "SLUICE_LOCKS": (
        "one-host: runs start on one machine only, so a root is allowed on a file system whose "
        "locks hold on one machine, or that Sluice does not know; else safe",
        "safe",
    ),
    "SLUICE_HISTORY_DAYS": (
        "days that `sluice maintain` keeps the rows of ops.batches, ops.runs and ops.checks, and "
        "the reports; or forever. volume() needs 36",
        "400",
    ),
    "SLUICE_REJECTED_DAYS": (
        "days that `sluice maintain` keeps the records in ops.quarantine and ops.late, at most "
        "SLUICE_HISTORY_DAYS; or forever",
        "forever",
    ),
    "SLUICE_QUARANTINE_MEGABYTES": (
        "megabytes of keys and values that ops.quarantine keeps of one batch; of the records "
        "beyond them it has place, kind and reason",
        "256",
    ),
    "SLUICE_MAINTAIN_CRON": (
        "when Airflow's DAG sluice_maintain runs, in UTC: five cron fields, or never",
        "17 3 * * 0",
    ),
    "SLUICE_DAG_PREFIX": ("what the ids of Sluice's DAGs begin with: letters, digits, - and _", ""),
    "SLUICE_CATALOG": (
        "the database of a Hive metastore that lists published tables: thrift://HOST:PORT/DATABASE",
        "",
    ),
    "SLUICE_RECORD_BYTES": (
        "whether Airflow shows values of records: its tasks' logs, XCom and approvals to all who "
        "may read them, and the views, with records and rows of state, to those who may edit the "
        "pipeline's DAG: hidden or shown",
        "hidden",
    ),
    "SLUICE_WARM": (
        "whether runs on this machine share workers, which keep Spark's JVM between them "
        "(docs/operations.md): auto, where a worker lasts and memory is free; on; or off",
        "auto",
    ),
    "SLUICE_WARM_DRAINS": ("runs after which a worker ends, and the next run starts one", "100"),
    "SLUICE_WARM_IDLE_MINUTES": (
        "minutes without a run after which a worker ends; schedule: 15, or 10 behind the next "
        "scheduled run where that always comes within 2 hours",
        BY_SCHEDULE,
    ),
    "SLUICE_WARM_MEMORY_MB": (
        "megabytes of all its processes above which a worker ends behind a run",
        "4096",
    ),
    "SLUICE_LAG_GROUP": (
        "publish commits what it tells to the consumer group <this>.<pipeline>; on: sluice; or off",
        "off",
    ),
    "SLUICE_NEXT": (
        "on: the command is about NEXT, which a rebuild computes beside the live table; else off",
        "off",
    ),
    "SLUICE_PROOF": (
        "what proofs by night may take of the last week's drains, as a share of their "
        "processor seconds: 5 %; or off",
        "off",
    ),
    "SLUICE_SPARK_ENV": (
        "the environment that `sluice install` has made, in which runs start: docs/deploy.md; "
        "default: this process's own",
        "",
    ),
    "SLUICE_KAFKA_CONFIG": (
        "the properties file with Kafka's brokers, security and credentials: docs/deploy.md",
        "",
    ),
}
"""Variable -> its meaning and its default (None: it must be set)."""
