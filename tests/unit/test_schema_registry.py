"""The client of a schema registry, before servers that are down, slow, refuse or lie; and what it
keeps under the root. The real registry: tests/e2e/test_schema_registry.py.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from spark_jobs.decode.schemas import registry as client
from spark_jobs.decode.schemas.kept import Kept
from spark_jobs.decode.schemas.registry import Registry
from spark_jobs.errors import (
    CheckpointBroken,
    KafkaConfigInvalid,
    RegistryRefused,
    RegistryUnreachable,
)
from spark_jobs.settings.kafka.config import KafkaConfig
from tests.harness.certificates import Authority
from tests.harness.refused import fails, has
from tests.harness.serving import Handler, serving

AVRO = {"schema": '{"type": "record", "name": "A", "fields": [{"name": "n", "type": "int"}]}'}
Answer = tuple[int, Any]


@contextmanager
def answering(answer: Callable[[str], Answer]) -> Iterator[str]:
    """A server's URL; `answer` has the status and the body, JSON or bytes, for a path."""

    class Registry(Handler):
        def do_GET(self) -> None:
            status, body = answer(self.path)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            elsewhere = {"Location": "http://127.0.0.1:1/elsewhere"} if status == 302 else {}
            self.answer(status, content, **elsewhere)

    with serving(Registry) as server:
        yield f"http://127.0.0.1:{server.server_port}/api"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(client, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.5)


def test_an_id_that_the_registry_lacks_is_none():
    with answering(lambda _: (404, {"error_code": 40403, "message": "Schema not found"})) as url:
        assert Registry({"url": url}).schema(7) is None


