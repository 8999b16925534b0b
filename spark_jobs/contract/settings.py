"""The facts of an installation, each read from one environment variable, in one place. A secret is in one alone: kafka_config,
which shows none, and which another process is given by the path of its file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple

from spark_jobs.contract import spark_options
from spark_jobs.contract.errors import SettingInvalid
from spark_jobs.contract.kafka.config import NOTHING, KafkaConfig
from spark_jobs.contract.kafka.pem import exposure
from spark_jobs.contract.store import PATH_STYLE, Store, is_remote, is_s3, sluice_url

REPO = Path(__file__).parent.parent.parent

VARIABLES = {
    "SLUICE_ROOT": ("where tables, checkpoints and ops tables lie", str(REPO / ".local" / "root")),
    "SLUICE_KAFKA": ("the brokers, host:port separated by commas", None),
    "SLUICE_JARS": ("the folder with the jars that `make setup` fetches", str(REPO / "jars" / "spark")),
    "SLUICE_MASTER": ("Spark's master for the command line (Airflow has a connection for that)", "local[2]"),
    "SLUICE_DRIVER_MEMORY": ("heap of the driver; in local mode of everything", "2g"),
    "SLUICE_PIPELINES": ("the Python package that holds the pipelines, a folder each", "spark_jobs.pipelines"),
    "SLUICE_LOCAL_FILES": (
        "who sets the modes of files on a local disk and looks for links: sluice (java.nio, no process is started) or hadoop",
        "sluice"),
    "SLUICE_SPARK_CONF": ("options of Spark for every run, name=value separated by spaces: docs/cluster.md", ""),
    "SLUICE_SPARK_SECRET_FILE": ("the file with the secret of the cluster's RPC, its owner's alone", ""),
    "SLUICE_EXECUTOR_PYTHON": (
        "the executors' Python: a path on the workers, or ENVIRONMENT.tar.gz#NAME/bin/python; the driver's if not set", ""),
    "SLUICE_EXECUTOR_JARS": ("a folder on the workers with the jars of SLUICE_JARS; each run sends them if not set", ""),
    "SLUICE_EXECUTOR_WAIT": ("seconds that a run goes on without an executor before it gives up", "120"),
    PATH_STYLE: ("whether an S3's bucket stands in the path of a URL (true) or in its host (false)", ""),
    "SLUICE_LOG": ("how a run writes its lines: text (for people) or json (one object a line)", "text"),
    "SLUICE_KAFKA_CONFIG": ("the properties file that says how Kafka is reached and who asks: docs/kafka.md", ""),
}
"""Each variable, what it means, and its default (None: it must be set)."""

LOCAL_FILES = ("sluice", "hadoop")
LOGS = ("text", "json")
_PART = re.compile(r"[A-Za-z0-9._=-]+")
"""What may stand between the slashes of a root's prefix on S3."""


class Settings(NamedTuple):
    """One installation's facts. `root` is a path or URL without a trailing slash."""

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
    kafka_config: KafkaConfig = NOTHING

    @classmethod
    def from_environment(cls, kafka_config: KafkaConfig | None = None) -> Settings:
        """With `kafka_config` instead of the file of SLUICE_KAFKA_CONFIG, where that is given. Brokers that it names win.

        Raises SettingInvalid, naming the variable, where one is missing or malformed; or KafkaConfigInvalid.
        """
        if kafka_config is None:
            kafka_config = KafkaConfig.read(path) if (path := os.environ.get("SLUICE_KAFKA_CONFIG")) else NOTHING
        values = {name: kafka_config.brokers if name == "SLUICE_KAFKA" and kafka_config.brokers else _value(name)
                  for name in VARIABLES}
        named = "bootstrap.servers" if kafka_config.brokers else "SLUICE_KAFKA"
        for server in values["SLUICE_KAFKA"].split(","):
            host, _, port = server.strip().rpartition(":")
            if not host or not port.isdigit():
                raise SettingInvalid(f"{named} is {values['SLUICE_KAFKA']!r}: {server!r} is not host:port.",
                                     "Set it to the bootstrap servers, for example 127.0.0.1:9092.")
        files = values["SLUICE_LOCAL_FILES"]
        if files not in LOCAL_FILES:
            raise SettingInvalid(f"SLUICE_LOCAL_FILES is {files!r}: it can be {' or '.join(LOCAL_FILES)}.",
                                 "Leave it out for sluice; hadoop starts a process for each mode and each link.")
        Store.from_environment()  # what is wrong with it is said at once
        return cls(
            _checked_root(values["SLUICE_ROOT"]), values["SLUICE_KAFKA"], Path(values["SLUICE_JARS"]),
            values["SLUICE_MASTER"], values["SLUICE_DRIVER_MEMORY"], values["SLUICE_PIPELINES"],
            files, spark_options.written(spark_options.read(values["SLUICE_SPARK_CONF"], "SLUICE_SPARK_CONF")),
            _secret_file(values["SLUICE_SPARK_SECRET_FILE"]), values["SLUICE_EXECUTOR_PYTHON"],
            values["SLUICE_EXECUTOR_JARS"].rstrip("/"), _seconds("SLUICE_EXECUTOR_WAIT", values["SLUICE_EXECUTOR_WAIT"]),
            values[PATH_STYLE], _log(values["SLUICE_LOG"]), kafka_config,
        )

    @classmethod
    def of_the_build(cls) -> Settings:
        """As from_environment, where no broker need be named: for what `make setup` makes. Raises SettingInvalid.

        The declaration of Kafka is left unread: set-up has a broker of its own, and what it publishes belongs into no other.
        """
        os.environ["SLUICE_KAFKA"] = os.environ.get("SLUICE_KAFKA") or "127.0.0.1:9092"
        return cls.from_environment(NOTHING)

    @property
    def local(self) -> bool:
        """Whether driver and executors are one process of this machine."""
        return self.master.startswith("local") and not self.master.startswith("local-cluster")

    def environment(self) -> dict[str, str]:
        """The same facts as variables, for a process that this one starts: of kafka_config, which is the last, its file."""
        return dict(zip(VARIABLES, (self.root, self.kafka, str(self.jars), *self[3:-1], self.kafka_config.path), strict=True))


