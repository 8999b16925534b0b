"""The questions to the broker, where none answers. tests/e2e asks a real one, and lets it stand
still between them.
"""

import gc
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from spark_jobs.errors import KafkaUnreachable
from spark_jobs.settings.installation import Settings
from spark_jobs.source import topic_state
from spark_jobs.source.leaving import Policy
from tests.harness.refused import fails

CLIENTS_OWN_SECONDS = 60
"""How long Kafka's client would ask, if it were let."""


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """Takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        yield int(deaf.getsockname()[1])


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("port", ["deaf_port", "closed_port"])
def test_a_broker_that_does_not_answer_is_named_in_time(request, port, monkeypatch, capfd):
    broker = f"127.0.0.1:{request.getfixturevalue(port)}"
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 0.5)
    asked = time.monotonic()
    with fails(KafkaUnreachable, "no_broker"):
        topic_state.topic_state(
            Settings("/root", broker, Path("/jars"), "local[2]", "1g"), "flights"
        )
    assert 0.5 <= time.monotonic() - asked < CLIENTS_OWN_SECONDS / 2
    assert "".join(capfd.readouterr()) == "", "the client's own log would stand before the one line"


def test_no_client_is_left_to_a_garbage_collection_of_any_thread(closed_port, monkeypatch):
    """It ends in a thread of its own then, and librdkafka aborts the process."""
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 0.5)
    at = Settings("/root", f"127.0.0.1:{closed_port}", Path("/jars"), "local[2]", "1g")
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(KafkaUnreachable) as raised:
            topic_state.topic_state(at, "flights")
        left = [each for each in gc.get_objects() if type(each) is AdminClient]
    finally:
        gc.enable()
    assert raised.value.__traceback__ is not None
    assert left == []


@pytest.mark.parametrize("size", ["", "None"])
def test_a_limit_that_a_server_does_not_tell_is_none_that_is_told(size):
    with pytest.raises(ValueError, match="invalid literal"):
        Policy.parsed("sales", "delete", "1000", size)