LIES: dict[str, Answer] = {
    "a page of another program": (200, b"<html>"),
    "another program's 404": (404, b"not found"),
    "a 404 of a wrong path": (404, {"error_code": 0, "message": "no resource"}),
    "a 404 of a subject": (404, {"error_code": 40401, "message": "no subject"}),
    "an answer without a schema": (200, {"id": 7}),
    "a schema that is no text": (200, {"schema": {"type": "int"}}),
    "a list": (200, []),
    "no end": (200, b'"' + b"x" * (9 * 2**20)),
    "a redirect": (302, b""),
    "no login": (401, {"error_code": 401, "message": "Unauthorized"}),
    "no right": (403, {"error_code": 40301, "message": "Forbidden"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_no_registry_answers_is_an_error_of_its_own(lie):
    with answering(lambda _: LIES[lie]) as url, pytest.raises(RegistryRefused) as raised:
        Registry({"url": url}).schema(7)
    assert url in raised.value.parameters["url"]


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_registry_that_is_broken_or_busy_is_asked_again_and_then_given_up(status):
    asked: list[str] = []

    def answer(path: str) -> Answer:
        asked.append(path)
        return (status, b"") if len(asked) < 3 or status == 503 else (200, AVRO)

    with answering(answer) as url:
        if status == 503:
            with pytest.raises(RegistryUnreachable):
                Registry({"url": url}).schema(7)
        else:
            found = Registry({"url": url}).schema(7)
            assert found
            assert found.kind == "AVRO"
    assert asked == ["/api/schemas/ids/7"] * 3


def test_a_registry_that_is_down_or_says_nothing_is_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RegistryUnreachable):
            Registry({"url": url}).schema(7)
    with pytest.raises(RegistryUnreachable):
        Registry({"url": url}).schema(7)
    assert time.monotonic() - began < 5


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for():
    def drip(server: socket.socket):
        for _ in range(3):
            asked, _ = server.accept()
            asked.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(8):
                time.sleep(0.1)
                try:
                    asked.sendall(b" ")
                except OSError:
                    break
            asked.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        with fails(RegistryUnreachable, "no_answer"):
            Registry({"url": f"http://127.0.0.1:{server.getsockname()[1]}"}).schema(7)


def test_a_secret_is_in_no_error():
    given = KafkaConfig.of(
        {
            "schema.registry.url": "http://127.0.0.1:1",
            "schema.registry.basic.auth.user.info": "sluice:canary",
        },
        "a test",
    )
    assert given.secrets() == ("sluice:canary",)
    with pytest.raises(RegistryUnreachable) as raised:
        Registry(given.registry()).schema(7)
    assert "canary" not in f"{raised.value}{given!r}"


def test_a_schema_is_asked_for_once_and_then_kept(tmp_path):
    asked: list[str] = []

    def answer(path: str) -> Answer:
        asked.append(path)
        return (200, AVRO) if path.endswith("/7") else (404, {"error_code": 40403})

    with answering(answer) as url:
        had = Kept(str(tmp_path), "main").fetch(["7", "8"], lambda: Registry({"url": url}))
        assert had == {"7": True, "8": False}
        kept = Kept(str(tmp_path), "main").schemas()
        assert (kept["7"].text, kept["8"]) == (AVRO["schema"], "the registry has no schema 8")
        Kept(str(tmp_path), "main").fetch(["7", "8"], lambda: Registry({"url": url}))
    assert [path[-1] for path in asked] == ["7", "8", "8"]
    assert Kept(str(tmp_path), "other").schemas() == {}


def test_an_id_that_was_missing_is_found_when_the_registry_has_it(tmp_path):
    answers = iter([(404, {"error_code": 40403}), (200, AVRO)])
    with answering(lambda _: next(answers)) as url:
        kept = Kept(str(tmp_path), "main")
        assert kept.fetch(["7"], lambda: Registry({"url": url})) == {"7": False}
        assert kept.fetch(["7"], lambda: Registry({"url": url})) == {"7": True}
    found = kept.schemas()["7"]
    assert found
    assert found.kind == "AVRO"


@pytest.mark.parametrize(
    "given", [{"schema": "{}"}, {"schema": "message", "schemaType": "PROTOBUF"}], ids=["a", "p"]
)
def test_a_text_that_does_not_parse_is_a_reason_of_its_records_and_asked_for_again(tmp_path, given):
    """Whoever writes a record chooses its id: it ends no run."""
    kept = Kept(str(tmp_path), "main")
    with answering(lambda _: (200, given)) as url:
        assert kept.fetch(["7"], lambda: Registry({"url": url})) == {"7": False}
        kept.refuse_others(["7"], lambda: Registry({"url": url}))
    assert isinstance(kept.schemas()["7"], str)
    with answering(lambda _: (200, AVRO)) as url:
        assert kept.fetch(["7"], lambda: Registry({"url": url})) == {"7": True}
    assert kept.schemas()["7"].text == AVRO["schema"]


NOWHERE = {
    "has no name": [{"name": "x"}],
    "is not there": [{"name": "x", "subject": "gone", "version": 1}],
    "have no end": [{"name": "x", "subject": "loop", "version": 1}],
}


@pytest.mark.parametrize("why", NOWHERE)
def test_references_that_lead_nowhere_are_a_reason_too(tmp_path, why, monkeypatch):
    monkeypatch.setattr(client, "MOST_REFERENCES", 3)

    def answer(path: str) -> Answer:
        if "gone" in path:
            return 404, {"error_code": 40403}
        again = [
            {
                "name": f"{path.count('loop')}{len(path)}x",
                "subject": f"loop{path[-30:]}",
                "version": 1,
            }
        ]
        return 200, AVRO | {"references": again if "loop" in path else NOWHERE[why]}

    kept = Kept(str(tmp_path), "main")
    with answering(answer) as url:
        assert kept.fetch(["7"], lambda: Registry({"url": url})) == {"7": False}
    assert why in kept.schemas()["7"]


def test_a_registry_that_was_set_up_anew_is_not_taken_for_the_old_one(tmp_path):
    kept = Kept(str(tmp_path), "main")
    with answering(lambda _: (200, AVRO)) as url:
        kept.fetch(["7"], lambda: Registry({"url": url}))
        kept.refuse_others(["7", "8"], lambda: Registry({"url": url}))
    other = {"schema": AVRO["schema"].replace("int", "long")}
    with answering(lambda _: (200, other)) as url, fails(RegistryRefused, "schema_differs"):
        kept.refuse_others(["7"], lambda: Registry({"url": url}))
    with answering(lambda _: (404, {"error_code": 40403})) as url:
        kept.refuse_others(["7"], lambda: Registry({"url": url}))  # deleted there: kept here


def test_a_file_that_does_not_parse_is_told(tmp_path):
    (tmp_path / "schemas" / "main").mkdir(parents=True)
    (tmp_path / "schemas" / "main" / "7.json").write_text("{")
    with fails(CheckpointBroken, "schema_file_unreadable", path=has("7.json")):
        Kept(str(tmp_path), "main").schemas()


def test_no_registry_is_needed_where_all_is_kept(tmp_path):
    with answering(lambda _: (200, AVRO)) as url:
        Kept(str(tmp_path), "main").fetch(["7"], lambda: Registry({"url": url}))
    assert Kept(str(tmp_path), "main").fetch(["7"], lambda: Registry({})) == {"7": True}
    with fails(RegistryRefused, "registry_undeclared"):
        Kept(str(tmp_path), "main").fetch(["9"], lambda: Registry({}))


def test_imports_of_protobuf_schemas_stay_in_their_folder(tmp_path):
    def answer(path: str) -> Answer:
        reference = {"name": "../evil.proto", "subject": "evil", "version": 1}
        kind = {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3";'}
        return 200, kind if "subjects" in path else {**kind, "references": [reference]}

    with answering(answer) as url:
        had = Kept(str(tmp_path), "main").fetch(["7"], lambda: Registry({"url": url}))
    assert had == {"7": False}
    assert not (tmp_path.parent / "evil.proto").exists()


def test_a_server_of_an_unknown_authority_is_refused():
    authority = Authority("another")

    def speak(server: socket.socket):
        with server.accept()[0] as asked:
            asked.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as plain:
        threading.Thread(target=speak, args=(plain,), daemon=True).start()
        url = f"https://127.0.0.1:{plain.getsockname()[1]}"
        with fails(RegistryRefused, "tls_refused"):
            Registry({"url": url, "ssl.ca.pem": authority.certificate}).schema(7)


REFUSED = {
    "no URL": {"schema.registry.basic.auth.user.info": "a:canary"},
    "a plain network": {"schema.registry.url": "http://registry.example", "schema.registry.bearer.auth.token": "canary"},
    "two logins": {
        "schema.registry.url": "https://registry.example",
        "schema.registry.bearer.auth.token": "canary",
        "schema.registry.basic.auth.user.info": "a:canary",
    },
    "no colon": {"schema.registry.url": "https://registry.example", "schema.registry.basic.auth.user.info": "canary"},
    "another scheme": {"schema.registry.url": "ftp://registry.example"},
    "a user in the URL": {"schema.registry.url": "https://a:canary@registry.example"},
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_a_declaration_is_refused_by_its_property(why):
    with fails(KafkaConfigInvalid, "property_refused", name=has("schema.registry")) as raised:
        KafkaConfig.of(REFUSED[why], "a test")
    assert "canary" not in str(raised.value)


def test_neither_of_kafkas_clients_is_told_of_the_registry():
    given = {"schema.registry.url": "https://registry.example", "client.id": "c"}
    config = KafkaConfig.of(given, "a test")
    assert (config.librdkafka(), config.java()) == ({"client.id": "c"}, {"client.id": "c"})
    assert config.registry() == {"url": "https://registry.example"}
