"""The broker that all lanes share, with a topic for each test, and its port while it is down."""

import socket
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from local import broker
from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient
from tests.harness.shared import KAFKA, home

JARS = REPO / "jars" / "kafka"
PATIENCE_SECONDS = patient(60)


@pytest.fixture(scope="session")
def kafka() -> str:
    """The address of a real broker."""
    return broker.start(home(KAFKA), JARS)


def forget_topic(address: str, topic: str) -> None:
    """Delete it, if it is there, and return when it is gone."""
    admin = AdminClient({"bootstrap.servers": address})
    deadline = time.monotonic() + PATIENCE_SECONDS
    if topic in admin.list_topics(timeout=PATIENCE_SECONDS).topics:
        admin.delete_topics([topic])[topic].result()
    while topic in admin.list_topics(timeout=PATIENCE_SECONDS).topics:
        assert time.monotonic() < deadline, f"topic {topic} is still there"
        time.sleep(0.05)


def start_again(home: Path, address: str) -> None:
    """Start a broker that was there before, at the address where its clients look for it."""
    if broker.start(home, JARS) != address:
        skip_taken(address)


def skip_taken(address: str) -> None:
    """Another program was given the port: no fault of the broker's."""
    with socket.socket() as probe:
        assert not _bound(probe, address), f"{address} is free, and the broker has gone elsewhere"
    pytest.skip(
        f"{address} was taken while the broker was down: not tested is that it is found there again"
    )


def _bound(listener: socket.socket, address: str) -> bool:
    host, port = address.split(":")
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
    except OSError:
        return False
    return True
