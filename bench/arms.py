"""The arms: each drains the topic in a process of its own, and says what that took."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import duckdb
from deltalake import write_deltalake

from bench.oracle import ALL_DELAYS, Wanted
from bench.process import Cost, run
from spark_jobs.launch import submit
from spark_jobs.messages.job import Drain
from spark_jobs.messages.report import Report, read_report
from spark_jobs.settings.installation import REPO, Settings

PIPELINE = "departure_delays"
TOPIC = "flights"
HERE = Path(__file__).parent
FLINK = REPO / ".local" / "flink"


class Drained(NamedTuple):
    """One drain."""

    query_seconds: float
    """From the query's start to its end, by the arm's own clock; Sluice's includes the audit that
    it does meanwhile.
    """
    process: Cost
    """The whole process, as who starts it sees it."""
    report: Report | None = None
    """Sluice's; the scripts have none."""
    batches: int | None = None
    """Micro-batches of the query; None where it has none."""


class Arm(Protocol):
    """Something that drains the topic into a table."""

    name: str
    table: Path
    wanted: Wanted | None
    """What its table must hold; None: what the topic's arms do."""

    def drain(self, label: str) -> Drained:
        """Consume what Kafka holds now."""


class Sluice:
    """As Airflow starts it: the command of spark_jobs.launch.submit."""

    wanted: Wanted | None = None

    def __init__(
        self,
        home: Path,
        brokers: str,
        settings: Settings,
        name: str = "Sluice",
        variables: dict[str, str] | None = None,
        pipeline: str = PIPELINE,
    ) -> None:
        self.home = home
        self.name = name
        self._variables = variables or {}
        self.pipeline = pipeline
        self.settings = settings._replace(root=str(home / "root"), kafka=brokers)
        self.table = home / "root" / "tables" / pipeline
        home.mkdir(parents=True, exist_ok=True)  # by another arm, of which this one goes on

    def drain(self, label: str) -> Drained:
        path = self.home / f"{label}.json"
        job = Drain(pipeline=self.pipeline, report=str(path), run_id=label)
        command = submit.command(self.settings, job)
        variables = submit.environment(self.settings) | self._variables
        cost = run(command, variables, self.home / f"{label}.log", self.home)
        report = read_report(path)
        return Drained(report.query_seconds, cost, report, len(report.batches))

    def of(self, pipeline: str) -> Self:
        """The same installation, for another pipeline."""
        other = copy.copy(self)
        other.pipeline = pipeline
        other.table = self.table.parent / pipeline
        return other

    def plan(self, label: str) -> Cost:
        """What a scheduled run costs that finds nothing new: `sluice plan` and its end."""
        command = [sys.executable, "-m", "spark_jobs.cli", "plan", PIPELINE]
        return run(
            command, submit.environment(self.settings), self.home / f"{label}.log", self.home
        )


class Script:
    """A frozen script, as Spark's and Delta's guides submit it."""

    wanted: Wanted | None = None

    def __init__(
        self, home: Path, brokers: str, settings: Settings, name: str, script: str, **more: str
    ) -> None:
        """`more` are options of the script beyond those that each has, or in their place."""
        self._home = home
        self._brokers = brokers
        self._settings = settings
        self._script = script
        self._more = more
        self.name = name
        self.table = home / "table"
        home.mkdir(parents=True)

    def drain(self, label: str) -> Drained:
        report = self._home / f"{label}.json"
        words = {
            "brokers": self._brokers,
            "topic": TOPIC,
            "table": self.table,
            "checkpoint": self._home / "checkpoint",
            "report": report,
            **self._more,
        }
        arguments = [word for name, value in words.items() for word in (f"--{name}", str(value))]
        cost = self._run(self._script, arguments, label)
        told = json.loads(report.read_text())
        return Drained(told["query_seconds"], cost, batches=told.get("batches"))

    def nothing(self, label: str) -> Cost:
        """A spark-submit of an empty script."""
        return self._run("empty.py", [], label)

    def _run(self, script: str, arguments: list[str], label: str) -> Cost:
        environment = {
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "TZ": "UTC",
        }
        command = [*self._starter(), str(HERE / script), *arguments]
        return run(command, environment, self._home / f"{label}.log", self._home)

    def _starter(self) -> list[str]:
        conf = {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.memory": self._settings.driver_memory,
        }
        return [
            str(Path(sys.executable).parent / "spark-submit"),
            "--master",
            self._settings.master,
            "--jars",
            ",".join(map(str, sorted(self._settings.jars.glob("*.jar")))),
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        ]


class Program(Script):
    """A frozen script that needs no Spark."""

    def _starter(self) -> list[str]:
        return [sys.executable]


class Flink(Script):
    """Flink SQL. Its lines become a Delta table when its clock has stopped."""

    wanted: Wanted | None = ALL_DELAYS
    rows = """
        select * exclude (minutes, delays) replace (
            window_start::timestamptz as window_start, window_end::timestamptz as window_end
        ), minutes / nullif(delays, 0) as mean_delay_minutes from lines
    """
    """The table, of the lines: Flink writes times without a zone."""

    def __init__(
        self,
        home: Path,
        brokers: str,
        settings: Settings,
        name: str,
        script: str = "flink.py",
        **more: str,
    ) -> None:
        super().__init__(home, brokers, settings, name, script, jar=str(flink_jar()), **more)

    def drain(self, label: str) -> Drained:
        done = super().drain(label)
        with duckdb.connect() as db:
            db.execute("set timezone = 'UTC'")
            db.read_json(f"{self._home}/checkpoint/*", format="newline_delimited").create_view(
                "lines"
            )
            write_deltalake(self.table, db.sql(self.rows).to_arrow_table())
        return done

    def _starter(self) -> list[str]:
        return [str(FLINK / "bin" / "python")]


class FlinkSql(Flink):
    """By the statements of a file of bench/flink_sql, in place of flink.py's."""

    def __init__(
        self, home: Path, brokers: str, settings: Settings, name: str, sql: str, **more: str
    ) -> None:
        """`more`: the topic, where it is another one, and what is read beside it."""
        statements = str(HERE / "flink_sql" / f"{sql}.sql")
        super().__init__(home, brokers, settings, name, "flink_sql.py", sql=statements, **more)


def flink_jar() -> Path | None:
    """Flink's connector of Kafka; None where `make bench` has not brought Flink."""
    found = sorted((REPO / "jars" / "flink").glob("*.jar"))
    return found[0] if found and (FLINK / "ready").exists() else None


def settings() -> Settings:
    """The installation's facts without a broker and a root, which the benchmark brings itself."""
    return Settings(
        root="", kafka="", jars=REPO / "jars" / "spark", master="local[2]", driver_memory="2g"
    )
