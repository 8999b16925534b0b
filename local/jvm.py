"""The process of a broker or a registry: found, started and waited for, by its home folder."""

import fcntl
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil  # type: ignore[import-untyped, unused-ignore]

from spark_jobs.install.environment import java

__all__ = ["SMALL", "alone", "command", "gone", "java", "launch", "mark", "port", "process"]
DETACHED = '"$@" >>broker.log 2>&1 </dev/null & echo $!'


SMALL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a JVM that lives for seconds, or has little to do: half the processor time."""


def command(home: Path, jars: Path, java: str) -> list[str]:
    """The start of a command line for one of Kafka's main classes, to be run in `home`."""
    return [
        java,
        *SMALL,
        "-Xmx512m",
        "-Dlog4j2.configurationFile=log4j2.properties",
        mark(home),
        "-cp",
        f"{jars}/*",
    ]


def launch(home: Path, port: int, command: Sequence[str]) -> None:
    """Start `command` in `home`, with an empty broker.log, and record it in broker.json."""
    (home / "broker.log").write_text("")
    # A shell in a session of its own starts the JVM and leaves: Ctrl-C here does not reach the
    # broker, and it is nobody's child, so it leaves no zombie behind.
    shell = ["/bin/sh", "-c", DETACHED, "sh", *command]
    launched = subprocess.run(
        shell, cwd=home, stdout=subprocess.PIPE, text=True, check=True, start_new_session=True
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"pid": int(launched.stdout), "port": port, "started": now}
    (home / "broker.json").write_text(json.dumps(record))


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """One start at a time: two would launch two, and format a broker's disk twice."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def port(home: Path) -> int:
    """The port of the broker of `home`, now or the last time; 0 when it never ran."""
    return _recorded(home).get("port", 0)


def process(home: Path) -> psutil.Process | None:
    """The live process of `home`, known by its pid and by the home in its command line, as pids are
    used again.
    """
    try:
        found = psutil.Process(_recorded(home)["pid"])
        return found if mark(home) in found.cmdline() else None
    except (KeyError, psutil.Error):
        return None


def gone(home: Path, seconds: float) -> bool:
    """Wait until the process of `home` has ended; False when it has not in `seconds`."""
    deadline = time.monotonic() + seconds
    while process(home) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def mark(home: Path) -> str:
    """The property by which its process is known again."""
    return f"-Dsluice.home={home}"


def _recorded(home: Path) -> dict[str, int]:
    try:
        record = json.loads((home / "broker.json").read_text())
        return {"pid": int(record["pid"]), "port": int(record["port"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
