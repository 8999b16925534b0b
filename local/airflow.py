"""A real Airflow on this machine: api-server, scheduler and DAG processor on loopback, metadata in
SQLite.

A home folder holds all there is of it: its port and password, the components' logs, Airflow's own
configuration, database and task logs. It outlives the process that started it.

Not `airflow standalone`: that adds a triggerer, which nothing here needs, a log server on all
addresses, and says that it is ready by the clock.
"""

import json
import secrets
import shlex
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import NamedTuple

import httpx
import psutil  # type: ignore[import-untyped, unused-ignore]

from local.airflow_settings import BIN, MARK, USER, environment
from local.ports import free_port

COMPONENTS = {
    "api-server": "api-server",
    # Its log server would listen on all addresses; the api-server reads the same files.
    "scheduler": "scheduler --skip-serve-logs",
    "dag-processor": "dag-processor",
}
PARTS = ("metadatabase", "scheduler", "dag_processor")
"""What has to be healthy, in the words of Airflow's health page."""
PASSWORDS = "passwords.json"
START_SECONDS = 180.0
STOP_SECONDS = 5.0
POLL_SECONDS = 0.25
LAUNCH = 'sh -c "$1" >/dev/null 2>&1 </dev/null &'


class AirflowError(Exception):
    """Airflow cannot do what it was asked; one line that says what to do."""


class Airflow(NamedTuple):
    """One that runs."""

    home: Path
    url: str
    user: str
    password: str


def prepare(home: Path) -> None:
    """Make the database of `home`, unless it is there: half of the time that a first
    start takes.
    """
    home = home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    _migrate(home, environment(home, port=0, schedule=False))


def start(home: Path, variables: Mapping[str, str], *, schedule: bool) -> Airflow:
    """Start the Airflow of `home` unless it runs, and wait until its scheduler and DAG processor
    are healthy.

    `variables` are set for every task. With `schedule` the DAGs run by their cron too, without it
    only when triggered.

    Raises AirflowError when it ends or is not healthy within START_SECONDS.
    """
    home = home.resolve()
    if running(home) is None:
        stop(home)
        prepare(home)
        port = free_port(_port(home))
        _launch(home, port, environment(home, port, schedule=schedule) | dict(variables))
    try:
        _wait(home)
    except BaseException:
        stop(home)
        raise
    return _airflow(home)


def stop(home: Path) -> bool:
    """End every process of the Airflow of `home`, tasks and their Spark included.

    False when none was running.
    """
    home = home.resolve()
    members = _members(home)
    for signal in (SIGTERM, SIGKILL):
        for process in members:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal)
        psutil.wait_procs(members, timeout=STOP_SECONDS)
        # Looked up again: a component that is ending may have started one more.
        ended = bool(members)
        members = _members(home)
        if not members:
            return ended
    message = f"processes {[process.pid for process in members]} of {home} do not end"
    raise AirflowError(message)


def running(home: Path) -> Airflow | None:
    """The Airflow of `home` if its processes are alive, all of them."""
    home = home.resolve()
    return (
        _airflow(home)
        if (home / PASSWORDS).exists() and _members(home) and not _ended(home)
        else None
    )


def _migrate(home: Path, environment: Mapping[str, str]) -> None:
    """Make the database, or bring it to this Airflow's version.

    It takes 5 seconds, so not when it is known to be so.
    """
    stamp = home / "migrated"
    wanted = version("apache-airflow")
    if stamp.exists() and stamp.read_text() == wanted:
        return
    done = subprocess.run(
        [BIN / "airflow", "db", "migrate"],
        cwd=home,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        message = f"Airflow's database cannot be made: {_last_lines(done.stdout + done.stderr)}"
        raise AirflowError(message)
    stamp.write_text(wanted)


def _launch(home: Path, port: int, environment: Mapping[str, str]) -> None:
    """Start the components under a shell that leads them, in a session of its own."""
    (home / "port").write_text(str(port))
    password = home / PASSWORDS
    if not password.exists():
        password.touch(mode=0o600)
        password.write_text(json.dumps({USER: secrets.token_urlsafe(9)}))
    (home / "ended").unlink(missing_ok=True)
    airflow = shlex.quote(str(BIN / "airflow"))
    lines = (
        f"{{ {airflow} {words} >{name}.log 2>&1; echo {name} >>ended; }} &"
        for name, words in COMPONENTS.items()
    )
    script = "\n".join((*lines, "wait"))
    # Launched by a shell that leaves: nobody's child, so it leaves no zombie behind, and Ctrl-C
    # here does not reach it.
    subprocess.run(
        ["/bin/sh", "-c", LAUNCH, "sh", script],
        cwd=home,
        env=dict(environment),
        check=True,
        start_new_session=True,
    )


def _wait(home: Path) -> None:
    """Until Airflow says that it is healthy; raises AirflowError when a component has ended or
    START_SECONDS have passed.
    """
    deadline = time.monotonic() + START_SECONDS
    unwell = ["api-server"]
    with httpx.Client(base_url=_airflow(home).url, timeout=5) as client:
        while time.monotonic() < deadline:
            for name in _ended(home):
                log = home / f"{name}.log"
                message = (
                    f"Airflow's {name} ended; the end of {log}: "
                    f"{_last_lines(log.read_text(errors='replace'))}"
                )
                raise AirflowError(message)
            try:
                health = client.get("/api/v2/monitor/health").json()
                unwell = [part for part in PARTS if health[part]["status"] != "healthy"]
            except (httpx.HTTPError, ValueError):
                pass
            if not unwell:
                return
            time.sleep(POLL_SECONDS)
    message = (
        f"Airflow's {', '.join(unwell)} not healthy after {START_SECONDS:.0f} s; see the "
        f"logs in {home}"
    )
    raise AirflowError(message)


def _airflow(home: Path) -> Airflow:
    password = json.loads((home / PASSWORDS).read_text())[USER]
    return Airflow(home, f"http://127.0.0.1:{_port(home)}", USER, password)


def _members(home: Path) -> list[psutil.Process]:
    """Every live process of the Airflow of `home`, known by the mark in its environment, which all
    that it starts inherit.
    """
    members = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == str(
                home
            ):
                members.append(process)
        except psutil.Error:
            continue
    return members


def _ended(home: Path) -> list[str]:
    """The components that have ended since the launch."""
    path = home / "ended"
    return path.read_text().split() if path.exists() else []


def _port(home: Path) -> int:
    """The port of this Airflow, now or the last time; 0 when it never ran."""
    path = home / "port"
    return int(path.read_text()) if path.exists() else 0


def _last_lines(text: str) -> str:
    return " | ".join(line.strip() for line in text.splitlines()[-4:] if line.strip()) or "(empty)"
