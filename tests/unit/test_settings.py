"""An installation's settings: read from the environment, each refused by its name."""

from pathlib import Path

import pytest

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.installation import NOBODY, REPO, Settings, log_format, maintain_cron
from spark_jobs.settings.kafka.config import NOTHING
from spark_jobs.settings.roots import given_root
from spark_jobs.settings.variables import VARIABLES
from tests.harness.refused import fails


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_kafka_alone_must_be_set(monkeypatch):
    with fails(SettingInvalid, "absent", name="SLUICE_KAFKA"):
        Settings.from_environment()
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:9092")
    settings = Settings.from_environment()
    assert (settings.root, settings.jars) == (
        str(REPO / ".local" / "root"),
        REPO / "jars" / "spark",
    )


def test_every_variable_is_taken(monkeypatch):
    given = {
        "ROOT": "s3a://bucket/sluice/",
        "KAFKA": "a:1,b:2",
        "JARS": "/jars",
        "MASTER": "spark://m:7077",
        "DRIVER_MEMORY": "4g",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"SLUICE_{name}", value)
    assert Settings.from_environment() == Settings(
        "s3://bucket/sluice", "a:1,b:2", Path("/jars"), "spark://m:7077", "4g", warm="auto"
    )


@pytest.mark.parametrize(
    "given",
    [
        "s3a://key:hunter2@bucket/sluice", "s3://key:hun/hunter2@bucket/sluice",
        "gs://key:hunter2@bucket/sluice",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "read", [Settings.from_environment, given_root], ids=["all settings", "the root alone"]
)
def test_keys_in_a_root_are_refused_and_not_shown(monkeypatch, given, read):
    monkeypatch.setenv("SLUICE_KAFKA", "a:1")
    monkeypatch.setenv("SLUICE_ROOT", given)
    with fails(SettingInvalid, "keys_in_root") as raised:
        read()
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ("s3://", None),
        ("s3:///prefix", None),
        ("s3://b//p", ""),
        ("s3://b/p//q", ""),
        ("s3://b/../p", ".."),
        ("s3a://b/a b", "a b"),
        ("s3://b/a%20b", "a%20b"),
        ("s3://b/a#b", "a#b"),
        ("s3://b/p*", "p*"),
    ],
)
def test_a_root_on_s3_that_clients_read_unlike_is_refused_by_value(monkeypatch, given, part):
    monkeypatch.setenv("SLUICE_ROOT", given)
    wrong = {} if part is None else {"part": part}
    with fails(SettingInvalid, "part_odd" if wrong else "no_bucket", given=given, **wrong):
        given_root()


@pytest.mark.parametrize("given", ["s3://b", "s3://b/", "s3a://b-1.x/a_b/c=d/e.f-g/"])
def test_a_usual_root_on_s3_is_taken(monkeypatch, given):
    monkeypatch.setenv("SLUICE_ROOT", given)
    assert given_root() == given.replace("s3a:", "s3:").rstrip("/")


BROKERS = (
    "localhost",
    "localhost:",
    ":9092",
    "localhost:port",
    "a:1,,b:2",
    "a:1,b",
    "a:-1",
    "http://a:9092",
    "b:1,PLAINTEXT://a:9092",
)


@pytest.mark.parametrize(
    ("name", "value", "reason", "told"),
    [
        ("KAFKA", "", "absent", {"name": "SLUICE_KAFKA"}),  # empty counts as not set
        *(("KAFKA", each, "server_invalid", {"name": "SLUICE_KAFKA", "given": each}) for each in BROKERS),
        *(("EXECUTOR_WAIT", each, "seconds_not_positive", {"name": "SLUICE_EXECUTOR_WAIT"}) for each in ("0", "-1", "1.5", "soon")),
        *(("LOG", each, "choice_unknown", {"name": "SLUICE_LOG"}) for each in ("JSON", "logfmt", " json")),
        *(("HISTORY_DAYS", each, "days_invalid", {"value": each}) for each in ("a year", "0")),
        ("REJECTED_DAYS", "-1", "days_invalid", {"value": "-1"}),
        ("REJECTED_DAYS", "500", "rejected_days_too_many", {"rejected": "500"}),
        ("QUARANTINE_MEGABYTES", "lots", "not_positive", {"value": "lots"}),
        ("MAINTAIN_CRON", "weekly", "cron_invalid", {"value": "weekly"}),
    ],
)  # fmt: skip
def test_what_cannot_be_obeyed_is_refused_by_name_or_value(monkeypatch, name, value, reason, told):
    monkeypatch.setenv("SLUICE_KAFKA", "a:1")
    monkeypatch.setenv(f"SLUICE_{name}", value)
    with fails(SettingInvalid, reason, **told):
        Settings.from_environment()
    assert log_format() == "text", "of another form too"


@pytest.mark.parametrize("kafka", ["127.0.0.1:9092", "a:1,b:2", "a:1, b:2", "[::1]:9092"])
def test_brokers_that_are_host_and_port_are_accepted(monkeypatch, kafka):
    monkeypatch.setenv("SLUICE_KAFKA", kafka)
    assert Settings.from_environment().kafka == kafka


