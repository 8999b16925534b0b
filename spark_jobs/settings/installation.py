"""The settings of an installation: one environment variable each.

Only kafka_config holds secrets. Its text shows none of them, and another process gets it as the
path of a file.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings import project_file, roots, variables
from spark_jobs.settings.exposure import exposure
from spark_jobs.settings.kafka.config import NOTHING, KafkaConfig
from spark_jobs.settings.roots import Catalog, connection, parsed, variable
from spark_jobs.settings.variables import BY_SCHEDULE, ROOT, VARIABLES
from spark_jobs.spec import Pipeline, spark_options
from spark_jobs.spec.cron import invalid_because
from spark_jobs.storage.root.store import PATH_STYLE, Store

REPO = variables.REPO
MADE = "sluice.json"
"""In an environment that `sluice install` has made, the last that it writes."""

LOCAL_FILES = ("sluice", "hadoop")
LOGS = ("text", "json")
LOCKS = ("safe", "one-host")
RECORD_BYTES = ("hidden", "shown")
WARM = ("auto", "on", "off")
NEXT = ("off", "on")
LAG_GROUP = ("off", "on", "a prefix of letters, digits and ._-")
_LAG_GROUP = re.compile(r"off|on|(?!(?i:off|on|true|false|yes|no|[01])$)[A-Za-z0-9._-]{1,60}")
"""What looks like a switch is no prefix."""
_SHARE = re.compile(r"(100|[1-9]?[0-9](?:\.[0-9]+)?) ?%")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{0,60}")
NOBODY = "127.0.0.1:9"
"""Brokers of who asks none."""
NOWHERE = f"{os.devnull}/no-root"
"""The root of who has none: nothing can be made there."""
FOREVER = "forever"
NEVER = "never"


class Settings(NamedTuple):
    """One installation's settings. `root` is a path or URL without a trailing slash. Those that a
    program makes by hand have no worker, unless it says so.
    """

    root: str
    kafka: str
    jars: Path
    master: str
    driver_memory: str
    pipelines: str = "spark_jobs.pipelines"
    local_files: str = "sluice"
    spark_conf: str = ""
    spark_secret_file: str = ""
    executor_python: str = ""
    executor_jars: str = ""
    executor_wait: str = "120"
    path_style: str = ""
    log: str = "text"
    locks: str = "safe"
    history_days: str = "400"
    rejected_days: str = FOREVER
    quarantine_megabytes: str = "256"
    maintain_cron: str = "17 3 * * 0"
    dag_prefix: str = ""
    catalog: str = ""
    record_bytes: str = "hidden"
    warm: str = "off"
    warm_drains: str = "100"
    warm_idle_minutes: str = BY_SCHEDULE
    warm_memory_mb: str = "4096"
    lag_group: str = "off"
    next: str = "off"
    proof: str = "off"
    spark_env: str = ""
    kafka_config: KafkaConfig = NOTHING

    @classmethod
    def of(cls, spec: Pipeline) -> Settings:
        """A pipeline's settings: its topic's cluster, its root. Raises as from_environment."""
        of = spec.inputs
        return cls.from_environment(cluster=of.cluster, root=spec.root, reads=of.of_kafka)

    @classmethod
    @project_file.told()
    def from_environment(
        cls,
        kafka_config: KafkaConfig | None = None,
        cluster: str = "",
        root: str | None = "",
        *,
        reads: bool = True,
    ) -> Settings:
        """`kafka_config`, if given, replaces the file of SLUICE_KAFKA_CONFIG.

        Its brokers override SLUICE_KAFKA. Of a cluster or a root with a name the variables are its
        own. Without names they are the installation's; in a process that a run starts, the run's.

        Who `reads` no topic need declare no brokers, and whose root is None no root: it gets ones
        that nobody can read or write.

        Raises SettingInvalid, which names the variable that is missing or malformed; or
        KafkaConfigInvalid.
        """
        if kafka_config is None:
            kafka_config = (
                KafkaConfig.read(path)
                if (path := os.environ.get(variable("SLUICE_KAFKA_CONFIG", cluster)))
                else NOTHING
            )
        brokers = kafka_config.brokers or _brokers(cluster, needed=reads)
        values = {name: _value(name) for name in VARIABLES.keys() - {"SLUICE_KAFKA", ROOT}}
        values["SLUICE_KAFKA"] = brokers
        own = variable("SLUICE_KAFKA", cluster)
        named = "bootstrap.servers" if kafka_config.brokers else own
        _, user, server = brokers.rpartition("@")
        if user:  # before any message shows the brokers
            raise SettingInvalid.user_before_server(name=named, server=server)
        for server in values["SLUICE_KAFKA"].split(","):
            host, _, port = server.strip().rpartition(":")
            if not host or "/" in host or not port.isdigit():
                raise SettingInvalid.server_invalid(
                    name=named, given=values["SLUICE_KAFKA"], server=server
                )
        Store.from_environment()  # raises at once what is wrong with it
        history_days, rejected_days = _retention(
            values["SLUICE_HISTORY_DAYS"], values["SLUICE_REJECTED_DAYS"]
        )
        return cls(
            root=NOWHERE if root is None else roots.root_named(root),
            kafka=values["SLUICE_KAFKA"],
            jars=jars(),
            master=values["SLUICE_MASTER"],
            driver_memory=values["SLUICE_DRIVER_MEMORY"],
            pipelines=values["SLUICE_PIPELINES"],
            local_files=_one_of(
                "SLUICE_LOCAL_FILES",
                values["SLUICE_LOCAL_FILES"],
                LOCAL_FILES,
                "with hadoop, each mode and each link costs a process",
            ),
            spark_conf=spark_options.render(
                spark_options.parse(values["SLUICE_SPARK_CONF"], "SLUICE_SPARK_CONF")
            ),
            spark_secret_file=_secret_file(values["SLUICE_SPARK_SECRET_FILE"]),
            executor_python=values["SLUICE_EXECUTOR_PYTHON"],
            executor_jars=values["SLUICE_EXECUTOR_JARS"].rstrip("/"),
            executor_wait=_seconds("SLUICE_EXECUTOR_WAIT", values["SLUICE_EXECUTOR_WAIT"]),
            path_style=values[PATH_STYLE],
            log=_one_of("SLUICE_LOG", values["SLUICE_LOG"], LOGS, "json is for log collectors"),
            locks=_one_of(
                "SLUICE_LOCKS",
                values["SLUICE_LOCKS"],
                LOCKS,
                "with one-host, two machines that start runs would write one checkpoint",
            ),
            history_days=history_days,
            rejected_days=rejected_days,
            quarantine_megabytes=_whole_number(
                "SLUICE_QUARANTINE_MEGABYTES", values["SLUICE_QUARANTINE_MEGABYTES"]
            ),
            maintain_cron=_cron(values["SLUICE_MAINTAIN_CRON"]),
            dag_prefix=_prefix(values["SLUICE_DAG_PREFIX"]),
            catalog=parsed(values["SLUICE_CATALOG"]).url,
            record_bytes=_one_of(
                "SLUICE_RECORD_BYTES",
                values["SLUICE_RECORD_BYTES"],
                RECORD_BYTES,
                "with shown, records that may be personal are on pages",
            ),
            warm=_one_of("SLUICE_WARM", values["SLUICE_WARM"], WARM, "with on, a worker stays"),
            warm_drains=_whole_number("SLUICE_WARM_DRAINS", values["SLUICE_WARM_DRAINS"]),
            warm_idle_minutes=_whole_number(
                "SLUICE_WARM_IDLE_MINUTES", values["SLUICE_WARM_IDLE_MINUTES"], or_else=BY_SCHEDULE
            ),
            warm_memory_mb=_whole_number("SLUICE_WARM_MEMORY_MB", values["SLUICE_WARM_MEMORY_MB"]),
            lag_group=values["SLUICE_LAG_GROUP"]
            if _LAG_GROUP.fullmatch(values["SLUICE_LAG_GROUP"])
            else _one_of(
                "SLUICE_LAG_GROUP", values["SLUICE_LAG_GROUP"], LAG_GROUP, "with on, Kafka has it"
            ),
            next=_one_of("SLUICE_NEXT", values["SLUICE_NEXT"], NEXT, "with on, it is about NEXT"),
            proof=_proof(values["SLUICE_PROOF"]),
            spark_env=values["SLUICE_SPARK_ENV"],
            kafka_config=kafka_config,
        )

    @classmethod
    def of_the_build(cls) -> Settings:
        """As from_environment, for `make setup` and `sluice install`: no broker and no root have to
        be set. Raises SettingInvalid.

        It ignores the Kafka declaration: set-up has its own broker, and must publish its records to
        no other.
        """
        return cls.from_environment(NOTHING, root=None, reads=False)

    @property
    def local(self) -> bool:
        """Whether driver and executor are the same process."""
        return self.master.startswith("local") and not self.master.startswith("local-cluster")

    @property
    def proof_share(self) -> float:
        """SLUICE_PROOF as a number from 0 to 1; 0 for off."""
        found = _SHARE.fullmatch(self.proof)
        return float(found[1]) / 100 if found else 0.0

    def environment(self) -> dict[str, str]:
        """The settings as variables for a child process.

        For kafka_config, the last one, it gives the path of its file.
        """
        return dict(
            zip(
                VARIABLES,
                (self.root, self.kafka, str(self.jars), *self[3:-1], self.kafka_config.path),
                strict=True,
            )
        )


def log_format() -> Literal["text", "json"]:
    """SLUICE_LOG, for code that logs before it has the settings.

    Text where the value is wrong: Settings refuse that value.
    """
    return "json" if os.environ.get("SLUICE_LOG") == "json" else "text"


def spark_env() -> Path:
    """The environment in which runs start: SLUICE_SPARK_ENV's, or this process's."""
    return Path(os.environ.get("SLUICE_SPARK_ENV") or sys.prefix)


def history_days() -> int | None:
    """SLUICE_HISTORY_DAYS, for who validates specs; None for ever, and where the value is wrong:
    Settings refuse that value.
    """
    given = os.environ.get("SLUICE_HISTORY_DAYS") or str(VARIABLES["SLUICE_HISTORY_DAYS"][1])
    return int(given) if given.isascii() and given.isdigit() else None


def jars() -> Path:
    """SLUICE_JARS; else jars of the environment that `sluice install` made, or of a clone."""
    if given := os.environ.get("SLUICE_JARS"):
        return Path(given)
    return (spark_env() if (spark_env() / MADE).exists() else REPO) / "jars" / "spark"


def one_host() -> bool:
    """SLUICE_LOCKS, for the lease: whether its user says that one machine alone starts runs."""
    return os.environ.get("SLUICE_LOCKS") == "one-host"


def dag_prefix() -> str:
    """SLUICE_DAG_PREFIX, for Airflow's DAG processor and views; none where the value is wrong:
    Settings refuse that value, in the DAGs' tasks.
    """
    given = os.environ.get("SLUICE_DAG_PREFIX", "")
    return given if _PREFIX.fullmatch(given) else ""


def catalog() -> Catalog:
    """SLUICE_CATALOG, for who publishes. Raises SettingInvalid."""
    return parsed(os.environ.get("SLUICE_CATALOG", ""))


def record_bytes() -> bool:
    """SLUICE_RECORD_BYTES, for the views: whether bytes of records may be shown at all.

    No where the value is wrong: Settings refuse that value.
    """
    return os.environ.get("SLUICE_RECORD_BYTES") == "shown"


def lag_group() -> str:
    """The prefix of SLUICE_LAG_GROUP, for publish, which needs nothing of Kafka. Empty without one,
    and where the value is wrong: Settings refuse that value.
    """
    given = os.environ.get("SLUICE_LAG_GROUP", "off")
    if not _LAG_GROUP.fullmatch(given):
        return ""
    return {"off": "", "on": "sluice"}.get(given, given)


def about_next() -> bool:
    """SLUICE_NEXT, to look which spec drains. No where the value is wrong: Settings refuse that
    value.
    """
    return os.environ.get("SLUICE_NEXT") == "on"


def proves() -> bool:
    """SLUICE_PROOF, for Airflow's DAG processor: whether days are proved by night. No where the
    value is wrong: Settings refuse that value, in the DAG's tasks.
    """
    return _SHARE.fullmatch(os.environ.get("SLUICE_PROOF", "off")) is not None


def maintain_cron() -> str | None:
    """SLUICE_MAINTAIN_CRON, for Airflow's DAG processor; None for never.

    The default where the value is wrong: Settings refuse that value, in the DAG's tasks.
    """
    cron = os.environ.get("SLUICE_MAINTAIN_CRON") or str(VARIABLES["SLUICE_MAINTAIN_CRON"][1])
    if cron == NEVER:
        return None
    return str(VARIABLES["SLUICE_MAINTAIN_CRON"][1]) if invalid_because(cron) else cron


def _value(name: str) -> str:
    about, default = VARIABLES[name]
    value = os.environ.get(name) or default
    if value is None or not (value or default == ""):
        raise SettingInvalid.absent(name=name, about=about)
    return value


def _brokers(cluster: str, *, needed: bool) -> str:
    name = variable("SLUICE_KAFKA", cluster)
    value = os.environ.get(name)
    if not (value or needed):
        return NOBODY
    if not cluster:
        return _value(name)
    if not value:
        file = variable("SLUICE_KAFKA_CONFIG", cluster)
        named = connection("sluice_kafka", cluster)
        raise SettingInvalid.cluster_unknown(
            cluster=cluster, variable=name, file=file, connection=named
        )
    return value


def _secret_file(path: str) -> str:
    if not path:
        return ""
    source = f"SLUICE_SPARK_SECRET_FILE={path}"
    try:
        exposed = exposure(Path(path))
        empty = not Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid.secret_unreadable(
            source=source, error=getattr(error, "strerror", None) or "it is not UTF-8"
        ) from None
    if exposed:
        raise SettingInvalid.secret_exposed(source=source, exposed=exposed, path=path)
    if empty:
        raise SettingInvalid.secret_empty(source=source)
    return path


def _one_of(name: str, value: str, values: tuple[str, ...], why: str) -> str:
    if value not in values:
        raise SettingInvalid.choice_unknown(
            name=name, value=value, choices=" or ".join(values), default=values[0], why=why
        )
    return value


def _retention(history: str, rejected: str) -> tuple[str, str]:
    """In days. Raises SettingInvalid. Only ops.batches knows when a record was rejected, so its
    rows must be kept as long.
    """
    for name, value in (("SLUICE_HISTORY_DAYS", history), ("SLUICE_REJECTED_DAYS", rejected)):
        if value != FOREVER and not (value.isascii() and value.isdigit() and int(value)):
            raise SettingInvalid.days_invalid(
                name=name, value=value, forever=FOREVER, default=VARIABLES[name][1]
            )
    if FOREVER not in {history, rejected} and int(rejected) > int(history):
        raise SettingInvalid.rejected_days_too_many(rejected=rejected, history=history)
    return history, rejected


def _cron(value: str) -> str:
    if value != NEVER and (why := invalid_because(value)):
        raise SettingInvalid.cron_invalid(value=value, why=why, never=NEVER)
    return value


def _proof(value: str) -> str:
    if value != "off" and not _SHARE.fullmatch(value):
        raise SettingInvalid.share_invalid(value=value)
    return value


def _prefix(value: str) -> str:
    if not _PREFIX.fullmatch(value):
        raise SettingInvalid.prefix_invalid(value=value)
    return value


def _whole_number(name: str, value: str, *, or_else: str = "") -> str:
    if value != or_else and not (value.isascii() and value.isdigit() and int(value)):
        raise SettingInvalid.not_positive(name=name, value=value, default=VARIABLES[name][1])
    return value


def _seconds(name: str, value: str) -> str:
    if not (value.isascii() and value.isdigit() and int(value)):
        raise SettingInvalid.seconds_not_positive(name=name, value=value)
    return value
