"""Registry: a client of a schema registry with Confluent's API. It reads; it registers nothing.

Every answer that is not what the API promises is an error of the registry's, never of a record:
only the API's own "no such schema" says that an id is unknown. But whoever writes a record chooses
its id: what the API gives as that schema is the registry's answer, whether it can be read or not.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import tempfile
import time
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from spark_jobs.decode.schemas.schema import SchemaUnread
from spark_jobs.errors import RegistryRefused, RegistryUnreachable

CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 10.0
PAUSES: Final = (0.3, 1.0)
"""Before the second try and the third, in seconds."""
MOST_BYTES: Final = 8 * 2**20
"""Of an answer."""
MOST_REFERENCES: Final = 500
GUIDS: Final = "/schemas/guids/"
NO_SCHEMA: Final = (40403,)
"""error_code of Confluent's API: schema not found. A 404 with another is of a wrong path."""
_SENT: Final = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
_MESSAGE: Final = 200
"""Characters of the registry's own message that an error shows."""


class Registered(NamedTuple):
    """A schema as the registry has it."""

    kind: str
    """AVRO, PROTOBUF or JSON."""
    text: str
    references: tuple[tuple[str, str], ...]
    """Name and text of each schema that it uses, each behind those that it uses itself."""


class Registry:
    """The registry of a Kafka declaration. `given`: KafkaConfig.registry()."""

    def __init__(self, given: Mapping[str, str]) -> None:
        if "url" not in given:
            raise RegistryRefused.registry_undeclared()
        self.url = given["url"].rstrip("/")
        self._parts = urlsplit(self.url)
        self._context = _context(given) if self._parts.scheme == "https" else None
        self._headers = {**_SENT, **_authorization(given)}

    def schema(self, number: int) -> Registered | None:
        """The schema with this id; None if the registry has none.

        Raises RegistryUnreachable, RegistryRefused; SchemaUnread if its references lead nowhere.
        """
        found = self._ask(f"/schemas/ids/{number}")
        return self._registered(found) if found is not None else None

    def schema_by_guid(self, guid: str) -> Registered | None:
        """As `schema`, by the id that newer clients write into a header. SchemaUnread also where
        the registry finds none by such ids.
        """
        found = self._ask(f"{GUIDS}{quote(guid)}")
        return self._registered(found) if found is not None else None

    def _registered(self, found: Mapping[str, Any]) -> Registered:
        texts: dict[str, str] = {}
        self._gather(found, texts, 0)
        kind = found.get("schemaType", "AVRO")
        if not isinstance(kind, str):
            raise self._lies("a schema of no type")
        return Registered(kind, self._text(found), tuple(texts.items()))

    def _gather(self, found: Mapping[str, Any], texts: dict[str, str], depth: int) -> None:
        """The texts of the references, those of references first."""
        for each in found.get("references") or ():
            try:
                name, subject, version = each["name"], each["subject"], each["version"]
                path = f"/subjects/{quote(subject, safe='')}/versions/{int(version)}"
            except (KeyError, TypeError, ValueError):
                raise SchemaUnread("a reference has no name, subject and version") from None
            if name in texts:
                continue
            if depth > MOST_REFERENCES or len(texts) > MOST_REFERENCES:
                raise SchemaUnread("its references have no end")
            inner = self._ask(f"{path}?deleted=true")
            if inner is None:
                raise SchemaUnread(f"it refers to {subject!r}, which is not there")
            self._gather(inner, texts, depth + 1)
            texts[name] = self._text(inner)

    def _text(self, found: Mapping[str, Any]) -> str:
        text = found.get("schema")
        if not isinstance(text, str) or not text.strip():
            raise self._lies("no schema")
        return text

    def _ask(self, path: str) -> Mapping[str, Any] | None:
        for pause in (*PAUSES, None):
            try:
                return self._answer(path)
            except RegistryUnreachable:
                if pause is None:
                    raise
                time.sleep(pause)
        raise AssertionError  # the last try returns or raises

    def _answer(self, path: str) -> Mapping[str, Any] | None:
        try:
            status, body = self._exchange(path)
        except ssl.SSLError as error:
            raise RegistryRefused.tls_refused(url=self.url, error=_tls(error)) from None
        except (OSError, http.client.HTTPException) as error:
            raise RegistryUnreachable.no_answer(
                url=self.url, error=str(error) or type(error).__name__
            ) from None
        return self._read(path, status, body)

    def _read(self, path: str, status: int, body: bytes) -> Mapping[str, Any] | None:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        told = found if isinstance(found, dict) else {}
        code = told.get("error_code")
        said = f" ({str(told['message'])[:_MESSAGE]})" if "message" in told else ""
        if status == http.client.OK and isinstance(found, dict):
            return found
        if status == http.client.NOT_FOUND and code in NO_SCHEMA:
            return None
        if status == http.client.NOT_FOUND and path.startswith(GUIDS):
            raise SchemaUnread(f"the registry finds no schema by a GUID{said}")
        if status == http.client.TOO_MANY_REQUESTS or status >= http.client.INTERNAL_SERVER_ERROR:
            raise RegistryUnreachable.answered_error(
                url=self.url,
                status=status,
                said=said,
            )
        if status in {http.client.UNAUTHORIZED, http.client.FORBIDDEN}:
            raise RegistryRefused.client_refused(
                url=self.url,
                status=status,
                said=said,
            )
        raise self._lies(f"{status}{said}")

    def _lies(self, what: str) -> RegistryRefused:
        return RegistryRefused.no_registry_answers(url=self.url, what=what)

    def _exchange(self, path: str) -> tuple[int, bytes]:
        """Status and body of one answer. A redirect is not followed: it would take the secret
        along. No answer takes longer than ANSWER_SECONDS, however slowly it comes.
        """
        until = time.monotonic() + ANSWER_SECONDS
        host, port = self._parts.hostname or "", self._parts.port
        connection = (
            http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=self._context)
            if self._context
            else http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        )
        try:
            connection.connect()
            connection.sock.settimeout(ANSWER_SECONDS)
            connection.request("GET", f"{self._parts.path}{path}", headers=self._headers)
            body = b""
            with connection.getresponse() as response:
                while part := response.read1(2**16):
                    body += part
                    if time.monotonic() > until:
                        raise TimeoutError(f"no whole answer in {ANSWER_SECONDS:.0f} s")
                    if len(body) > MOST_BYTES:
                        raise self._lies(f"more than {MOST_BYTES:,} bytes")
            return response.status, body
        finally:
            connection.close()


def _authorization(given: Mapping[str, str]) -> dict[str, str]:
    if user := given.get("basic.auth.user.info"):
        return {"Authorization": f"Basic {b64encode(user.encode()).decode()}"}
    if token := given.get("bearer.auth.token"):
        return {"Authorization": f"Bearer {token}"}
    return {}


def _context(given: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=given.get("ssl.ca.pem"))
    if "ssl.key.pem" in given:
        # OpenSSL takes a key from a file alone: one of this user, gone at once.
        file, name = tempfile.mkstemp(prefix="sluice-registry-")
        try:
            os.write(file, f"{given['ssl.key.pem']}\n{given['ssl.certificate.pem']}".encode())
            context.load_cert_chain(name)
        finally:
            os.close(file)
            Path(name).unlink()
    return context


def _tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return f"no TLS with it: {error.reason or error}"
