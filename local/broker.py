"""One Kafka broker, its own controller (KRaft), as a single JVM on loopback.

A home folder holds all there is of it: `broker.json` (pid, port, started), `server.properties`,
`broker.log` and `data/`. The broker outlives the process that started it.
"""

import base64
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from local import jvm
from local.ports import free_port
from local.properties import FOREVER, LOG4J, Secured, server_properties

START_SECONDS = 60.0
STOP_SECONDS = 15.0


class BrokerError(Exception):
    """The broker cannot do what it was asked; one line that says what to do."""


def start(home: Path, jars: Path, secured: Secured | None = None, ahead_ms: int = FOREVER) -> str:
    """Start the broker of `home` unless it runs, wait until it answers, and return its bootstrap
    servers.

    The port of the last time is kept if it is free. `jars` is the folder of Kafka's jars. Those of
    `secured` listen too. Kafka timestamps more than `ahead_ms` ahead of its clock are refused.

    Raises BrokerError when there is no Java, there are no jars, or the broker does not answer in
    START_SECONDS.
    """
    home = home.resolve()
    with jvm.alone(home):
        if jvm.process(home) is None:
            _launch(home, jars.resolve(), secured, ahead_ms)
        _wait(home)
        return _bootstrap(home)


def stop(home: Path) -> bool:
    """Stop the broker of `home`: SIGTERM, and SIGKILL after STOP_SECONDS.

    False when none was running.
    """
    home = home.resolve()
    process = jvm.process(home)
    if process is None:
        return False
    process.terminate()
    if not jvm.gone(home, STOP_SECONDS):
        process.kill()
        jvm.gone(home, STOP_SECONDS)
    return True


def running(home: Path) -> str | None:
    """The bootstrap servers of the broker of `home` if its process is alive."""
    home = home.resolve()
    return _bootstrap(home) if jvm.process(home) else None


def create_topic(
    bootstrap: str, topic: str, partitions: int, config: Mapping[str, str] | None = None
) -> None:
    """Create `topic` unless it is there, and return once every partition has a leader.

    Raises BrokerError when it is there with another number of partitions, or cannot be created.
    """
    admin = _admin(bootstrap)
    future = admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])[topic]
    try:
        future.result()
    except KafkaException as problem:
        error = problem.args[0]
        if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            # Negative codes are the client's own: the broker did not say anything.
            hint = "; is the broker running?" if error.code() < 0 else ""
            message = f"topic {topic} cannot be created at {bootstrap}: {error.str()}{hint}"
            raise BrokerError(message) from problem
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        found = admin.list_topics(topic, timeout=STOP_SECONDS).topics[topic].partitions
        if found and len(found) != partitions:
            message = (
                f"topic {topic} has {len(found)} partitions, not {partitions}; give that "
                "number or another topic"
            )
            raise BrokerError(message)
        if found and all(partition.leader >= 0 for partition in found.values()):
            return
    message = f"topic {topic} has no leader after {STOP_SECONDS:.0f} s; see the broker's log"
    raise BrokerError(message)


def _launch(home: Path, jars: Path, secured: Secured | None, ahead_ms: int) -> None:
    java = jvm.java()
    if java is None:
        message = "no java found; install Java 17 or set JAVA_HOME to one"
        raise BrokerError(message)
    if not any(jars.glob("kafka_*.jar")):
        message = f"no Kafka in {jars}; fetch its jars with `make setup`"
        raise BrokerError(message)
    port = free_port(jvm.port(home))
    (home / "server.properties").write_text(
        server_properties(port, free_port(0), secured, ahead_ms)
    )
    (home / "log4j2.properties").write_text(LOG4J)
    command = jvm.command(home, jars, java)
    if not (home / "data" / "meta.properties").exists():
        _format(home, command)
    jvm.launch(home, port, [*command, "kafka.Kafka", "server.properties"])


def _format(home: Path, command: list[str]) -> None:
    """Give the empty data folder its cluster id, without which Kafka does not start."""
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # One argument with "=": an id may begin with a dash, which would read as an option.
    tool = [
        *command,
        "kafka.tools.StorageTool",
        "format",
        f"--cluster-id={cluster}",
        "-c",
        "server.properties",
    ]
    done = subprocess.run(tool, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = f"{home / 'data'} cannot be formatted: {_last_lines(done.stdout + done.stderr)}"
        raise BrokerError(message)


def _wait(home: Path) -> None:
    """Until the broker answers; raises BrokerError when its process has died or START_SECONDS have
    passed.
    """
    admin = _admin(_bootstrap(home))
    deadline = time.monotonic() + START_SECONDS
    state = "does not answer"
    while time.monotonic() < deadline:
        try:
            if admin.list_topics(timeout=1).brokers:
                return
        except KafkaException:
            pass
        if jvm.process(home) is None:
            state = "died"
            break
    lines = _last_lines((home / "broker.log").read_text(errors="replace"))
    message = f"the broker {state}; the end of {home / 'broker.log'}: {lines}"
    raise BrokerError(message)


def _bootstrap(home: Path) -> str:
    return f"127.0.0.1:{jvm.port(home)}"


def _admin(bootstrap: str) -> AdminClient:
    # Refused connections are expected while the broker starts: no log lines, and the next try soon.
    return AdminClient(
        {"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 200}
    )


def _last_lines(text: str) -> str:
    """The last four lines as one, without the frames of Java's stack traces."""
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")
    ]
    return " | ".join(lines[-4:]) or "(empty)"
