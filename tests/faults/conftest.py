"""The lane's broker and Spark session; and a broker that may be killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local import broker
from tests.harness.broker import JARS, kafka
from tests.harness.process import PIPELINES, none_left
from tests.harness.session import spark, surroundings

__all__ = ["kafka", "spark"]


@pytest.fixture(autouse=True)
def pipelines(kafka):
    """Drains of this process have the specs, and so the state's identity, of those in others."""
    with surroundings(kafka) as patch, none_left():
        patch.setenv("SLUICE_PIPELINES", PIPELINES)
        yield


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory) -> Iterator[Path]:
    """The home of a broker that a test may do anything to, and leaves running."""
    home = tmp_path_factory.mktemp("own-kafka")
    try:
        broker.start(home, JARS)
        yield home
    finally:
        broker.stop(home)
