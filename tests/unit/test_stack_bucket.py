"""What `local.stack.bucket` lets each user of the stack's store do, asked of a real server."""

import json

import pytest
from botocore.exceptions import ClientError

from local.stack import bucket
from local.stack.bucket import BUCKET
from spark_jobs.settings.installation import REPO
from tests.harness.object_store import NOT_TESTED, ObjectStore, binary, running

KEY = "root/ops/runs/_delta_log/00000000000000000000.json"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """With the bucket and its users, made twice, and another bucket."""
    if binary() is None:
        pytest.skip(NOT_TESTED)
    folder = tmp_path_factory.mktemp("secrets")
    with (
        running(tmp_path_factory.mktemp("store")) as started,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(bucket, "HOST", started.endpoint.removeprefix("http://"))
        patch.setattr(bucket, "SECRETS", folder)
        root = started.access_key, started.secret_key
        for name, (access, secret) in {
            "root": root, "sluice": ("sluice-1", "s" * 32), "views": ("views-1", "v" * 32)
        }.items():  # fmt: skip
            text = f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n"
            (folder / f"store_{name}").write_text(text)
        bucket.main()
        bucket.main()
        started.client().put_object(Bucket=BUCKET, Key=KEY, Body=b"{}")
        started.client().create_bucket(Bucket="another")
        started.client().put_object(Bucket="another", Key=KEY, Body=b"{}")
        yield started


def _as(store: ObjectStore, user: str):
    keys = bucket.Keys.read(bucket.SECRETS / f"store_{user}")
    return store._replace(access_key=keys.access, secret_key=keys.secret).client()


def _refused(ask, **given):
    with pytest.raises(ClientError) as refused:
        ask(**given)
    return refused.value.response["Error"]["Code"] == "AccessDenied"


def test_the_views_key_reads_this_bucket_and_changes_nothing(store):
    views = _as(store, "views")
    assert views.get_object(Bucket=BUCKET, Key=KEY)["Body"].read() == b"{}"
    assert views.head_object(Bucket=BUCKET, Key=KEY)["ContentLength"] == 2
    assert [each["Key"] for each in views.list_objects_v2(Bucket=BUCKET)["Contents"]] == [KEY]
    one = {"Bucket": BUCKET, "Key": KEY}
    assert _refused(views.put_object, **one, Body=b"other")
    assert _refused(views.put_object, Bucket=BUCKET, Key="root/new", Body=b"")
    assert _refused(views.delete_object, **one)
    several = views.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": KEY}]})
    assert [each["Code"] for each in several["Errors"]] == ["AccessDenied"]
    assert _refused(views.create_multipart_upload, **one)
    copied = {"Bucket": BUCKET, "Key": "root/copy", "CopySource": f"{BUCKET}/{KEY}"}
    assert _refused(views.copy_object, **copied)
    assert _refused(views.put_bucket_policy, Bucket=BUCKET, Policy="{}")
    assert _refused(views.delete_bucket, Bucket=BUCKET)
    assert store.client().get_object(**one)["Body"].read() == b"{}"
    assert store.client().list_objects_v2(Bucket=BUCKET)["KeyCount"] == 1


@pytest.mark.parametrize("user", ["views", "sluice"])
def test_no_user_has_a_right_in_another_bucket(store, user):
    client = _as(store, user)
    assert _refused(client.list_objects_v2, Bucket="another")
    assert _refused(client.get_object, Bucket="another", Key=KEY)
    assert _refused(client.put_object, Bucket="another", Key="new", Body=b"")
    assert _refused(client.create_bucket, Bucket="a-third")


def test_a_run_s_key_writes_reads_and_removes(store):
    runs, one = _as(store, "sluice"), {"Bucket": BUCKET, "Key": "root/written"}
    runs.put_object(**one, Body=b"x")
    assert runs.get_object(**one)["Body"].read() == b"x"
    runs.delete_object(**one)


@pytest.mark.parametrize(
    ("file", "user"), [("object-store-policy", "sluice"), ("object-store-policy-read", "views")]
)
def test_the_stack_gives_what_the_documented_policy_gives(file, user):
    text = (REPO / "docs" / f"{file}.json").read_text().replace("BUCKET", BUCKET)
    stack = bucket.policy({user: bucket.RIGHTS[user]})
    assert [each | {"Principal": {"AWS": [user]}} for each in json.loads(text)["Statement"]] == (
        stack["Statement"]
    )
