"""A worker is there when the next scheduled run of an often drained pipeline comes."""

import pytest

from spark_jobs.launch.warm.inside.life import Limits
from spark_jobs.launch.warm.stay import idle_seconds
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Schedule
from tests.unit.specs import pipeline

SETTINGS = Settings("/r", "k:1", "/jars", "local[2]", "2g")


@pytest.mark.parametrize(
    ("cron", "minutes"),
    [
        ("* * * * *", 15),
        ("*/5 * * * *", 15),
        ("*/30 * * * *", 40),
        ("0 * * * *", 70),
        ("0 */2 * * *", 130),
        ("0 8-18 * * *", 15),  # the night is longer
        ("0 */3 * * *", 15),
        ("30 6 * * *", 15),
    ],
)
def test_it_waits_for_the_next_scheduled_run_that_comes_soon(monkeypatch, cron, minutes):
    spec = pipeline(schedule=Schedule(cron=cron))
    monkeypatch.setattr(registry, "load", {"sales": spec}.__getitem__)
    assert idle_seconds(SETTINGS, "sales") == 60 * minutes


def test_where_the_pipeline_is_not_found_it_waits_as_for_a_rare_one():
    assert idle_seconds(SETTINGS, "nobody_has_it") == 60 * 15


def test_a_number_decides_whatever_the_schedule_behind_a_run_and_before_the_first():
    three = SETTINGS._replace(warm_idle_minutes="3")
    assert idle_seconds(three, "nobody_has_it") == 180
    assert Limits.of(three).idle_seconds == 180
    assert Limits.of(SETTINGS).idle_seconds == 60 * 15
