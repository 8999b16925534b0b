"""Airflow's connection to the object store: read without its provider, and handed on by a file."""

import json
import os
import secrets

import pytest
from airflow.sdk._shared.secrets_masker import redact
from botocore.session import Session

from sluice_airflow.connections import root
from spark_jobs.errors import SettingInvalid
from spark_jobs.storage.root.store import Store
from tests.harness.refused import fails
from tests.unit.specs import OURS, deployed

NAME = "flight_events"
CONNECTION = {
    "conn_type": "aws",
    "login": "KEY",
    "password": "canary",
    "extra": {"endpoint_url": "http://127.0.0.1:1", "region_name": "eu-west-1"},
}


@pytest.fixture
def connected(monkeypatch, tmp_path) -> pytest.MonkeyPatch:
    """The connection is there, and so are keys of the worker's; the folder is the test's."""
    monkeypatch.setenv("AIRFLOW_CONN_SLUICE_ROOT", json.dumps(CONNECTION))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "the worker's")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return monkeypatch


def test_the_keys_are_in_a_file_of_the_owners_and_everything_is_as_before_when_the_task_ends(
    connected, tmp_path
):
    before = dict(os.environ)
    with root.root_credentials(NAME) as file:
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert file.read_text().splitlines() == [
            "[sluice_root]",
            "aws_access_key_id = KEY",
            "aws_secret_access_key = canary",
        ]
        assert os.environ["AWS_SHARED_CREDENTIALS_FILE"] == str(file)
        assert (os.environ["AWS_PROFILE"], os.environ["AWS_REGION"]) == ("sluice_root", "eu-west-1")
        assert os.environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
        assert "AWS_ACCESS_KEY_ID" not in os.environ, "the worker's would win over the profile"
        assert not [
            name
            for name, value in os.environ.items()
            if "canary" in value and name != "AIRFLOW_CONN_SLUICE_ROOT"
        ]
    assert (dict(os.environ), list(tmp_path.iterdir())) == (before, [])


def test_it_wins_over_a_role_and_an_endpoint_of_the_workers(connected, tmp_path):
    workers = {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:2",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
        "AWS_ROLE_ARN": "arn:aws:iam::1:role/worker",
    }
    for name, value in workers.items():
        connected.setenv(name, value)
    with root.root_credentials(NAME):
        assert Store.from_environment().endpoint == "http://127.0.0.1:1"
        found = Session().get_credentials()
        assert (found.method, found.access_key) == ("shared-credentials-file", "KEY")
    assert os.environ.items() >= workers.items()


def test_without_it_and_without_keys_in_it_the_workers_own_are_in_force(connected):
    connected.setenv(
        "AIRFLOW_CONN_SLUICE_ROOT", '{"conn_type": "aws", "extra": {"region_name": "eu-west-1"}}'
    )
    with root.root_credentials(NAME) as file:
        assert file is None
        assert (os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_REGION"]) == (
            "the worker's",
            "eu-west-1",
        )
    connected.delenv("AIRFLOW_CONN_SLUICE_ROOT")
    with root.root_credentials(NAME) as file:
        assert file is None
        assert os.environ["AWS_ACCESS_KEY_ID"] == "the worker's"


@pytest.mark.parametrize(
    ("change", "reason", "told"),
    [
        ({"conn_type": "http"}, "not_an_aws_connection", {"kind": "http"}),
        ({"password": None}, "half_a_key", {"lacking": "no secret key"}),
        ({"login": None}, "half_a_key", {"lacking": "no access key"}),
        ({"extra": {"role_arn": "canary"}}, "extra_unknown", {"first": "role_arn"}),
    ],
)
def test_what_it_says_otherwise_is_refused_by_name(connected, change, reason, told):
    changed = {key: value for key, value in {**CONNECTION, **change}.items() if value}
    connected.setenv("AIRFLOW_CONN_SLUICE_ROOT", json.dumps(changed))
    told |= {"source": "connection 'sluice_root'"}
    with fails(SettingInvalid, reason, **told) as raised, root.root_credentials(NAME):
        pass
    assert "canary" not in str(raised.value)


def test_a_pipeline_with_a_root_of_its_own_uses_that_roots_connection_and_no_other(
    connected, tmp_path
):
    deployed(tmp_path, connected, OURS.replace("pipeline()", "pipeline(root='eu')"))
    with root.root_credentials("sales_hourly") as file:
        assert file is None
        assert os.environ["AWS_ACCESS_KEY_ID"] == "the worker's"
    named = json.dumps(CONNECTION | {"login": "EU"})
    connected.setenv("AIRFLOW_CONN_SLUICE_ROOT_EU", named)
    with root.root_credentials("sales_hourly") as file:
        assert "aws_access_key_id = EU" in file.read_text()
    connected.setenv("AIRFLOW_CONN_SLUICE_ROOT_EU", named.replace("aws", "http"))
    with (
        fails(SettingInvalid, "not_an_aws_connection", source="connection 'sluice_root_eu'"),
        root.root_credentials("sales_hourly"),
    ):
        pass


def test_its_secrets_are_masked_in_the_tasks_log(connected):
    secret = secrets.token_hex(8)
    connected.setenv("AIRFLOW_CONN_SLUICE_ROOT", json.dumps(CONNECTION | {"password": secret}))
    assert redact(f"key {secret}") == f"key {secret}"
    with root.root_credentials(NAME):
        assert redact(f"key {secret}") == "key ***"


def test_a_drain_is_submitted_with_the_profile_and_without_a_key(connected, submitted, tmp_path):
    connected.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    connected.setenv("SLUICE_ROOT", "s3://bucket/root")
    submitted(
        f'echo "$@" >{tmp_path}/words',
        f"env | grep -v AIRFLOW_CONN >{tmp_path}/env",
        f'cat "$AWS_SHARED_CREDENTIALS_FILE" >{tmp_path}/read',
        jars=("spark/delta-spark_0.jar", "spark/sluice-files.jar", "s3/hadoop-aws-0.jar"),
    )
    assert "aws_secret_access_key = canary" in (tmp_path / "read").read_text()
    assert "canary" not in (tmp_path / "words").read_text() + (tmp_path / "env").read_text()
    assert "AWS_PROFILE=sluice_root" in (tmp_path / "env").read_text()
    assert list(tmp_path.glob(f"{root.PREFIX}*")) == []
