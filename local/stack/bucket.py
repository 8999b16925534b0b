"""`python -m local.stack.bucket`: the store's bucket, its two users, and the policy that gives them
this bucket alone: runs read and write, the views read.

As the store's root user. Doing it again changes nothing; a user's secret becomes the file's.
Requests are signed here (AWS Signature 4): a client's command line would show the secret.
"""

from __future__ import annotations

import configparser
import hashlib
import hmac
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode
from xml.sax.saxutils import escape

HOST = "store:7070"
REGION = "us-east-1"
BUCKET = "sluice"
SECRETS = Path("/run/secrets")
FAILED, EXISTS = 300, 409
SECONDS = 30
Rights = tuple[tuple[str, ...], tuple[str, ...]]
READ = ("GetObject",), ("ListBucket",)
WRITE = (
    ("GetObject", "PutObject", "DeleteObject", "AbortMultipartUpload", "ListMultipartUploadParts"),
    ("ListBucket", "ListBucketMultipartUploads"),
)
RIGHTS = {"sluice": WRITE, "views": READ}
"""User -> what it may do with objects, and with the bucket: docs/deploy.md."""


class StoreError(Exception):
    """The store refused; what it said."""


class Keys(NamedTuple):
    access: str
    secret: str

    @classmethod
    def read(cls, file: Path) -> Keys:
        """From AWS's shared credentials, the default profile."""
        parsed = configparser.ConfigParser()
        parsed.read_string(file.read_text())
        profile = parsed["default"]
        return cls(profile["aws_access_key_id"], profile["aws_secret_access_key"])


def main() -> None:
    root = Keys.read(SECRETS / "store_root")
    users = {name: Keys.read(SECRETS / f"store_{name}") for name in RIGHTS}
    for user in users.values():
        _user(root, user)
    _asked(root, "PUT", f"/{BUCKET}")
    wanted = policy({user.access: RIGHTS[name] for name, user in users.items()})
    _asked(root, "PUT", f"/{BUCKET}", {"policy": ""}, json.dumps(wanted))
    sys.stdout.write(f"bucket {BUCKET}; users {', '.join(users)}\n")


def _user(root: Keys, user: Keys) -> None:
    secret = f"<Secret>{escape(user.secret)}</Secret>"
    account = f"<Access>{escape(user.access)}</Access>{secret}<Role>user</Role>"
    if _asked(root, "PATCH", "/create-user", body=f"<Account>{account}</Account>") == EXISTS:
        changes = f"<MutableProps>{secret}</MutableProps>"
        _asked(root, "PATCH", "/update-user", {"access": user.access}, changes)


def policy(rights: Mapping[str, Rights]) -> dict[str, object]:
    """By access key, the least that each needs: docs/deploy.md."""
    bucket = f"arn:aws:s3:::{BUCKET}"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": [access]},
                "Action": [f"s3:{action}" for action in actions],
                "Resource": [on],
            }
            for access, own in rights.items()
            for actions, on in zip(own, (f"{bucket}/*", bucket), strict=True)
        ],
    }


def _asked(
    keys: Keys, method: str, path: str, query: dict[str, str] | None = None, body: str = ""
) -> int:
    """The answer's status: success, or EXISTS. Raises StoreError on any other."""
    data = body.encode()
    said = urlencode(sorted((query or {}).items()))
    connection = HTTPConnection(HOST, timeout=SECONDS)
    try:
        target = f"{path}?{said}" if said else path
        connection.request(method, target, data, _signed(keys, method, path, said, data))
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    finally:
        connection.close()
    if answer.status >= FAILED and answer.status != EXISTS:
        message = f"{method} {path}: {answer.status} {text[:300]}"
        raise StoreError(message)
    return answer.status


def _signed(keys: Keys, method: str, path: str, query: str, body: bytes) -> dict[str, str]:
    """The headers of a request that `keys` vouch for."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": HOST, "x-amz-content-sha256": digest, "x-amz-date": now}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{digest}"
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    vouched = f"Credential={keys.access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 {vouched}"}


if __name__ == "__main__":
    main()
