"""The pages of the stack's API server: they show what its drains did, and say what they cannot read."""

import html
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from spark_jobs.registry import find as registry
from tests.harness.patience import patient
from tests.harness.stack import Stack

NAME = "departure_delays"
TABS = ("", "/coverage", "/rejected", "/state", "/repair")
DEMO = "run --rm producer python -m local.stack.demo --months 1 --deliveries 6 --last 1"
REFUSES = """
import json
from local.stack import bucket
root = bucket.Keys.read(bucket.SECRETS / "store_root")
runs = bucket.Keys.read(bucket.SECRETS / "store_sluice")
policy = bucket.policy({runs.access: bucket.RIGHTS["sluice"]})
bucket._asked(root, "PUT", f"/{bucket.BUCKET}", {"policy": ""}, json.dumps(policy))
"""
"""The store lets in those who run, and not the API server."""
LIMIT_SECONDS = 20
PATIENCE_SECONDS = patient(120)


def _pipelines(stack: Stack) -> dict[str, dict[str, object]]:
    found = json.loads(stack.page("/api/pipelines").text)
    assert found["lacking"] is None
    return {each["pipeline"]: each for each in found["pipelines"]}


@pytest.fixture(scope="module")
def drained(stack) -> Stack:
    """Each pipeline has drained: in the tests before, or now."""
    if not any(each["runs"] for each in _pipelines(stack).values()):
        stack.compose(*DEMO.split())
    return stack


def _told(stack: Stack, code: str, said: str):
    """Every page that reads the root says this, and the form of a repair is there."""
    for path in ("/", f"/dags/{NAME}", *(f"/pipelines/{NAME}{tab}" for tab in TABS[:-1])):
        began = time.monotonic()
        page = stack.page(path)
        assert time.monotonic() - began < LIMIT_SECONDS, path
        text = html.unescape(page.text)
        assert (page.status_code, code in text, said in text) == (503, True, True), text
    assert stack.page(f"/pipelines/{NAME}/repair").status_code == 200


@contextmanager
def _meanwhile(stack: Stack, service: str, do: str, undo: str) -> Iterator[None]:
    """What is done to the service holds within the block; behind it the service is healthy."""
    stack.compose(do, service)
    try:
        yield
    finally:
        stack.compose(undo, service)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while _health(stack, service) != "healthy":
            assert time.monotonic() < deadline, service
            time.sleep(1)


def _health(stack: Stack, service: str) -> str:
    told = ["docker", "inspect", "--format", "{{.State.Health.Status}}", stack.id(service)]
    return subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip()


def test_the_pages_show_what_the_drains_did(drained):
    known = _pipelines(drained)
    assert known.keys() == {*registry.names()}
    assert all(each["runs"] and each["lacking"] is None for each in known.values())
    for name in registry.names():
        for tab in TABS:
            page = drained.page(f"/pipelines/{name}{tab}")
            assert page.status_code in {200, 409}, page.text
    assert known[NAME]["runs"][0]["run_id"] in drained.page(f"/pipelines/{NAME}").text
    assert "is not known here" not in drained.page(f"/pipelines/{NAME}/coverage").text


def test_kafka_that_is_gone_is_told_on_the_page_of_coverage(drained):
    with _meanwhile(drained, "kafka", "stop", "start"):
        time.sleep(61)  # its last answer counts for a minute
        text = html.unescape(drained.page(f"/pipelines/{NAME}/coverage").text)
        assert "Which records Kafka no longer has is not known here." in text
        assert drained.page(f"/pipelines/{NAME}").status_code == 200


def test_a_store_that_is_gone_that_stands_still_and_that_refuses_is_told(drained):
    with _meanwhile(drained, "store", "pause", "unpause"):
        _told(drained, "ROOT_UNREACHABLE", "s3://sluice/root")
    with _meanwhile(drained, "store", "stop", "start"):
        _told(drained, "ROOT_UNREACHABLE", "http://store:7070")
    asks = ("run", "--rm", "--no-deps", "bucket", "python", "-c", REFUSES)
    drained.compose(*asks)
    try:
        _told(drained, "ROOT_REFUSED", "it does not allow the request")
    finally:
        drained.compose("run", "--rm", "--no-deps", "bucket")
    assert _pipelines(drained)[NAME]["runs"]
