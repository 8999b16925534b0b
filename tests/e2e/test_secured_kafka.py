"""Kafka with security, by a real broker and authorizer: who is let in, and who is turned away."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AclOperation

from local.broker import create_topic
from spark_jobs.errors import KafkaRefused, by_code
from spark_jobs.launch.submit import configuration, environment
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.source.positions import Positions
from spark_jobs.source.topic_state import newest_record, topic_state
from tests.harness.long_form import long_form
from tests.harness.patience import patient
from tests.harness.process import Running
from tests.harness.ran import ran
from tests.harness.roots import ROOT
from tests.harness.scene import Scene
from tests.harness.secured_broker import Broker, running
from tests.harness.token_server import Issuer
from tests.harness.turns import alike

CANARY = "canary7f3a"
"""In every secret; letters that no escaping changes."""
HOSTILE = CANARY + " \"quoted\" 'single' back\\slash \\n semi;colon $dollar #hash = é漢"
PLAIN = f"{CANARY} plain, and long enough"
LIMIT_SECONDS = 30
"""Of asking; how long a process takes is the machine's doing too."""
PATIENCE_SECONDS = patient(120)
READER = REPO / "tests" / "harness" / "secured_reader.py"
TOPIC = "flights"
TEXTS = [
    HOSTILE, '"', "\\", "'", ";", '\\\\"', " edge ", "a=b:c#d!e", "\t", "Ā\u2028é😀", "\\u0041",
    "*/", "//x",
]  # fmt: skip


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[Broker]:
    """One for all: a topic, users of every mechanism who may read it, and others who may not."""
    issuer = Issuer("oauth", f"{CANARY}&secret")
    with (
        running(tmp_path_factory.mktemp("secured"), {"plain": PLAIN}, issuer) as it,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SLUICE_KAFKA", it.admin)
        create_topic(it.admin, TOPIC, 4)
        for user in ("scram", "describer", "nobody"):
            it.scram_user(user, HOSTILE)
        for user in ("plain", "scram", "mutual", "oauth"):
            it.allow(user, AclOperation.READ, TOPIC)
        it.allow("describer", AclOperation.DESCRIBE, TOPIC)
        yield it


def tls(broker: Broker, listener: str = "tls", **changes: str) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.at(listener),
        "security.protocol": "SSL",
        "ssl.ca.location": str(broker.files / "ca.crt"),
        **changes,
    }


