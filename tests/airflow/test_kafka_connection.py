"""Airflow's connection to Kafka: read without its provider, and handed to Spark by a file."""

import json
import os
import time
from pathlib import Path

import pytest
from airflow.sdk._shared.secrets_masker import SecretsMasker

from sluice_airflow.connections import kafka
from spark_jobs.errors import KafkaConfigInvalid, SettingInvalid
from spark_jobs.settings.kafka.config import KafkaConfig
from tests.harness.certificates import Authority
from tests.harness.refused import fails
from tests.harness.roots import ROOT

EXTRA = {
    "bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
    "sasl.username": "reader", "sasl.password": "canary",
    "enable.ssl.certificate.verification": True,
}  # fmt: skip


@pytest.fixture
def connected(monkeypatch, tmp_path) -> pytest.MonkeyPatch:
    """The connection is there, and the temporary folder is the test's."""
    monkeypatch.setenv(
        "AIRFLOW_CONN_SLUICE_KAFKA", json.dumps({"conn_type": "kafka", "extra": EXTRA})
    )
    monkeypatch.delenv("SLUICE_KAFKA", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return monkeypatch


def test_it_says_all_that_a_properties_file_would(connected):
    settings = kafka.task_settings()
    assert settings.kafka == "a:1"
    assert settings.kafka_config.librdkafka()["sasl.password"] == "canary"
    assert (settings.kafka_config.path, settings.environment()["SLUICE_KAFKA_CONFIG"]) == ("", "")


def test_brokers_that_it_does_not_name_are_the_installations(connected):
    connected.setenv(
        "AIRFLOW_CONN_SLUICE_KAFKA", '{"conn_type": "kafka", "extra": {"client.id": "sluice"}}'
    )
    connected.setenv("SLUICE_KAFKA", "b:2")
    assert kafka.task_settings().kafka == "b:2"


def test_a_topics_cluster_has_a_connection_of_its_own(connected):
    own = {"conn_type": "kafka", "extra": {"bootstrap.servers": "eu:1"}}
    connected.setenv("AIRFLOW_CONN_SLUICE_KAFKA_EU", json.dumps(own))
    assert [kafka.task_settings(name).kafka for name in ("", "eu")] == ["a:1", "eu:1"]
    with fails(SettingInvalid, "cluster_unknown", connection="sluice_kafka_us"):
        kafka.task_settings("us")


def test_without_it_the_installations_declaration_is_in_force(connected, tmp_path):
    connected.delenv("AIRFLOW_CONN_SLUICE_KAFKA")
    (tmp_path / "kafka.properties").write_text("bootstrap.servers=c:3\n")
    connected.setenv("SLUICE_KAFKA_CONFIG", str(tmp_path / "kafka.properties"))
    assert kafka.task_settings().kafka == "c:3"
    with kafka.config_in_file(kafka.task_settings()) as settings:
        assert settings.environment()["SLUICE_KAFKA_CONFIG"] == str(tmp_path / "kafka.properties")


@pytest.mark.parametrize(
    ("connection", "reason", "told"),
    [
        ({"conn_type": "http"}, "not_a_kafka_connection", {"kind": "http"}),
        ({"conn_type": "kafka", "host": "a"}, "field_outside_extra", {"field": "host"}),
        ({"conn_type": "kafka", "password": "canary"}, "field_outside_extra", {"field": "password"}),
        (
            {"conn_type": "kafka", "extra": {"sasl.pasword": "canary"}},
            "property_misspelt",
            {"name": "sasl.pasword", "close": "sasl.password"},
        ),
        ({"conn_type": "kafka", "extra": "sasl.password=canary"}, "extra_not_json", {}),
        ({"conn_type": "kafka", "extra": ["canary"]}, "extra_no_object", {"kind": "a list"}),
        ({"conn_type": "kafka", "extra": "null"}, "extra_no_object", {"kind": "null"}),
        (
            {"conn_type": "kafka", "extra": {"sasl.password": None}},
            "property_no_scalar",
            {"name": "sasl.password", "kind": "null"},
        ),
        (
            {"conn_type": "kafka", "extra": {"sasl.password": ["canary"]}},
            "property_no_scalar",
            {"name": "sasl.password", "kind": "a list"},
        ),
        (
            {"conn_type": "kafka", "extra": {"sasl": {"password": "canary"}}},
            "property_no_scalar",
            {"name": "sasl", "kind": "an object"},
        ),
    ],
)  # fmt: skip
def test_what_it_says_otherwise_is_refused_by_name(connected, connection, reason, told):
    connected.setenv("AIRFLOW_CONN_SLUICE_KAFKA", json.dumps(connection))
    with fails(KafkaConfigInvalid, reason, source="connection 'sluice_kafka'", **told) as raised:
        kafka.task_settings()
    assert "canary" not in str(raised.value)


def test_its_secrets_are_masked_in_the_tasks_log(connected):
    masked: list[str] = []
    connected.setattr(kafka, "mask_secret", masked.append)
    kafka.task_settings()
    assert masked == ["canary"]


def test_a_private_key_is_masked_line_by_line_as_a_log_has_it(connected, tmp_path):
    """By Airflow's own masker: a pattern of many lines is found in no line."""
    pair = Authority("a test").pair("reader")
    properties = {
        "security.protocol": "SSL",
        "ssl.certificate.pem": pair.certificate,
        "ssl.key.pem": pair.key,
    }
    connected.setenv(
        "AIRFLOW_CONN_SLUICE_KAFKA", json.dumps({"conn_type": "kafka", "extra": properties})
    )
    connected.setenv("SLUICE_KAFKA", "a:1")
    masker = SecretsMasker()
    connected.setattr(kafka, "mask_secret", masker.add_mask)
    kafka.task_settings()
    lines = pair.key.splitlines()
    assert [masker.redact(f"said: {line}") for line in lines[1:-1]] == ["said: ***"] * (
        len(lines) - 2
    )
    assert masker.redact(lines[0]) == lines[0], "that a key follows is no secret"


def test_another_process_finds_it_in_its_owners_file_which_goes_with_the_task(connected, tmp_path):
    with kafka.config_in_file(kafka.task_settings()) as settings:
        file = Path(settings.environment()["SLUICE_KAFKA_CONFIG"])
        assert KafkaConfig.read(str(file)) == settings.kafka_config
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_task_left_the_next_removes_and_not_what_another_uses(connected, tmp_path):
    left = tmp_path / f"{kafka.PREFIX}left"
    left.mkdir()
    (left / "lock").touch()
    (left / "kafka.properties").write_text("sasl.password=canary")
    an_hour_ago = time.time() - 3600
    os.utime(left, (an_hour_ago, an_hour_ago))
    found = kafka.task_settings()
    assert not left.exists(), "plan asks for no more than this"
    with kafka.config_in_file(found) as first:
        used = Path(first.kafka_config.path)
        os.utime(used.parent, (an_hour_ago, an_hour_ago))
        with kafka.config_in_file(kafka.task_settings()):
            assert used.exists()


def test_a_drain_is_submitted_with_the_file_and_without_a_secret_and_ends_without_the_file(
    connected, submitted, tmp_path
):
    connected.setenv("SLUICE_ROOT", str(tmp_path / ROOT))
    connected.delenv("AIRFLOW_CONN_SLUICE_KAFKA")
    config = KafkaConfig.of({**EXTRA, "enable.ssl.certificate.verification": "true"}, "x")
    connected.setattr(kafka, "kafka_connection", lambda _: config)
    submitted(
        f'echo "$@" >{tmp_path}/words',
        f"env >{tmp_path}/env",
        f'cat "$SLUICE_KAFKA_CONFIG" >{tmp_path}/read',
    )
    assert "sasl.password=canary" in (tmp_path / "read").read_text()
    assert "canary" not in (tmp_path / "words").read_text() + (tmp_path / "env").read_text()
    assert list(tmp_path.glob(f"{kafka.PREFIX}*")) == []
