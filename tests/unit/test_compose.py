"""docker-compose.yml as it is written: what holds without docker, and so is always tested."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.settings.installation import REPO

TEXT = (REPO / "docker-compose.yml").read_text()
STACK: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
SECRETIVE = re.compile(r"PASSWORD|SECRET|KEY|TOKEN|CONN$|CREDENTIALS", re.IGNORECASE)
each = pytest.mark.parametrize("name", SERVICES)


@each
def test_a_container_may_do_as_little_as_possible(name):
    service = SERVICES[name]
    assert re.fullmatch(r"\$\{SLUICE_UID:\?[^}]+\}:\$\{SLUICE_GID:\?[^}]+\}", service["user"])
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["init"] is True
    assert not {"privileged", "cap_add", "devices", "pid", "ipc", "userns_mode", "env_file"} & set(
        service
    )
    assert service.get("network_mode", "none") == "none"
    assert not any("docker.sock" in str(mount) for mount in service.get("volumes", []))


@each
def test_a_container_has_limits_and_its_log_an_end(name):
    service = SERVICES[name]
    assert service["mem_limit"]
    assert service["cpus"] <= 2
    assert service["pids_limit"]
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}
    assert service["restart"] in {"unless-stopped", "on-failure:5", "no"}
    assert service["stop_grace_period"]


def test_only_the_ui_is_published_and_only_on_loopback():
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"airflow-api": ["127.0.0.1:${SLUICE_UI_PORT:-8080}:8080"]}


def test_all_networks_but_that_of_the_ui_lead_nowhere():
    assert {name for name, network in STACK["networks"].items() if not network.get("internal")} == {
        "ui"
    }
    assert [name for name, service in SERVICES.items() if "ui" in service.get("networks", [])] == [
        "airflow-api"
    ]
    assert all(
        "networks" in service or service.get("network_mode") == "none"
        for service in SERVICES.values()
    )


@each
def test_no_secret_is_in_an_environment_or_a_command(name):
    service = SERVICES[name]
    for variable, value in service.get("environment", {}).items():
        if SECRETIVE.search(variable.removesuffix("_CMD").removesuffix("_FILE")):
            # Airflow's list of passwords is a copy in memory: docker/entrypoint.
            assert (
                str(value).removeprefix("cat ").startswith("/run/secrets/")
                or value == "/tmp/passwords.json"
            ), variable
    words = [str(word) for key in ("command", "entrypoint") for word in service.get(key, [])]
    assert not any(SECRETIVE.search(word) for word in words)
    assert not re.search(r"://[^/\s:]+:[^/\s@]+@", TEXT)


def test_each_secret_is_a_file_that_git_ignores_and_that_somebody_needs():
    assert {".stack/", ".env"} <= set((REPO / ".gitignore").read_text().splitlines())
    assert STACK["secrets"] == {
        name: {"file": f".stack/secrets/{name}"} for name in STACK["secrets"]
    }
    used = {name for service in SERVICES.values() for name in service.get("secrets", [])}
    assert used == set(STACK["secrets"])


def test_the_authoritys_key_and_other_keys_of_one_service_stay_where_they_belong():
    readers = {
        secret: {name for name, service in SERVICES.items() if secret in service.get("secrets", [])}
        for secret in STACK["secrets"]
    }
    assert "kafka_ca_key" not in readers
    assert (readers["postgres_password"], readers["kafka_broker"]) == ({"postgres"}, {"kafka"})
    assert (readers["kafka_admin"], readers["store_root"]) == ({"topics"}, {"store", "bucket"})
    airflow = {"migrate", "airflow-api", "airflow-scheduler"}
    keys = ("airflow_fernet_key", "airflow_jwt_secret", "airflow_api_secret")
    assert [readers[key] for key in keys] == [airflow] * 3, "none for the specs' own process"


@each
def test_a_container_has_the_secrets_that_its_environment_names(name):
    named = set(re.findall(r"/run/secrets/(\w+)", str(SERVICES[name].get("environment"))))
    assert named <= set(SERVICES[name].get("secrets", []))


def test_airflow_knows_every_option_that_it_is_given():
    spec = find_spec("airflow")
    assert spec
    assert spec.origin
    options = yaml.safe_load(
        (Path(spec.origin).parent / "config_templates" / "config.yml").read_text()
    )
    given = set(
        re.findall(r"AIRFLOW__([A-Z_]+?)__([A-Z_]+)", TEXT + (REPO / "Dockerfile").read_text())
    )
    assert len(given) > 15
    for section, name in given:
        option = (
            options.get(section.lower(), {})
            .get("options", {})
            .get(name.removesuffix("_CMD").lower())
        )
        assert option, f"Airflow has no option {name} in {section}"
        # By a command come secrets alone: Airflow does not look for one elsewhere.
        assert not name.endswith("_CMD") or option.get("sensitive"), name


def test_the_metadata_are_out_of_reach_for_whoever_touches_records_but_those_that_the_page_names():
    networks = {name: set(service.get("networks", [])) for name, service in SERVICES.items()}
    both = {name for name, of_it in networks.items() if {"metadata", "data"} <= of_it}
    assert both == {"airflow-scheduler", "producer"}
    [said] = re.findall(
        r"handle records the\s+scheduler can reach Postgres, and so can the demo's `(\w+)`",
        (REPO / "docs" / "deploy.md").read_text(),
    )
    assert both == {"airflow-scheduler", said}


def test_the_views_share_a_network_with_what_they_read_and_write_nowhere():
    sharing = {name for name, each in SERVICES.items() if "views" in each.get("networks", [])}
    assert sharing == {"airflow-api", "kafka", "store"}
    views = SERVICES["airflow-api"]
    assert "data" not in views["networks"]
    assert {mount for mount in views["volumes"] if not mount.endswith(":ro")} == set()
    assert {"kafka_sluice", "store_sluice"} & set(views["secrets"]) == set()
    assert (
        views["environment"]["SLUICE_ROOT"]
        == SERVICES["airflow-scheduler"]["environment"]["SLUICE_ROOT"]
    )


def test_where_spark_runs_there_is_room_for_the_threads_of_two_drains_on_a_machine_of_many_cores():
    """A JVM of Spark has some 200; Python with numpy has one for every core of the host."""
    drains, processes, cores = 2, 8, 64
    for name in ("airflow-scheduler", "spark-worker"):
        assert SERVICES[name]["pids_limit"] >= drains * 200 + processes * cores * 2


def test_what_is_copied_into_the_image_is_for_everybody_whatever_the_clones_umask_was():
    text = (REPO / "Dockerfile").read_text()
    last = text[text.rindex("\nFROM ") :]
    copied = set(re.findall(r"^COPY (?!--from)(\w+) \1$", text, re.MULTILINE)) - {"requirements"}
    [opened] = re.findall(r"chmod -R a\+rX ([\w ]+)$", last, re.MULTILINE)
    assert copied == {"spark_jobs", "plugins", "dags", "local", "docker"} == set(opened.split())
