"""What `make stack` says where this machine cannot do it: by a docker that is none, so these need
none.
"""

import re
import subprocess
from pathlib import Path

import pytest

from spark_jobs.settings.installation import REPO
from tests.harness.ran import ran

# Answers as the real one does; FAKE_... says what is wrong with it.
DOCKER = """#!/bin/sh
case "$1 $2" in
  "version --format") [ -z "$FAKE_DEAD" ] || { echo "Cannot connect to the Docker daemon" >&2; exit 1; }; echo 28.2.2;;
  "compose version") [ -n "$FAKE_COMPOSE" ] || exit 1; echo "$FAKE_COMPOSE";;
  "volume inspect") [ "$3" = "$FAKE_VOLUME" ];;
  "compose ps") case " $FAKE_HEALTHY " in *" $3 "*) said=healthy;; *) said=unhealthy;; esac; echo "$3 Up 3 minutes ($said)";;
  "compose --profile") echo "$*";;
  *) exit 2;;
esac
"""
FINE = {"FAKE_COMPOSE": "2.40.3", "FAKE_VOLUME": "", "FAKE_DEAD": ""}


def _run(home: Path, *words: str, **wrong: str) -> subprocess.CompletedProcess[str]:
    """A command that finds this docker first."""
    (home / "bin").mkdir(exist_ok=True)
    (home / "bin" / "docker").write_text(DOCKER)
    (home / "bin" / "docker").chmod(0o755)
    return ran(*words, cwd=home, env={"PATH": f"{home / 'bin'}:/usr/bin:/bin", **FINE, **wrong})


def _said(home: Path, wanted: str, **wrong: str) -> str:
    """What is wrong; empty where nothing is."""
    done = _run(home, str(REPO / "docker" / "ready"), wanted, **wrong)
    assert (done.returncode, done.stdout) == (int(bool(done.stderr)), "")
    assert done.stderr.count("\n") == done.returncode
    return done.stderr


@pytest.mark.parametrize("wanted", ["image", "compose", "secrets"])
def test_nothing_is_said_where_all_is_there(tmp_path, wanted):
    assert _said(tmp_path, wanted) == ""


def test_a_machine_without_docker_is_told_what_to_install(tmp_path):
    done = ran(str(REPO / "docker" / "ready"), "image", cwd=tmp_path, env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr.startswith("error: docker is missing")
    assert "apt-get install docker.io" in done.stderr


def test_a_docker_that_does_not_answer_is_told_of_in_its_own_words(tmp_path):
    assert "Cannot connect to the Docker daemon. Start it" in _said(
        tmp_path, "image", FAKE_DEAD="1"
    )


def test_an_image_needs_no_compose_and_a_stack_does(tmp_path):
    assert _said(tmp_path, "image", FAKE_COMPOSE="") == ""
    assert "'docker compose' is missing" in _said(tmp_path, "compose", FAKE_COMPOSE="")


@pytest.mark.parametrize(
    ("version", "old"),
    [
        ("1.29.2", True),
        ("2.16.0", True),
        ("2.9.0", True),
        ("dev", False),
        ("2.17.0", False),
        ("v2.40.3", False),
        ("2.20.2+ds1-0ubuntu1~22.04.1", False),
        ("5.0.1", False),
    ],
)
def test_a_compose_that_is_too_old_is_named_with_what_is_needed(tmp_path, version, old):
    said = _said(tmp_path, "compose", FAKE_COMPOSE=version)
    assert said == (
        f"error: docker compose is {version}: 2.17 or newer is needed.\n" if old else ""
    )


def test_a_volume_of_other_secrets_is_told_of_before_new_ones_are_made(tmp_path):
    assert "the volume sluice_postgres is there" in _said(
        tmp_path, "secrets", FAKE_VOLUME="sluice_postgres"
    )
    assert _said(tmp_path, "compose", FAKE_VOLUME="sluice_postgres") == ""
    (tmp_path / ".env").write_text("COMPOSE_PROJECT_NAME=mine\n")
    assert _said(tmp_path, "secrets", FAKE_VOLUME="sluice_postgres") == ""
    assert "the volume mine_postgres is there" in _said(
        tmp_path, "secrets", FAKE_VOLUME="mine_postgres"
    )
    (tmp_path / ".stack" / "secrets").mkdir(parents=True)
    assert _said(tmp_path, "secrets", FAKE_VOLUME="mine_postgres") == ""


def test_every_target_that_starts_docker_looks_first_whether_it_can():
    recipes = dict(
        re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)+)", (REPO / "Makefile").read_text(), re.MULTILINE)
    )
    started = {
        name: recipe
        for name, recipe in recipes.items()
        if re.search(r"@docker |\$\(STACK\)", recipe)
    }
    assert set(started) == {"image", "stack", "stack-secrets", "stack-demo", "stack-down"}
    for name in set(started) - {"stack"}:
        assert started[name].startswith("\t@docker/ready "), name
    assert re.search(r"^stack: stack-ready ", (REPO / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("healthy", "missing"),
    [
        ("airflow-scheduler airflow-dag-processor", None),
        ("airflow-scheduler", "airflow-dag-processor"),
        ("", "airflow-scheduler"),
    ],
)
def test_the_demo_plays_in_a_stack_that_is_healthy_and_leaves_its_containers_alone(
    tmp_path, healthy, missing
):
    done = _run(
        tmp_path,
        "make",
        "-C",
        str(REPO),
        "--no-print-directory",
        "stack-demo",
        FAKE_HEALTHY=healthy,
    )
    assert (done.returncode == 0) is (missing is None), done
    if missing:
        assert f"error: {missing} is not healthy here" in done.stderr
    assert done.stdout == (
        "" if missing else "compose --profile demo run --rm --no-deps producer\n"
    )
