"""Leaving: what a real broker's retention certainly leaves on coming days."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer

from local.broker import create_topic
from spark_jobs.settings.installation import Settings
from spark_jobs.source.leaving import leaving
from spark_jobs.source.positions import Positions

DAY = timedelta(days=1)
NOW = datetime.now(UTC)
TIMES = [NOW + number * DAY for number in range(7)]
OF_DAYS = str(int(10 * DAY / timedelta(milliseconds=1)))
AGES = (9.5, 8.5, 8.5, 5.5, 9.5)
"""Days since each of a partition's records came, by their offsets."""


def asked(kafka, **config):
    topic = f"kept-{uuid.uuid4().hex[:8]}"
    create_topic(kafka, topic, 2, {name.replace("_", "."): told for name, told in config.items()})
    producer = Producer({"bootstrap.servers": kafka})
    for age in AGES:
        at = int((NOW - age * DAY).timestamp() * 1000)
        producer.produce(topic, b"x", partition=0, timestamp=at)
        assert producer.flush(30) == 0  # one batch each, as they came
    return leaving(Settings.of_the_build()._replace(kafka=kafka), topic, [0, 1], TIMES)


def test_an_offset_stays_as_long_as_it_or_one_before_it_is_young_enough(kafka):
    found = asked(kafka, retention_ms=OF_DAYS)
    assert found.untold == ""
    # The other partition is empty.
    assert found.first == tuple(Positions({0: at, 1: 0}) for at in (0, 1, 3, 3, 3, 5, 5))


def test_a_topic_without_a_limit_leaves_all(kafka):
    found = asked(kafka, retention_ms="-1")
    assert (found.untold, {*found.first}) == ("", {Positions()})


@pytest.mark.parametrize(
    "config",
    [
        {"cleanup_policy": "compact"},
        {"cleanup_policy": "compact,delete", "retention_ms": OF_DAYS},
        {"retention_ms": OF_DAYS, "retention_bytes": "1000000"},
    ],
    ids=["compacted", "both", "by size"],
)
def test_what_goes_by_other_than_age_cannot_be_told(kafka, config):
    found = asked(kafka, **config)
    assert found.untold
    assert ({*found.first}, found.of_nobody.partitions) == ({Positions()}, (0, 1))
