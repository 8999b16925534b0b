"""No server, wrong keys, no bucket: one line, within half a minute, without a key."""

import socket
import time

import pytest
from s3fs import S3FileSystem
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import RootRefused, RootUnreachable
from tests.harness.object_store import ObjectStore

LIMIT_SECONDS = 30
COMMANDS = (
    ("plan", "flight_events"),
    ("show", "runs"),
    ("doctor", "flight_events"),
    ("state", "flight_events"),
    ("reset", "flight_events"),
)
MISSING = "sluice-no-such-bucket"


@pytest.fixture(autouse=True)
def no_client_is_known():
    """s3fs keeps a client for each declaration, with the keys that it began with."""
    S3FileSystem.clear_instance_cache()


def wrong_secret(store: ObjectStore, bucket: str) -> tuple[dict[str, str], str]:
    return {"AWS_SECRET_ACCESS_KEY": "canary-that-is-wrong"}, f"s3://{bucket}/words"


def unknown_key(store: ObjectStore, bucket: str) -> tuple[dict[str, str], str]:
    return {"AWS_ACCESS_KEY_ID": "NOBODY"}, f"s3://{bucket}/words"


def no_bucket(store: ObjectStore, bucket: str) -> tuple[dict[str, str], str]:
    return {}, f"s3://{MISSING}/words"


def no_server(store: ObjectStore, bucket: str) -> tuple[dict[str, str], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{probe.getsockname()[1]}"
        }, f"s3://{bucket}/words"


@pytest.mark.parametrize("command", COMMANDS, ids=[command[0] for command in COMMANDS])
@pytest.mark.parametrize(
    ("declare", "error", "said"),
    [
        (wrong_secret, RootRefused, "the secret key does not match the access key"),
        (unknown_key, RootRefused, "it does not know the access key"),
        (no_bucket, RootRefused, "the bucket does not exist, and Sluice creates none"),
        (no_server, RootUnreachable, "there was no connection to it"),
    ],
)
def test_a_store_that_cannot_be_used_is_told_in_one_line(
    server, bucket, monkeypatch, command, declare, error, said
):
    variables, root = declare(server, bucket)
    for name, value in {**server.variables, **variables, "SLUICE_ROOT": root}.items():
        monkeypatch.setenv(name, value)
    began = time.monotonic()
    done = CliRunner().invoke(app, [*command])
    assert time.monotonic() - began < LIMIT_SECONDS
    assert done.exit_code == error.exit_status, done.output + repr(done.exception)
    [line] = done.output.splitlines()
    assert line.startswith(error.code)
    assert said in line
    assert "canary" not in line
    assert server.secret_key not in line
    assert server.access_key not in line
    assert MISSING not in [each["Name"] for each in server.client().list_buckets()["Buckets"]]
