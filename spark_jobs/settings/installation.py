"""The settings of an installation: one environment variable each.

Only kafka_config holds secrets. Its text shows none of them, and another process gets it as the
path of a file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings import project_file, roots, variables
from spark_jobs.settings.checked import FOREVER, LAG_GROUP, NEVER, PREFIX, SHARE, checked
from spark_jobs.settings.kafka.config import NOTHING, KafkaConfig
from spark_jobs.settings.roots import Catalog, connection, parsed, variable
from spark_jobs.settings.variables import BY_SCHEDULE, ROOT, VARIABLES
from spark_jobs.spec import Pipeline
from spark_jobs.spec.cron import invalid_because
from spark_jobs.storage.root.store import Store

REPO = variables.REPO
MADE = "sluice.json"
"""In an environment that `sluice install` has made, the last that it writes."""

NOBODY = "127.0.0.1:9"
"""Brokers of who asks none."""
NOWHERE = f"{os.devnull}/no-root"
"""The root of who has none: nothing can be made there."""


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
        values = {name: _value(name) for name in VARIABLES if name not in {"SLUICE_KAFKA", ROOT}}
        own = variable("SLUICE_KAFKA", cluster)
        named = "bootstrap.servers" if kafka_config.brokers else own
        _, user, server = brokers.rpartition("@")
        if user:  # before any message shows the brokers
            raise SettingInvalid.user_before_server(name=named, server=server)
        for server in brokers.split(","):
            host, _, port = server.strip().rpartition(":")
            if not host or "/" in host or not port.isdigit():
                raise SettingInvalid.server_invalid(name=named, given=brokers, server=server)
        Store.from_environment()  # raises at once what is wrong with it
        values = {name: checked(name, value) for name, value in values.items()}
        history, rejected = values["SLUICE_HISTORY_DAYS"], values["SLUICE_REJECTED_DAYS"]
        # Only ops.batches knows when a record was rejected, so its rows must be kept as long.
        if FOREVER not in {history, rejected} and int(rejected) > int(history):
            raise SettingInvalid.rejected_days_too_many(rejected=rejected, history=history)
        own_root = NOWHERE if root is None else roots.root_named(root)
        others = (values[name] for name in [*VARIABLES][3:-1])
        return cls._make([own_root, brokers, jars(), *others, kafka_config])

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
        found = SHARE.fullmatch(self.proof)
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
    return given if PREFIX.fullmatch(given) else ""


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
    if not LAG_GROUP.fullmatch(given):
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
    return SHARE.fullmatch(os.environ.get("SLUICE_PROOF", "off")) is not None


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
