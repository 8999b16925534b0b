"""A token endpoint on loopback: signed JWTs for one client, by its id and secret."""

import json
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote_plus

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.harness.serving import Handler, serving as answering

AUDIENCE = "kafka"


class Issuer:
    """Signs tokens, and shows the key to check them by."""

    def __init__(self, client: str, secret: str) -> None:
        self.client = client
        self.secret = secret
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def keys(self) -> str:
        """The public key as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "kid": "1",
            "use": "sig",
            "alg": "RS256",
            "n": _number(numbers.n),
            "e": _number(numbers.e),
        }
        return json.dumps({"keys": [key]})

    def token(self) -> str:
        now = int(time.time())
        claims = {
            "sub": self.client,
            "aud": AUDIENCE,
            "iss": "tests",
            "iat": now,
            "exp": now + 3600,
            "scope": "read",
        }
        signed = ".".join(
            _base64(json.dumps(part).encode())
            for part in ({"alg": "RS256", "kid": "1", "typ": "JWT"}, claims)
        )
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64(signature)}"

    def knows(self, authorization: str) -> bool:
        """Whether a header Authorization is this client's."""
        scheme, _, word = authorization.partition(" ")
        client, _, secret = (
            b64decode(word).decode().partition(":") if scheme == "Basic" else ("", "", "")
        )
        # By RFC 6749, 2.3.1, both are form-encoded first; not every client does.
        return (self.client, self.secret) in (
            (client, secret),
            (unquote_plus(client), unquote_plus(secret)),
        )


@contextmanager
def serving(issuer: Issuer, store: Path) -> Iterator[str]:
    """The endpoint's URL, while it answers. `store` has its key and its certificate."""

    class Endpoint(Handler):
        def do_POST(self) -> None:
            self.body()
            known = issuer.knows(self.headers.get("Authorization", ""))
            granted = {"access_token": issuer.token(), "token_type": "Bearer", "expires_in": 3600}
            content = json.dumps(granted if known else {"error": "invalid_client"}).encode()
            self.answer(200 if known else 401, content, **{"Content-Type": "application/json"})

    with answering(Endpoint, store) as server:
        yield f"https://127.0.0.1:{server.server_port}/token"


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8))


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
