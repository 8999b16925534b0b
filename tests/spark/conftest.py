"""One Spark session and one broker for all Spark tests."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from local import broker
from spark_jobs.contract.settings import REPO, Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.session import STATIC
from spark_jobs.submit import MANY, configuration, environment
from tests.harness.scene import Scene


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Great Expectations, pandas and py4j warn while they load and when they close; their warnings are shown, not errors."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real broker."""
    home = tmp_path_factory.mktemp("kafka")
    address = broker.start(home, REPO / "jars" / "kafka")
    os.environ["SLUICE_KAFKA"] = address
    yield address
    broker.stop(home)


@pytest.fixture(scope="session", autouse=True)
def spark(kafka: str) -> Iterator[Any]:
    """The session that every drain of these tests finds and uses (getOrCreate)."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    settings = Settings.from_environment()
    os.environ.update(environment(settings))
    builder = SparkSession.builder.master("local[2]").appName("sluice tests")
    # As for many records: with the first compiler only, an hour of queries fills the JVM's 48 MB of code, again and again.
    for key, value in {**configuration(settings, MANY), **STATIC}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    # It says at exit that it closes its connections, when pytest has already closed the log.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    yield session
    session.stop()


@pytest.fixture
def scene(kafka: str, tmp_path: Path) -> Callable[..., Scene]:
    """Make a scene for a pipeline in this test's folder."""

    def make(pipeline: str | Pipeline, **given: Any) -> Scene:
        return Scene(kafka, tmp_path, pipeline, **given)

    return make