def log_format() -> Literal["text", "json"]:
    """SLUICE_LOG alone, for what begins to log before it has the settings. Text where it is wrong: the settings refuse it."""
    return "json" if os.environ.get("SLUICE_LOG") == "json" else "text"


def root() -> str:
    """SLUICE_ROOT alone, for what needs nothing else: neither brokers nor a declaration of Kafka have to be right."""
    return _checked_root(_value("SLUICE_ROOT"))


def _checked_root(given: str) -> str:
    """The root as Sluice calls it. Raises SettingInvalid where it has keys in it, or is no URL that all clients read alike.

    s3fs takes a prefix as it stands, Hadoop drops empty parts, and object_store decodes per cents: each would write elsewhere.
    """
    if not is_remote(given):
        return given.rstrip("/")
    address = given.partition("://")[2]
    if "@" in address.partition("/")[0] or (is_s3(given) and ("@" in address or ":" in address)):  # a secret may have slashes
        raise SettingInvalid("SLUICE_ROOT has keys in it, and it stands in logs and tables.",
                             "Leave them out; docs/object-store.md has the ways to give them.")
    bucket, *parts = address.rstrip("/").split("/")
    if is_s3(given) and not bucket:
        raise SettingInvalid(f"SLUICE_ROOT is {given!r}: it names no bucket.", "Write for example s3://bucket/prefix.")
    if is_s3(given) and (odd := [part for part in parts if part in {".", ".."} or not _PART.fullmatch(part)]):
        raise SettingInvalid(f"SLUICE_ROOT is {given!r}: {odd[0]!r} between its slashes is not read alike by S3's clients.",
                             "Use letters and digits of ASCII, and . _ = - between single slashes.")
    return sluice_url(given.rstrip("/"))


def _value(name: str) -> str:
    about, default = VARIABLES[name]
    value = os.environ.get(name) or default
    if value is None or not (value or default == ""):
        raise SettingInvalid(f"{name} is not set: it says {about}.",
                             "`make up` starts a local Kafka and prints the line to set it.")
    return value


def _secret_file(path: str) -> str:
    """The path, of a file that holds a secret and is its owner's alone; or nothing."""
    if not path:
        return ""
    source = f"SLUICE_SPARK_SECRET_FILE={path}"
    try:
        exposed, empty = exposure(Path(path)), not Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"{source} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}.",
                             "Name a file that this user may read, with the secret of Spark's master and workers.") from None
    if exposed:
        raise SettingInvalid(f"{source} holds a secret, and {exposed}.", f"chmod 600 {path}")
    if empty:
        raise SettingInvalid(f"{source} is empty.", "Write the secret into it that Spark's master and workers have.")
    return path


def _log(value: str) -> str:
    if value not in LOGS:
        raise SettingInvalid(f"SLUICE_LOG is {value!r}: it can be {' or '.join(LOGS)}.",
                             "Leave it out for text; json is for what collects logs.")
    return value


def _seconds(name: str, value: str) -> str:
    if not (value.isascii() and value.isdigit() and int(value)):
        raise SettingInvalid(f"{name} is {value!r}: it is not a whole number of seconds greater than 0.",
                             "Leave it out for 120.")
    return value
