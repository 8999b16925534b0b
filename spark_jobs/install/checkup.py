"""Checkup: what this installation has and what it lacks, a line each, with its remedy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import spark_jobs
from spark_jobs.checkpoint.file_system import refuse_local_locks
from spark_jobs.errors import SluiceError
from spark_jobs.install.environment import java_version, require_java
from spark_jobs.launch import java_options, submit
from spark_jobs.launch.spark_side import spark_side
from spark_jobs.launch.warm.fits import foretold
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.environment import version
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.roots import root_names, root_of
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline, Topic
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.root.store import is_remote

OPEN = (
    "OPEN: whoever reaches its machines may read what runs send and give them orders; set "
    "SLUICE_SPARK_SECRET_FILE"
)
"""Of a cluster without a secret."""
CONNECTION = "AIRFLOW_CONN_SLUICE_SPARK"


class Finding(NamedTuple):
    """One thing."""

    what: str
    says: str
    error: SluiceError | None = None
    """What is wrong with it, with its remedy."""


def checkup() -> Iterator[Finding]:
    """In the order in which a run needs them. Writes a probe below the root, and removes it."""
    settings, error = _settings()
    yield Finding("settings", f"Sluice {spark_jobs.__version__}", error)
    if settings is None:
        return
    yield _tried("Java", _java)
    yield _tried("Spark's environment", lambda: _environment(settings))
    yield _tried("jars", lambda: _jars(settings))
    specs, wrong = _specs()
    yield Finding("pipelines", ", ".join(spec.name for spec in specs) or "none", wrong)
    if not specs:
        yield _tried("root and topics", _own)
    for name, spec in sorted({spec.root: spec for spec in specs}.items()):
        yield _tried(f"root {name}".rstrip(), partial(_root, spec))
    topics = {each.place: (each, spec) for spec in specs for each in spec.inputs}
    for place, (topic, spec) in sorted(topics.items(), key=lambda each: each[0]):
        yield _tried(f"topic {place}", partial(_topic, topic, spec))
    yield Finding("Spark's master", _master(settings))
    yield Finding("warm runs", foretold(settings, 0))


def _settings() -> tuple[Settings | None, SluiceError | None]:
    try:
        return Settings.from_environment(root=None, reads=False), None
    except SluiceError as error:
        return None, error


def _own() -> str:
    """Of an installation that has no pipeline yet. One with names may do without its own."""
    if not any(root_names()):
        Settings.from_environment()
    return "not looked at: no pipeline names any"


def _tried(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, look())
    except SluiceError as error:
        return Finding(what, "", error)


def _java() -> str:
    require_java()
    return java_version()


def _environment(settings: Settings) -> str:
    side = spark_side(settings.spark_env)
    return f"{side.python.parent.parent}: pyspark {version('pyspark')}"


def _jars(settings: Settings) -> str:
    submit.configuration(settings)
    whole = submit.files_jar(settings).exists() and java_options.archive(settings).exists()
    return f"{settings.jars}{'' if whole else ': without the archive, runs start more slowly'}"


def _specs() -> tuple[list[Pipeline], SluiceError | None]:
    found, wrong = list[Pipeline](), None
    try:
        for name in registry.names():
            try:
                found.append(registry.load(name))
            except SluiceError as error:
                wrong = wrong or error
    except SluiceError as error:
        wrong = error
    return found, wrong


def _root(spec: Pipeline) -> str:
    root = root_of(spec)
    paths = Paths(root, spec)
    require_writable(paths)
    if not is_remote(root):
        refuse_local_locks(paths.above)
    return f"{root} can be written"


def _topic(topic: Topic, spec: Pipeline) -> str:
    alone = spec.model_copy(update={"topic": topic})
    state = source_of(alone, Settings.of(spec)).state()
    records = state.earliest.count(state.latest)
    return f"{len(state.latest)} partitions, {records:,} offsets, by {state.timestamps or '?'}"


def _master(settings: Settings) -> str:
    airflow = "named" if os.environ.get(CONNECTION) else "not in the environment: see Airflow's UI"
    seen = f"{settings.master} on the command line; Airflow's connection sluice_spark is {airflow}"
    return seen if settings.local or settings.spark_secret_file else f"{seen}; {OPEN}"