def sasl(broker: Broker, mechanism: str, user: str, password: str) -> dict[str, str]:
    return tls(broker, "sasl") | {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def oauth(broker: Broker, secret: str = f"{CANARY}&secret") -> dict[str, str]:
    return tls(broker, "sasl") | {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.client.id": "oauth",
        "sasl.oauthbearer.client.secret": secret,
        "sasl.oauthbearer.token.endpoint.url": broker.token_url,
        "https.ca.location": str(broker.files / "ca.crt"),
    }


def mutual(broker: Broker, name: str = "reader", **changes: str) -> dict[str, str]:
    return tls(broker, "mutual") | {
        "ssl.certificate.location": str(broker.files / f"{name}.crt"),
        "ssl.key.location": str(broker.files / f"{name}.key"),
        **changes,
    }


def welcome(broker: Broker) -> dict[str, dict[str, str]]:
    """Every way of being let in."""
    return {
        "tls": tls(broker),
        "mutual": mutual(broker),
        "mutual with a password on the key": mutual(
            broker, "hidden", **{"ssl.key.password": "opens the key"}
        ),
        "plain": sasl(broker, "PLAIN", "plain", PLAIN),
        "scram 256": sasl(broker, "SCRAM-SHA-256", "scram", HOSTILE),
        "scram 512": sasl(broker, "SCRAM-SHA-512", "scram", HOSTILE),
        "oauth": oauth(broker),
    }


WAYS = (
    "tls", "mutual", "mutual with a password on the key", "plain", "scram 256", "scram 512",
    "oauth",
)  # fmt: skip


def settings(properties: dict[str, str], root: str = "/nowhere") -> Settings:
    config = KafkaConfig.of(properties, "a test")
    return Settings(root, config.brokers, Path("/nowhere"), "local[2]", "1g", kafka_config=config)


@pytest.mark.parametrize("way", WAYS)
def test_a_look_up_is_let_in(broker, way):
    found = topic_state(settings(welcome(broker)[way]), TOPIC)
    assert found.earliest.partitions == found.latest.partitions == (0, 1, 2, 3)
    newest = newest_record(settings(welcome(broker)[way]), TOPIC, found.latest.partitions)
    assert (newest is None) == (Positions().count(found.latest) == 0)


def turned_away(broker: Broker) -> dict[str, tuple[dict[str, str], tuple[str, ...]]]:
    """Every way of being turned away, and what the error must say of it."""
    stranger = str(broker.files / "stranger.crt")
    return {
        "PLAIN, wrong password": (sasl(broker, "PLAIN", "plain", CANARY), ("user 'plain'", "sasl.password", "PLAIN")),
        "SCRAM, wrong password": (sasl(broker, "SCRAM-SHA-512", "scram", CANARY), ("user 'scram'", "sasl.password", "SCRAM-SHA-512")),
        "SCRAM, no such user": (sasl(broker, "SCRAM-SHA-512", "stranger", CANARY), ("user 'stranger'", "sasl.username")),
        "OAUTHBEARER, wrong secret": (oauth(broker, CANARY), ("user 'oauth'", "sasl.oauthbearer.client.secret")),
        "authority unknown": (tls(broker, **{"ssl.ca.location": stranger}), ("ssl.ca.location", broker.at("tls"))),
        "certificate expired": (tls(broker, "expired"), ("certificate has expired", "Renew", broker.at("expired"))),
        "another host's certificate": (tls(broker, "elsewhere"), ("not valid for '127.0.0.1'", "bootstrap.servers")),
        "no certificate": (tls(broker, "mutual"), ("ssl.certificate.location",)),
        "no right at all": (sasl(broker, "SCRAM-SHA-512", "nobody", HOSTILE), ("user 'nobody' to DESCRIBE topic 'flights'", "kafka-acls.sh")),
        "DESCRIBE alone": (sasl(broker, "SCRAM-SHA-512", "describer", HOSTILE), ("user 'describer' to READ topic", "User:describer")),
    }  # fmt: skip


@pytest.mark.parametrize(
    "way",
    [
        "PLAIN, wrong password", "SCRAM, wrong password", "SCRAM, no such user",
        "OAUTHBEARER, wrong secret", "authority unknown", "certificate expired",
        "another host's certificate", "no certificate", "no right at all", "DESCRIBE alone",
    ],
)  # fmt: skip
def test_who_is_turned_away_is_told_why_in_time_and_not_to_try_again(broker, way, capfd):
    properties, says = turned_away(broker)[way]
    began = time.monotonic()
    with pytest.raises(KafkaRefused) as raised:
        topic_state(settings(properties), TOPIC)
    assert time.monotonic() - began < LIMIT_SECONDS
    assert [word for word in says if word not in str(raised.value)] == [], str(raised.value)
    assert CANARY not in str(raised.value)
    assert not raised.value.retry
    assert "".join(capfd.readouterr()) == "", "the client's own log would stand before the one line"


def written(file: Path, properties: dict[str, str]) -> Path:
    """A declaration as an installation has it."""
    file.touch(mode=0o600)
    KafkaConfig.of(properties, "a test").write_to(file)
    return file


def test_the_command_line_says_it_in_one_line(broker, tmp_path):
    file = written(tmp_path / "kafka.properties", sasl(broker, "SCRAM-SHA-512", "scram", CANARY))
    variables = {name: value for name, value in os.environ.items() if name != "SLUICE_KAFKA"}
    env = {**variables, "SLUICE_KAFKA_CONFIG": str(file), "SLUICE_ROOT": str(tmp_path / ROOT)}
    ended = ran(Path(sys.executable).parent / "sluice", "plan", "flight_events", env=env, cwd=None)
    assert ended.returncode == by_code("KAFKA_REFUSED").exit_status
    [line] = [line for line in ended.stderr.splitlines() if line.strip()]
    assert line.startswith("KAFKA_REFUSED ")
    assert str(file) in line
    assert CANARY not in ended.stdout + ended.stderr


def event_log(folder: Path) -> dict[str, str]:
    """Variables that make Spark keep an event log, as an installation may."""
    (folder / "events").mkdir(parents=True)
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(
        "spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir "
        f"file:{folder}/events\n"
    )
    return {"SPARK_CONF_DIR": str(folder / "conf"), "SLUICE_TRACEBACK": "1"}


def with_canary(*folders: Path, words: tuple[str, ...] = (CANARY,)) -> list[str]:
    """The files below the folders in which one of the words stands."""
    files = [
        file
        for folder in folders
        for file in ([folder] if folder.is_file() else folder.rglob("*"))
        if file.is_file()
    ]
    assert any(b"SparkListenerSQLExecutionStart" in file.read_bytes() for file in files), (
        "there is an event log with plans"
    )
    return [
        str(file) for file in files if any(word.encode() in file.read_bytes() for word in words)
    ]


@alike("a drain as a process")
def test_a_drain_with_the_least_rights_is_exact_and_shows_no_secret_anywhere(broker, tmp_path):
    scene = Scene(
        broker.admin,
        tmp_path,
        "flight_events",
        events=800,
        deliveries=1,
        topic=TOPIC,
        checked=True,
        stores=1,
    )
    scene.deliver_all()
    hidden = {
        name: value
        for name, value in mutual(broker, "hidden", **{"ssl.key.password": "opens the key"}).items()
        if name.startswith("ssl.")
    }
    file = written(
        tmp_path / "kafka.properties", sasl(broker, "SCRAM-SHA-512", "scram", HOSTILE) | hidden
    )
    config = KafkaConfig.read(str(file))
    scene.settings = scene.settings._replace(kafka=config.brokers, kafka_config=config)
    (tmp_path / "run").mkdir()
    drain = Running(scene, tmp_path / "run", "secured", **event_log(tmp_path / "spark"))
    seen: set[str] = set()
    again = 0.0

    def look() -> bool:
        nonlocal again
        if time.monotonic() > again:
            seen.update(
                word
                for process in psutil.process_iter(["cmdline"])
                for word in process.info["cmdline"] or ()
            )
            again = time.monotonic() + 0.5
        return False

    drain.wait_for(look, "the end of a drain")

    assert drain.end() == 0, drain.said
    scene.assert_exact()
    key = (broker.files / "hidden.key").read_text().splitlines()[2]
    secrets = (CANARY, "opens the key", key)
    assert with_canary(tmp_path / "run", tmp_path / ROOT, tmp_path / "spark", words=secrets) == []
    assert [word for word in seen if any(secret in word for secret in secrets)] == []
    assert any("spark-submit" in word or "SparkSubmit" in word for word in seen), (
        "the process list was looked at"
    )


@long_form
def test_sparks_connector_is_let_in_every_way_and_turned_away_in_the_same_words(broker, tmp_path):
    Scene(
        broker.admin, tmp_path, "flight_events", events=200, deliveries=1, topic=TOPIC
    ).deliver_all()
    expected = Positions().count(topic_state(settings(tls(broker)), TOPIC).latest)
    folder = tmp_path / "declared"
    folder.mkdir()
    for name, properties in welcome(broker).items():
        written(folder / f"{name}.properties", properties)
    away = ("SCRAM, wrong password", "authority unknown", "DESCRIBE alone")
    for name in away:
        written(folder / f"{name}.properties", turned_away(broker)[name][0])
    (folder / "texts.json").write_text(json.dumps(TEXTS))
    installed = Settings.from_environment(KafkaConfig.of(oauth(broker), "a test"))
    conf = [
        word
        for key, value in configuration(installed).items()
        for word in ("--conf", f"{key}={value}")
    ]
    words = [
        str(Path(sys.executable).parent / "spark-submit"),
        "--master",
        "local[2]",
        *conf,
        str(READER),
        str(folder),
    ]
    variables = {**os.environ, **environment(installed), **event_log(tmp_path / "spark")}
    ended = ran(*words, env=variables, timeout=patient(240))
    (tmp_path / "log").write_text(ended.stdout + ended.stderr)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((folder / "found.json").read_text())
    assert {name: found[name] for name in WAYS} == dict.fromkeys(WAYS, expected)
    assert [found[name].partition(":")[0] for name in away] == ["KAFKA_REFUSED"] * len(away), found
    assert found["texts"] == TEXTS
    assert "kafka" in found["plan"].lower()
    assert CANARY not in " ".join([*words, found["plan"]])
    assert with_canary(tmp_path / "log", tmp_path / "spark") == []
