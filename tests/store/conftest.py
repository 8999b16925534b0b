"""A real S3 server, a bucket with the documented policy, and the lane's session told of both."""

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from s3fs import S3FileSystem

from spark_jobs.storage.root.store import Store
from tests.harness.broker import kafka
from tests.harness.object_store import NOT_TESTED, ObjectStore, binary, running
from tests.harness.process import PIPELINES, none_left
from tests.harness.scene import Scene
from tests.harness.session import spark, surroundings
from tests.store.root import Root

__all__ = ["kafka", "spark"]
POLICY = Path(__file__).parents[2] / "docs" / "object-store-policy.json"


@pytest.fixture(scope="package")
def server(tmp_path_factory) -> Iterator[ObjectStore]:
    """One for the folder."""
    if binary() is None:
        pytest.skip(NOT_TESTED)
    with running(tmp_path_factory.mktemp("object-store")) as started:
        yield started


@pytest.fixture(scope="package")
def store(server) -> ObjectStore:
    """It, as somebody sees it with the rights of docs/deploy.md in one bucket alone."""
    user = server._replace(
        access_key=f"sluice{secrets.token_hex(6)}", secret_key=f"canary-{secrets.token_urlsafe(18)}"
    )
    server.user(user.access_key, user.secret_key)
    return user


@pytest.fixture(scope="package")
def bucket(server, store) -> str:
    """Made by its owner, who lets the user in by the documented policy."""
    name = server.bucket()
    text = POLICY.read_text().replace("BUCKET", name)
    policy = json.loads(text)
    for statement in policy["Statement"]:
        statement["Principal"] = {"AWS": [store.access_key]}
    server.client().put_bucket_policy(Bucket=name, Policy=json.dumps(policy))
    return name


@pytest.fixture(scope="package", autouse=True)
def as_submitted(kafka, spark, store):
    """The environment of a drain; its JVM began without the store's keys, and is told of them."""
    with surroundings(kafka) as patch:
        for name, value in {
            **store.variables,
            "SLUICE_PIPELINES": PIPELINES,
            "AWS_ALLOW_HTTP": "true",
        }.items():
            patch.setenv(name, value)
        hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - it has no Python form
        keys = {"fs.s3a.access.key": store.access_key, "fs.s3a.secret.key": store.secret_key}
        for name, value in {**Store.from_environment().s3a_options(), **keys}.items():
            hadoop.set(name, value)
        yield


@pytest.fixture(autouse=True)
def none_outlives_its_test():
    """No drain in a process of its own does, and no client of s3fs, which keeps its first keys."""
    with none_left():
        yield
    S3FileSystem.clear_instance_cache()


@pytest.fixture
def scene(kafka, bucket, store, tmp_path) -> Callable[..., Scene]:
    """Make a scene for a pipeline, under a prefix of its own."""

    def make(pipeline: str, **given: Any) -> Scene:
        # A store for each step: the same requests as with two, and fewer of them.
        made = Scene(kafka, tmp_path, pipeline, **{"stores": 1} | given)
        return Root(store, bucket).under(made)

    return make
