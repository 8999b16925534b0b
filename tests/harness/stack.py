"""The stack in containers, from a copy of its files, with secrets and a name of its own."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from local.airflow import Airflow
from local.airflow_api import Api
from local.ports import free_port
from local.stack.secrets import USER
from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient

PROJECT = "sluice-tests"
IMAGES = ("sluice:local", "postgres:15-bookworm", "apache/kafka:4.3.1", "versity/versitygw:v1.8.0")
NOT_RUN = (
    "no docker with Compose and the images of docker-compose.yml: not tested is the stack "
    "in containers"
)
START_SECONDS = 1200
SECONDS = 1800
PEM_LINE = re.compile(r"^[A-Za-z0-9+/=]{40,}$", re.MULTILINE)
PUBLIC = {"kafka_ca"}
"""A certificate is for everybody."""


def there() -> bool:
    """Whether the stack can run on this machine."""
    words = (
        ["docker", "compose", "version"],
        *(["docker", "image", "inspect", image] for image in IMAGES),
    )
    return shutil.which("docker") is not None and all(
        subprocess.run(command, capture_output=True, check=False).returncode == 0
        for command in words
    )


class Stack(NamedTuple):
    """One that runs. `home` has its compose file and its secrets."""

    home: Path
    port: int

    def compose(self, *words: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
        """Run `docker compose`, which must succeed, or raises with its output."""
        done = self.tried(*words, seconds=seconds)
        assert done.returncode == 0, (
            f"docker compose {' '.join(words)}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
        return done

    def tried(self, *words: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
        command = ["docker", "compose", "--project-name", PROJECT, "--profile", "demo", *words]
        environment = {**os.environ, "SLUICE_UI_PORT": str(self.port)}
        return subprocess.run(
            command,
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def up(self) -> None:
        """Start what does not run, and wait until all of it is healthy."""
        services = self.compose("config", "--services").stdout.split()
        self.compose(
            "up",
            "--detach",
            "--wait",
            "--wait-timeout",
            str(START_SECONDS - 60),
            *(name for name in services if name != "producer"),
            seconds=START_SECONDS,
        )

    def python(self, service: str, code: str) -> str:
        """What a Python program prints in a running container."""
        return self.compose("exec", "-T", service, "python", "-c", code).stdout

    def containers(self) -> list[dict[str, Any]]:
        """What `docker inspect` says of each, ended ones too."""
        ids = self.compose("ps", "--all", "--quiet").stdout.split()
        told = subprocess.run(
            ["docker", "inspect", *ids], capture_output=True, text=True, check=True
        )
        return list(json.loads(told.stdout))

    def id(self, service: str) -> str:
        return self.compose("ps", "--quiet", service).stdout.strip()

    def copy(self, service: str, path: str, into: Path) -> Path:
        """A folder of a container, copied."""
        subprocess.run(
            ["docker", "cp", "--quiet", f"{self.id(service)}:{path}", str(into)],
            check=True,
            capture_output=True,
            timeout=SECONDS,
        )
        return into

    def page(self, path: str) -> httpx.Response:
        """What a view answers the administrator's browser."""
        at = f"http://127.0.0.1:{self.port}"
        with httpx.Client(base_url=at, timeout=patient(60), follow_redirects=True) as client:
            login = {"username": USER, "password": self._password()}
            token = client.post("/auth/token", json=login).json()["access_token"]
            headers = {"authorization": f"Bearer {token}", "accept": "text/html"}
            return client.get(f"/sluice{path}", headers=headers)

    def _password(self) -> str:
        file = self.home / ".stack" / "secrets" / "airflow_passwords"
        return str(json.loads(file.read_text())[USER])

    def airflow(self) -> Api:
        """A session with its Airflow."""
        password = self._password()
        return Api(Airflow(self.home / "nowhere", f"http://127.0.0.1:{self.port}", USER, password))

    def canaries(self) -> dict[str, set[str]]:
        """What nobody may see of each secret."""
        found = {}
        for file in sorted((self.home / ".stack" / "secrets").iterdir()):
            if file.name not in PUBLIC:
                found[file.name] = _secret_parts(file.read_text())
        return found


def _secret_parts(text: str) -> set[str]:
    key, _, _ = text.partition("-----BEGIN CERTIFICATE-----")
    if "PRIVATE KEY" in key:
        return set(PEM_LINE.findall(key))
    declared = re.findall(r"(?:password|secret_access_key) *= *(\S+)", text)
    inside = re.findall(r'"admin": "([^"]+)"|://airflow:([^@]+)@', text)
    return set(declared) or {one for pair in inside for one in pair if one} or {text.strip()}


@contextmanager
def running(home: Path) -> Iterator[Stack]:
    """The stack until the block ends; its data go with it."""
    shutil.copy(REPO / "docker-compose.yml", home)
    shutil.copytree(REPO / "docker", home / "docker")
    who = f"{os.geteuid()}:{os.getegid()}"
    subprocess.run(
        [
            *f"docker run --rm --network none --user {who} --volume".split(),
            f"{home}:/project",
            *f"{IMAGES[0]} python -m local.stack.secrets /project".split(),
        ],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    stack = Stack(home, free_port(0))
    try:
        stack.up()
        yield stack
    finally:
        stack.tried("down", "--volumes", "--timeout", "20")