WITH_USER = (
    "u:hunter2@kafka:1",
    "SASL_SSL://u:hunter2@kafka:1",
    "a:1,u:hunter2@kafka:1",
    "u:hunter2@a:1,kafka:1",
    "u:hunter2@kafka",
    "u:hun,ter2@kafka:1",
    "u:hunter2@x@kafka:1",
)


@pytest.mark.parametrize("variable", ["SLUICE_KAFKA", "SLUICE_KAFKA__EU", "bootstrap.servers"])
@pytest.mark.parametrize("brokers", WITH_USER)
def test_a_user_with_a_password_before_a_broker_is_refused_and_not_shown(
    monkeypatch, tmp_path, variable, brokers
):
    monkeypatch.setenv("SLUICE_KAFKA", "b:2")
    if variable == "bootstrap.servers":
        (file := tmp_path / "kafka.properties").write_text(f"bootstrap.servers={brokers}\n")
        monkeypatch.setenv("SLUICE_KAFKA_CONFIG", str(file))
    else:
        monkeypatch.setenv(variable, brokers)
    with fails(SettingInvalid, "user_before_server", name=variable) as raised:
        Settings.from_environment(cluster="eu" if variable.endswith("EU") else "")
    said = f"{raised.value} {raised.value.parameters}"
    assert not [part for part in ("hun", "ter2") if part in said]


def test_the_declaration_of_kafka_is_read_and_its_brokers_win(monkeypatch, tmp_path):
    (file := tmp_path / "kafka.properties").write_text("bootstrap.servers=a:1\nclient.id=sluice\n")
    monkeypatch.setenv("SLUICE_KAFKA_CONFIG", str(file))
    for other in ("", "b:2"):
        monkeypatch.setenv("SLUICE_KAFKA", other)
        settings = Settings.from_environment()
        assert (settings.kafka, settings.kafka_config.librdkafka()) == (
            "a:1",
            {"client.id": "sluice"},
        )
        assert (
            settings.environment().items()
            >= {"SLUICE_KAFKA_CONFIG": str(file), "SLUICE_KAFKA": "a:1"}.items()
        )
    file.write_text("bootstrap.servers=a\n")
    with fails(SettingInvalid, "server_invalid", name="bootstrap.servers", given="a", server="a"):
        Settings.from_environment()


def test_what_the_build_publishes_goes_to_no_kafka_that_is_declared(monkeypatch, tmp_path):
    (file := tmp_path / "kafka.properties").write_text("bootstrap.servers=kafka.example:9092\n")
    for declared in (file, tmp_path / "nowhere"):
        monkeypatch.setenv("SLUICE_KAFKA_CONFIG", str(declared))
        settings = Settings.of_the_build()
        assert (settings.kafka, settings.kafka_config) == (NOBODY, NOTHING)
        assert settings.environment()["SLUICE_KAFKA_CONFIG"] == ""


def test_the_root_needs_no_other_variable_to_be_right(monkeypatch):
    monkeypatch.setenv("SLUICE_KAFKA", "no port")
    monkeypatch.setenv("SLUICE_KAFKA_CONFIG", "/nowhere")
    assert given_root() == str(REPO / ".local" / "root")
    monkeypatch.setenv("SLUICE_ROOT", "s3a://bucket/sluice/")
    assert given_root() == "s3://bucket/sluice"


def test_a_process_that_is_given_the_environment_has_the_same_settings(monkeypatch):
    settings = Settings("/root", "a:1", Path("/jars"), "local[1]", "1g")
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment() == settings


def test_a_secrets_file_is_its_owners_alone_and_is_not_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_KAFKA", "a:1")
    monkeypatch.setenv("SLUICE_SPARK_SECRET_FILE", str(file := tmp_path / "secret"))
    with fails(SettingInvalid, "secret_unreadable"):
        Settings.from_environment()
    file.touch(mode=0o600)
    with fails(SettingInvalid, "secret_empty"):
        Settings.from_environment()
    file.write_text("canary")
    assert "canary" not in str(Settings.from_environment())
    file.chmod(0o644)
    with fails(SettingInvalid, "secret_exposed"):
        Settings.from_environment()


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_form_of_the_log_is_taken_and_handed_on(form, monkeypatch):
    monkeypatch.setenv("SLUICE_KAFKA", "a:1")
    monkeypatch.setenv("SLUICE_LOG", form)
    assert Settings.from_environment().log == log_format() == form
    assert Settings.from_environment().environment()["SLUICE_LOG"] == form


def test_a_child_process_gets_every_setting(monkeypatch):
    monkeypatch.setenv("SLUICE_KAFKA", "a:1")
    monkeypatch.setenv("SLUICE_HISTORY_DAYS", "forever")
    monkeypatch.setenv("SLUICE_REJECTED_DAYS", "9")
    monkeypatch.setenv("SLUICE_MAINTAIN_CRON", "never")
    settings = Settings.from_environment()
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment() == settings
    assert (settings.history_days, settings.rejected_days) == ("forever", "9")
    assert maintain_cron() is None
