"""One declaration of the object store, said to each client; and what the clients say, in words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from spark_jobs.errors import JarsMissing, RootRefused, SettingInvalid
from spark_jobs.launch import submit
from spark_jobs.messages.job import Drain
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.storage import object_store
from spark_jobs.storage.object_store import client, refuse_unusable
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.storage.root.store import Store, is_remote, is_s3, sluice_url, translate_store_error
from tests.harness.refused import fails
from tests.harness.serving import Handler, serving

ENDPOINT = "http://127.0.0.1:7070"


@pytest.fixture(autouse=True)
def nothing_is_declared(monkeypatch):
    for name in (
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "SLUICE_S3_PATH_STYLE",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("root", "remote", "s3"),
    [
        ("/data", False, False),
        ("file:///data", False, False),
        ("s3://b/p", True, True),
        ("s3a://b/p", True, True),
        ("gs://b/p", True, False),
        ("memory://b/p", True, False),
    ],
)
def test_a_root_is_a_folder_of_this_machine_or_in_a_store(root, remote, s3):
    assert (is_remote(root), is_s3(root)) == (remote, s3)


def test_spark_calls_it_by_another_scheme_and_a_disk_as_it_is():
    assert (spark_url("s3://b/p"), sluice_url("s3a://b/p"), spark_url("/data")) == (
        "s3a://b/p",
        "s3://b/p",
        "/data",
    )


def test_amazons_own_needs_nothing_and_no_client_is_told_of_an_endpoint():
    store = Store.from_environment()
    assert store == Store("", "", path_style=False)
    assert store.s3fs_options()["client_kwargs"] == {}
    assert "endpoint" not in store.delta_options("s3://b/p")
    assert "fs.s3a.endpoint" not in store.s3a_options()
    assert store.s3a_options()["fs.s3a.path.style.access"] == "false"


def test_an_endpoint_is_told_to_every_client_with_the_bucket_in_the_path(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"{ENDPOINT}/")
    store = Store.from_environment()
    assert store == Store(ENDPOINT, "us-east-1", path_style=True)
    assert store.s3fs_options()["client_kwargs"] == {
        "endpoint_url": ENDPOINT,
        "region_name": "us-east-1",
    }
    delta = store.delta_options("s3://b/p")
    assert (
        delta.items()
        >= {"endpoint": ENDPOINT, "allow_http": "true", "conditional_put": "etag"}.items()
    )
    assert (
        store.obstore_options("s3://b/p").items()
        >= {"endpoint": ENDPOINT, "conditional_put": "etag"}.items()
    )
    assert (
        store.s3a_options().items()
        >= {"fs.s3a.endpoint": ENDPOINT, "fs.s3a.path.style.access": "true"}.items()
    )


@contextmanager
def asked_of_a_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The URL of each request to a store that has nothing: a proxy, so no host needs an address."""
    asked: list[str] = []

    class Nothing(Handler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            self.answer(404)

    with serving(Nothing) as server:
        for name in ("NO_PROXY", "no_proxy", "http_proxy"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "HTTP_PROXY": f"http://127.0.0.1:{server.server_port}",
        }.items():
            monkeypatch.setenv(name, value)
        yield asked


@pytest.mark.parametrize(
    ("path_style", "endpoint", "asked_for"),
    [
        ("true", "http://store.test:9000", "http://store.test:9000/bucket/prefix/x"),
        ("false", "http://bucket.store.test:9000", "http://bucket.store.test:9000/prefix/x"),
    ],
)
def test_the_bucket_is_in_the_path_or_in_the_host_and_no_part_of_a_key_is_taken_for_it(
    monkeypatch, path_style, endpoint, asked_for
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.test:9000")
    monkeypatch.setenv("SLUICE_S3_PATH_STYLE", path_style)
    assert Store.from_environment().delta_options("s3a://bucket/prefix/t")["endpoint"] == endpoint
    with asked_of_a_store(monkeypatch) as asked, pytest.raises(FileNotFoundError):
        obstore.head(client("s3://bucket/prefix"), "x")
    assert asked == [asked_for]


def test_a_process_asks_for_its_keys_once_and_again_if_it_is_told_of_others(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    first = client("s3://bucket/prefix")
    assert client("s3://bucket/prefix") is first
    assert client("s3://bucket/other") is not first
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "two")
    assert client("s3://bucket/prefix") is not first


@pytest.mark.parametrize("left_out", [str, dict])
def test_a_store_that_leaves_a_condition_of_a_put_out_is_refused(monkeypatch, left_out):
    store, put = MemoryStore(), obstore.put
    monkeypatch.setattr(object_store, "client", lambda _: store)
    refuse_unusable("s3://bucket/root")

    def careless(store: Any, path: str, content: bytes, *, mode: Any = "overwrite") -> Any:
        return put(store, path, content, mode="overwrite" if type(mode) is left_out else mode)

    monkeypatch.setattr(obstore, "put", careless)
    with fails(RootRefused, "no_conditional_put"):
        refuse_unusable("s3://bucket/root")
    assert obstore.list_with_delimiter(store)["objects"] == [], "what was put is taken away"


def test_what_is_said_wrongly_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("SLUICE_S3_PATH_STYLE", "yes")
    with fails(SettingInvalid, "path_style_unknown"):
        Store.from_environment()
    monkeypatch.setenv("SLUICE_S3_PATH_STYLE", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:7070")
    with fails(
        SettingInvalid, "endpoint_no_url", name="AWS_ENDPOINT_URL", endpoint="127.0.0.1:7070"
    ):
        Store.from_environment()


@pytest.mark.parametrize("named", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_what_is_wrong_with_an_endpoint_is_said_of_the_variable_that_counts_and_keys_in_it_are_not_shown(
    monkeypatch, named
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:7070")
    monkeypatch.setenv(named, "store:7070")
    with fails(SettingInvalid, "endpoint_no_url"):
        Store.from_environment()
    monkeypatch.setenv(named, "https://key:canary@store:7070")
    with fails(SettingInvalid, "keys_in_endpoint") as raised:
        Store.from_environment()
    assert "canary" not in str(raised.value)


@pytest.fixture
def installed(tmp_path) -> Settings:
    """With every jar that is looked for, empty."""
    for name in ("spark/delta-spark_0.jar", "spark/sluice-files.jar", "s3/hadoop-aws-0.jar"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return Settings("s3://b/p", "127.0.0.1:1", tmp_path / "spark", "local[2]", "1g")


def test_the_jars_of_s3_are_behind_all_others_and_on_the_class_path_of_no_other_run(installed):
    there = installed
    elsewhere = installed._replace(root="/data")
    assert submit.environment(there)["SPARK_DIST_CLASSPATH"].endswith(
        f"{installed.jars.parent}/s3/*"
    )
    assert "SPARK_DIST_CLASSPATH" not in submit.environment(elsewhere)
    confs = [submit.configuration(settings) for settings in (there, elsewhere)]
    assert confs[0]["spark.driver.extraClassPath"] == confs[1]["spark.driver.extraClassPath"]
    assert "hadoop-aws" in confs[0]["spark.executor.extraClassPath"]
    assert not [name for name in confs[1] if "s3a" in name]
    assert confs[0]["spark.delta.logStore.s3a.impl"] == "sluice.store.ConditionalLogStore"


@pytest.mark.parametrize("gone", ["s3/hadoop-aws-0.jar", "spark/sluice-files.jar"])
def test_a_run_without_them_is_refused_and_one_on_a_disk_is_not(installed, gone):
    (installed.jars.parent / gone).unlink()
    with fails(JarsMissing, "s3_jars_absent"):
        submit.configuration(installed)
    submit.configuration(installed._replace(root="/data"))


def test_no_key_is_among_what_spark_is_told(installed, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "canary")
    job = Drain(pipeline="flight_events", report="/r.json", run_id="run")
    assert "canary" not in str(submit.command(installed, job))
    assert "canary" not in str(submit.environment(installed))


def test_the_page_leads_to_the_policies_that_the_tests_run_under():
    docs = REPO / "docs"
    page = (docs / "deploy.md").read_text()
    assert "(object-store-policy.json)" in page
    assert "(object-store-policy-read.json)" in page


SAID = r"""
RootUnreachable | Generic S3 error: Error performing PUT http://h/b in 1ms - error sending request | no connection
RootUnreachable | botocore.exceptions.ClientError: An error occurred (SlowDown) when calling PutObject | 503
RootRefused | botocore.exceptions.ClientError: An error occurred (InvalidAccessKeyId) when calling | the access key
RootRefused | : java.io.IOException: x\nCaused by: software.amazon.awssdk.services.s3.model.S3Exception: Access Denied (403) | does not allow
RootRefused | obstore.exceptions.PermissionDeniedError: 403 Forbidden: <Code>RequestTimeTooSkewed</Code> | Set this
RootRefused | Generic S3 error: Received redirect without LOCATION, this normally indicates an incorrectly configured region | Set AWS_REGION to the bucket's
RootRefused | botocore.exceptions.ClientError: An error occurred (AuthorizationHeaderMalformed) when calling the PutObject operation | another region
RootRefused | Generic S3 error: Server returned non-2xx status code: 501 Not Implemented | conditional puts
RootRefused | Generic S3 error: Server returned non-2xx status code: 404 Not Found: <?xml version="1.0"?>\n<Error><Code>NoSuchBucket</Code> | the bucket does not exist
RootRefused | Kernel error -> The operation lacked the necessary privileges\n  ↳ Error performing GET http://h/b in 2ms - Server returned non-2xx status code: 403 Forbidden | does not allow
NoneType | Parquet error: Error performing GET http://h/b/part.parquet in 503.1ms: Requested range was invalid | None
NoneType | [Errno 111] Connection refused | None
NoneType | kafka.errors.TimeoutException: timed out\n\tat org.apache.hadoop.fs.s3a.S3AException.x | None
NoneType | botocore.exceptions.ClientError: An error occurred (404) when calling the HeadObject operation: Not Found | None
"""


@pytest.mark.parametrize(
    ("error", "text", "said"), [line.split(" | ") for line in SAID.strip().splitlines()]
)
def test_what_a_client_says_is_told_in_words_and_what_others_say_is_not(error, text, said):
    found = translate_store_error(RuntimeError(text.replace("\\n", "\n").replace("\\t", "\t")))
    assert type(found).__name__ == error
    assert said in str(found)
