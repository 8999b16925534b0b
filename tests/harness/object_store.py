"""A real S3 server on loopback: versitygw, built from source by Go, with a folder's files."""

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from local.ports import free_port
from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient

SERVER = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
HOME = REPO / ".local" / "versitygw-v1.8.0"
QUICKLY = ("-gcflags=all=-l -dwarf=false -c=1", "-ldflags=-s -w")
"""Nothing put inline and nothing for a debugger: 86 processor seconds instead of 142."""
NOT_TESTED = "no go to build the S3 server by: not tested is a root on an object store"
PATIENCE_SECONDS = patient(60)
BUILD_SECONDS = 900
TRIES = 4


def binary() -> Path | None:
    """The server, built once, by whoever comes first; None where there is no go."""
    made = HOME / "versitygw"
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if made.exists():
        return made
    if go is None:
        return None
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not made.exists():
            _build(go, made)
    return made


def _build(go: str, made: Path) -> None:
    with TemporaryDirectory(dir=made.parent) as building:
        # Away from this repository, whose folder go would take for a module's.
        subprocess.run(
            [go, "install", *QUICKLY, SERVER],
            env=os.environ | {"GOBIN": building, "GOFLAGS": "", "CGO_ENABLED": "0"},
            cwd="/",
            check=True,
            timeout=BUILD_SECONDS,
            capture_output=True,
        )
        Path(building, made.name).replace(made)


@cache
def _client(endpoint: str, access_key: str, secret_key: str) -> Any:
    from botocore.session import Session  # noqa: PLC0415 - of s3fs, and only here

    return Session().create_client(
        "s3",
        "us-east-1",
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
    )


class ObjectStore(NamedTuple):
    """One that runs. `access_key` and `secret_key` are its owner's, who may do everything."""

    endpoint: str
    access_key: str
    secret_key: str
    objects: Path
    """Where it keeps a bucket's objects, each as a file."""

    @property
    def variables(self) -> dict[str, str]:
        """What declares it to a process."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self) -> Any:
        """Amazon's own, as the store's owner."""
        return _client(self.endpoint, self.access_key, self.secret_key)

    def bucket(self) -> str:
        """Make one with a name of its own: Hadoop keeps a client a name as long as it lives."""
        name = f"sluice-{secrets.token_hex(4)}"
        self.client().create_bucket(Bucket=name)
        return name

    def user(self, name: str, secret: str) -> None:
        """Somebody who may do nothing yet: a bucket's policy says what."""
        env = os.environ | {
            "ADMIN_ACCESS_KEY": self.access_key,
            "ADMIN_SECRET_KEY": self.secret_key,
            "ADMIN_ENDPOINT_URL": self.endpoint,
        }
        words = [
            str(binary()),
            "admin",
            "create-user",
            "--access",
            name,
            "--secret",
            secret,
            "--role",
            "user",
        ]
        subprocess.run(words, env=env, check=True, capture_output=True, timeout=PATIENCE_SECONDS)


@contextmanager
def running(home: Path) -> Iterator[ObjectStore]:
    """The server, until the block ends, with its keys in its environment alone."""
    server = binary()
    assert server is not None, NOT_TESTED
    objects = home / "objects"
    users = home / "users"
    for folder in (objects, users):
        folder.mkdir(parents=True, exist_ok=True)
    keys = {
        "ROOT_ACCESS_KEY": f"owner{secrets.token_hex(6)}",
        "ROOT_SECRET_KEY": secrets.token_urlsafe(24),
    }
    for left in reversed(range(TRIES)):
        port = free_port(0)
        words = [
            str(server),
            "--port",
            f"127.0.0.1:{port}",
            "--health",
            "/healthz",
            "--quiet",
            "--keep-alive",
            "--iam-dir",
            str(users),
            "--iam-cache-disable",
            "posix",
            str(objects),
        ]
        with (home / "server.log").open("ab") as log:
            process = subprocess.Popen(
                words, env=os.environ | keys, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            if _healthy(f"http://127.0.0.1:{port}", process):
                yield ObjectStore(
                    f"http://127.0.0.1:{port}",
                    keys["ROOT_ACCESS_KEY"],
                    keys["ROOT_SECRET_KEY"],
                    objects,
                )
                return
            assert left, (
                f"the S3 server does not start: {(home / 'server.log').read_text()[-2000:]}"
            )
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _healthy(endpoint: str, process: subprocess.Popen[bytes]) -> bool:
    """Once it says so; False where it has ended: somebody took the port before it did."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None:
        try:
            with urlopen(f"{endpoint}/healthz", timeout=patient(5)) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            assert time.monotonic() < deadline, "the S3 server is not healthy"
            time.sleep(0.05)
    return False


if __name__ == "__main__":
    try:
        binary()
    except subprocess.SubprocessError as failed:
        # The tests that need it fail, and the others do not wait.
        said = (getattr(failed, "stderr", None) or b"").decode(errors="replace")
        sys.stderr.write(f"{failed}\n{said}")
