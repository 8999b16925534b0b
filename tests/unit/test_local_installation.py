"""What `make up` and `make demo` tell Airflow's tasks of the installation: the broker that they
started, and no other Kafka.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from local import demo, up
from local.airflow_settings import environment
from spark_jobs.settings.installation import Settings

STARTED = "127.0.0.1:4321"


class Seen(Exception):
    """Airflow would be started now."""


def start_up():
    up.up()


def start_demo():
    demo._run(demo.Clock(), 1, 1, 7)  # noqa: SLF001 - the part that starts things


@pytest.mark.parametrize("begin", [start_up, start_demo])
def test_tasks_use_the_started_broker_though_another_is_declared(begin, tmp_path, monkeypatch):
    (tmp_path / "kafka.properties").write_text("bootstrap.servers=kafka.example:9092\n")
    monkeypatch.setenv("SLUICE_KAFKA_CONFIG", str(tmp_path / "kafka.properties"))
    told: dict[str, str] = {}

    def started(home: Path, variables: Mapping[str, str], *, schedule: bool):
        told.update(environment(home, 1, schedule=schedule) | dict(variables))
        raise Seen

    for module in (up, demo):
        monkeypatch.setattr(module.broker, "start", lambda *_, **_as: STARTED)
        monkeypatch.setattr(module.broker, "create_topic", lambda *_: None)
        monkeypatch.setattr(module.airflow, "prepare", lambda *_: None)
        monkeypatch.setattr(module.airflow, "start", started)
    assert callable(begin)
    with pytest.raises(Seen):
        begin()
    for name, value in told.items():
        if name.startswith("SLUICE_"):
            monkeypatch.setenv(name, value)
    assert Settings.from_environment().kafka == STARTED
