"""Brokers of their own, as the end-to-end tests have them: for a module, or for one test."""

import pytest

from local import broker
from spark_jobs.contract.settings import REPO
from tests.e2e.conftest import kafka, monkeypatch_module

__all__ = ["kafka", "monkeypatch_module"]


@pytest.fixture
def own_kafka(tmp_path, monkeypatch):
    """Address and home of a broker that a test may do anything to."""
    home = tmp_path / "kafka"
    address = broker.start(home, REPO / "jars" / "kafka")
    monkeypatch.setenv("SLUICE_KAFKA", address)
    yield address, home
    broker.stop(home)
