"""What a look-up says of a broker's certificate, by TLS servers that are no brokers; tests/e2e asks
real ones.
"""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from spark_jobs.errors import KafkaRefused, KafkaUnreachable
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.source import topic_state
from tests.harness.certificates import HERE, Authority, Pair
from tests.harness.refused import because, has

AUTHORITY, STRANGER = Authority("unit"), Authority("a stranger")
Serve = Callable[[Pair], str]


@pytest.fixture
def serve(tmp_path) -> Iterator[Serve]:
    """Make a server that shows a certificate and hangs up; its address."""
    listeners: list[socket.socket] = []

    def make(pair: Pair) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.write(tmp_path, "server")[2])
        listeners.append(listener := socket.create_server(("127.0.0.1", 0)))
        threading.Thread(target=_shake_hands, args=(listener, context), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield make
    for listener in listeners:
        listener.close()


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            with listener.accept()[0] as plain, context.wrap_socket(plain, server_side=True):
                pass
        except ssl.SSLError:
            continue
        except OSError:
            if listener.fileno() < 0:
                return


def look(address: str, authority: Authority = AUTHORITY, **properties: str) -> None:
    config = KafkaConfig.of(
        {"security.protocol": "SSL", "ssl.ca.pem": authority.certificate, **properties}, "a test"
    )
    topic_state.topic_state(
        Settings("/root", address, Path("/jars"), "local[2]", "1g", kafka_config=config), "flights"
    )


@pytest.mark.parametrize(
    ("hosts", "lives", "authority", "says"),
    [
        (HERE, 1, STRANGER, ("unable to get local issuer certificate", "ssl.ca.location")),
        (HERE, -1, AUTHORITY, ("certificate has expired", "Renew")),
        (("elsewhere.example",), 1, AUTHORITY, ("not valid for '127.0.0.1'", "bootstrap.servers")),
    ],
)
def test_a_certificate_that_is_not_accepted_is_a_refusal_that_says_why_at_once(
    serve, hosts, lives, authority, says, capfd
):
    address = serve(AUTHORITY.pair("broker", hosts=hosts, lives=timedelta(days=lives)))
    began = time.monotonic()
    with pytest.raises(KafkaRefused) as raised:
        look(address, authority)
    assert time.monotonic() - began < topic_state.TIMEOUT_SECONDS
    assert [word for word in (*says, address) if word not in str(raised.value)] == [], str(
        raised.value
    )
    assert "".join(capfd.readouterr()) == ""


def test_a_server_with_a_good_certificate_that_hangs_up_is_not_said_to_refuse(serve, monkeypatch):
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 1.0)
    with pytest.raises(KafkaUnreachable):
        look(serve(AUTHORITY.pair("broker", hosts=HERE)))


@pytest.mark.parametrize(
    "java",
    [
        "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed during " "authentication",
        "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to " "access topics: [flights]",
        "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed\nCaused " "by: x",
    ],
)  # fmt: skip
def test_what_turns_sparks_connector_away_amid_a_run_is_a_refusal_in_kafkas_words(java):
    error = translate_error(
        RuntimeError(f"[STREAM_FAILED] Query terminated\n\tat x\n{java}\n\tat y"), "flight_events"
    )
    said = java.partition("Exception: ")[2].partition("\n")[0]
    because(error, KafkaRefused, "connector_refused", detail=has(said))
