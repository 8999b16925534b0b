"""What a look-up says of the token endpoint of OAUTHBEARER: by endpoints that answer, or do not,
and no broker behind them.

librdkafka and its libcurl are the real ones: their words decide whether trying again can help.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from spark_jobs.errors import KafkaRefused, KafkaUnreachable, SluiceError
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.source import topic_state
from tests.harness.certificates import HERE, Authority, Pair
from tests.harness.refused import because, has

AUTHORITY, STRANGER = Authority("unit"), Authority("a stranger")
RESET = b"\x01\0\0\0\0\0\0\0"
"""For SO_LINGER: a close that resets the connection."""
Act = Callable[[socket.socket], None]
Serve = Callable[[Act, Pair | None], str]


@pytest.fixture
def serve(tmp_path) -> Iterator[Serve]:
    """Make a server that does the same with every connection; host:port.

    With TLS where it is given a certificate.
    """
    listeners: list[socket.socket] = []

    def make(act: Act, pair: Pair | None = None) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if pair else None
        if pair and context:
            context.load_cert_chain(pair.write(tmp_path, "endpoint")[2])
        listeners.append(listener := socket.create_server(("127.0.0.1", 0)))
        threading.Thread(target=_serve, args=(listener, act, context), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield make
    for listener in listeners:
        listener.close()


def _serve(listener: socket.socket, act: Act, context: ssl.SSLContext | None) -> None:
    while True:
        try:
            plain = listener.accept()[0]
        except OSError:
            return
        with (
            suppress(OSError),
            plain,
            context.wrap_socket(plain, server_side=True) if context else plain as connection,
        ):
            act(connection)


def answer(status: str, body: str) -> Act:
    def act(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(
            f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: "
            f"{len(body)}\r\n\r\n{body}".encode()
        )
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    return act


def hang_up(connection: socket.socket) -> None:
    connection.recv(65536)


def reset(connection: socket.socket) -> None:
    connection.recv(65536)  # or a slow client is struck while it sends, and says so
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def say_nothing(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def look(serve: Serve, url: str, **properties: str) -> SluiceError:
    """The error of a look-up whose tokens come from there."""
    config = KafkaConfig.of(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.client.id": "reader",
            "sasl.oauthbearer.client.secret": "canary",
            "sasl.oauthbearer.token.endpoint.url": url,
            **properties,
        },
        "a test",
    )
    installed = Settings(
        "/root", serve(say_nothing, None), Path("/jars"), "local[2]", "1g", kafka_config=config
    )
    with pytest.raises(SluiceError) as raised:
        topic_state.topic_state(installed, "flights")
    assert "canary" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ("act", "says"),
    [(None, "Could not connect"), (hang_up, "Empty reply"), (reset, "Recv failure")],
)
def test_where_nobody_gives_tokens_it_is_the_endpoint_that_is_to_be_looked_at_and_trying_again_may_help(
    serve, act, says, monkeypatch
):
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 2.0)
    if act is None:
        with socket.create_server(("127.0.0.1", 0)) as gone:
            place = f"127.0.0.1:{gone.getsockname()[1]}"
    else:
        place = serve(act, None)
    error = look(serve, f"http://{place}/token")
    endpoint = "Check that the token endpoint"
    because(error, KafkaUnreachable, "no_broker", error=has(says), remedy=has(endpoint))


@pytest.mark.parametrize("status", ["503 Service Unavailable", "429 Too Many Requests"])
def test_where_it_is_busy_librdkafka_is_silent_and_either_may_be_down(serve, status, monkeypatch):
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 2.0)
    error = look(serve, f"http://{serve(answer(status, 'Connection refused'), None)}/token")
    because(error, KafkaUnreachable, "no_broker", remedy=has("SLUICE_KAFKA"))
    because(error, KafkaUnreachable, "no_broker", remedy=has("token endpoint"))


def test_an_answer_that_is_no_is_a_refusal_whatever_words_it_has_and_told_in_one_short_line(serve):
    page = (
        "<html>\nFailed to connect: the request timed out, HTTP 503, could not resolve\n"
        + "x" * 5000
    )
    for body in (
        '{"error": "invalid_client", "error_description": "could not connect: timed out"}',
        page,
    ):
        error = look(serve, f"http://{serve(answer('401 Unauthorized', body), None)}/token")
        because(error, KafkaRefused, "no_token")
        assert "\n" not in str(error)
        assert len(error.parameters["error"]) < 350


@pytest.mark.parametrize(
    ("hosts", "lives", "authority", "says"),
    [
        (HERE, 1, STRANGER, "Give the certificate of its authority in https.ca.location"),
        (HERE, -1, AUTHORITY, "Renew the endpoint's certificate"),
        (("elsewhere.example",), 1, AUTHORITY, "Name the host in sasl.oauthbearer.token.endpoint.url as its certificate does"),
    ],
)  # fmt: skip
def test_a_refused_certificate_is_no_fault_of_the_client(serve, hosts, lives, authority, says):
    place = serve(
        answer("200 OK", "{}"), AUTHORITY.pair("endpoint", hosts=hosts, lives=timedelta(days=lives))
    )
    error = look(serve, f"https://{place}/token", **{"https.ca.pem": authority.certificate})
    because(error, KafkaRefused, "endpoint_certificate", remedy=has(says))


def test_without_authorities_of_its_own_it_is_held_against_those_of_this_machine(
    serve, tmp_path, monkeypatch
):
    (tmp_path / "trusted.crt").write_text(AUTHORITY.certificate)
    place = serve(answer("401 Unauthorized", "no"), AUTHORITY.pair("endpoint", hosts=HERE))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    error = look(serve, f"https://{place}/token")
    unknown = has("unable to get local issuer certificate")  # the bundle of this machine was read
    because(error, KafkaRefused, "endpoint_certificate", error=unknown)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.crt"))
    trusted = look(serve, f"https://{place}/token")
    because(trusted, KafkaRefused, "no_token")
