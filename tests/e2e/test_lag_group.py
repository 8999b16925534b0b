"""The lag that Kafka's own tools show: of a root as drains leave it, in a real broker."""

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from local.broker import create_topic
from spark_jobs.admin.reset import reset
from spark_jobs.cli import app
from spark_jobs.registry import find as registry
from tests.harness.broker import forget_topic
from tests.unit.drains import SPEC, Drains

GROUP = f"sluice.{SPEC.name}"


@pytest.fixture
def drains(tmp_path, monkeypatch, kafka):
    forget_topic(kafka, SPEC.topic.name)
    create_topic(kafka, SPEC.topic.name, 1)
    made = Drains(tmp_path)
    values = {"ROOT": made.settings.root, "KAFKA": kafka, "LAG_GROUP": "on"}
    for name, value in values.items():
        monkeypatch.setenv(f"SLUICE_{name}", value)
    monkeypatch.setattr(registry, "load", lambda _: SPEC)
    return made


def publish():
    done = CliRunner().invoke(app, ["publish", SPEC.name])
    assert done.exit_code == 0, done.output


def committed(kafka):
    """Partition -> offset, as an administrator sees it."""
    client = AdminClient({"bootstrap.servers": kafka})
    found = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)])
    places = found[GROUP].result().topic_partitions
    return {(each.topic, each.partition): each.offset for each in places}


def test_the_group_has_the_offsets_that_are_published_also_behind_a_reset(drains, kafka, tmp_path):
    drains.drain(0, 6)
    publish()
    assert committed(kafka) == {(SPEC.topic.name, 0): 7}
    drains.drain(7, 8, red=True)
    publish()
    assert committed(kafka) == {(SPEC.topic.name, 0): 7}
    reset(SPEC, drains.settings).execute()
    Drains(tmp_path, generation="g2").drain(0, 1)
    publish()
    assert committed(kafka) == {(SPEC.topic.name, 0): 2}


def test_what_is_published_stays_published_where_kafka_does_not_answer(drains, monkeypatch):
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    drains.drain(0, 0)
    publish()
    assert len([*drains.paths.events.iterdir()]) == 1
