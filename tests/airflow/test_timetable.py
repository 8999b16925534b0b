"""The timetable of backfills: intervals for a person, none for the scheduler."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import TimeRestriction
from pendulum import instance

from sluice_airflow.dags.run_types import OF_BACKFILLS
from sluice_airflow.dags.timetable import OnRequest

FIRST = datetime(2013, 2, 1, tzinfo=UTC)


def read_back(cron: str) -> DAG:
    """A DAG with the timetable, as scheduler and API server read it from the database."""
    dag = DAG("x", schedule=OnRequest(cron, timezone="UTC"), allowed_run_types=OF_BACKFILLS)
    return DagSerialization.from_dict(DagSerialization.to_dict(dag))


@pytest.mark.parametrize(
    ("cron", "step"), [("0 0 * * *", timedelta(days=1)), ("0 * * * *", timedelta(hours=1))]
)
def test_a_backfill_gets_each_interval_that_begins_between_its_dates(cron, step):
    infos = list(read_back(cron).iter_dagrun_infos_between(FIRST, FIRST + 2 * step))
    assert [info.data_interval for info in infos] == [
        (FIRST + n * step, FIRST + (n + 1) * step) for n in range(3)
    ]


def test_the_scheduler_gets_none_whatever_has_run_and_whenever_the_dag_starts():
    timetable = read_back("0 0 * * *").timetable
    assert type(timetable) is OnRequest
    backfill = TimeRestriction(instance(FIRST), None, catchup=True)
    scheduler = TimeRestriction(instance(FIRST), None, catchup=False)
    ran = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=backfill)
    for last in (None, ran.data_interval):
        found = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=scheduler)
        assert found is None


def test_airflow_takes_it_for_a_schedule_that_has_backfills_and_need_not_allow_scheduled_runs():
    timetable = read_back("0 0 * * *").timetable
    assert (timetable.periodic, timetable.can_be_scheduled) == (True, False)
    assert timetable.summary == "0 0 * * *"
