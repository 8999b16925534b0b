"""One schema registry (Apicurio, with Confluent's API), as a single JVM on loopback that keeps its
schemas in memory: what was registered is gone when it stops.

A home folder holds its pid, port and log, as a broker's does (local/jvm.py).
"""

import http.client
import time
from pathlib import Path

from local import jvm
from local.ports import free_port

START_SECONDS = 90.0
STOP_SECONDS = 15.0
API = "/apis/ccompat/v7"
"""Where Confluent's API is."""


class RegistryError(Exception):
    """The registry cannot be started; one line that says what to do."""


def start(home: Path, jars: Path) -> str:
    """Start the registry of `home` unless it runs, wait until it answers, and return the URL of
    its API.

    The port of the last time is kept if it is free. `jars` is the folder that `make setup` has
    unpacked it into.
    """
    home = home.resolve()
    with jvm.alone(home):
        if jvm.process(home) is None:
            _launch(home, jars.resolve())
    port = jvm.port(home)
    deadline = time.monotonic() + START_SECONDS
    while not _answers(port):
        if jvm.process(home) is None or time.monotonic() > deadline:
            raise RegistryError(f"the registry does not answer; see {home / 'broker.log'}")
        time.sleep(0.2)
    return f"http://127.0.0.1:{port}{API}"


def stop(home: Path) -> None:
    """Stop the registry of `home`, if it runs."""
    home = home.resolve()
    process = jvm.process(home)
    if process is None:
        return
    process.terminate()
    if not jvm.gone(home, STOP_SECONDS):
        process.kill()
        jvm.gone(home, STOP_SECONDS)


def _launch(home: Path, jars: Path) -> None:
    java = jvm.java()
    if java is None:
        raise RegistryError("no java found; install Java 17 or set JAVA_HOME to one")
    runner = next(jars.glob("apicurio-registry-app-*-runner.jar"), None)
    if runner is None:
        raise RegistryError(f"no registry in {jars}; fetch it with `make setup`")
    port = free_port(jvm.port(home))
    command = [
        java,
        *jvm.SMALL,
        "-Xmx384m",
        jvm.mark(home),
        "-Dquarkus.http.host=127.0.0.1",
        f"-Dquarkus.http.port={port}",
        "-Dregistry.disable.apis=/apis/registry/v1/.*,/apis/cncf/.*",
        "-jar",
        str(runner),
    ]
    jvm.launch(home, port, command)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", f"{API}/subjects")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()
