"""A cluster and a broker for the folder's tests; drains are processes of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cluster import Cluster, running
from local.worker_env import made
from spark_jobs.settings.installation import REPO
from tests.harness.broker import kafka
from tests.harness.process import PIPELINES, none_left

__all__ = ["kafka"]


@pytest.fixture(scope="session")
def worker_python() -> str:
    """The Python of the workers, kept between runs: it has neither Sluice nor pyspark."""
    return str(made(REPO / ".local" / "worker"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    """A master and two workers; a test that takes one of them gives another."""
    with running(tmp_path_factory.mktemp("cluster") / "spark") as made_one:
        yield made_one


@pytest.fixture(autouse=True)
def on_it(kafka, cluster, worker_python, monkeypatch):
    """The installation's facts, as drains of these tests have them."""
    monkeypatch.setenv("SLUICE_KAFKA", kafka)
    monkeypatch.setenv("SLUICE_MASTER", cluster.master)
    monkeypatch.setenv("SLUICE_EXECUTOR_PYTHON", worker_python)
    monkeypatch.setenv("SLUICE_PIPELINES", PIPELINES)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with none_left():
        yield


@pytest.fixture
def folder(tmp_path) -> Path:
    """Of a scene."""
    return tmp_path
