"""The questions to the broker, where there is none. tests/e2e asks a real one."""

import socket
import time
from pathlib import Path

import pytest

from spark_jobs import kafka
from spark_jobs.contract.errors import KafkaUnreachable
from spark_jobs.contract.settings import Settings


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_broker_that_does_not_answer_is_given_up_in_time_and_named(
    closed_port: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kafka, "TIMEOUT_SECONDS", 0.5)
    asked = time.monotonic()
    with pytest.raises(KafkaUnreachable, match=rf"no broker answered at 127\.0\.0\.1:{closed_port}"):
        kafka.topic_state(Settings("/root", f"127.0.0.1:{closed_port}", Path("/jars"), "local[2]", "1g"), "flights")
    assert time.monotonic() - asked < 5
    assert "".join(capfd.readouterr()) == "", "the client's own log would stand before the one line"


def test_all_questions_together_are_given_up_within_half_a_minute() -> None:
    assert 4 * kafka.TIMEOUT_SECONDS < 30
