"""Events that cron's `sluice run` has fixed beside a DAG: its next run gives Airflow each of them."""

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from airflow.sdk import DAG, Context

from sluice_airflow.tasks.publish import PublishOperator, asset_of
from spark_jobs.registry import find as registry
from tests.airflow.metadata import forget_events, run_dag
from tests.harness.listener import Listener
from tests.unit.drains import SPEC, Drains

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = count()


class Dies(PublishOperator):
    """Its process is killed when it has told all, and Airflow has nothing of it yet."""

    def execute(self, context: Context):
        super().execute(context)
        raise OSError


@pytest.fixture
def drains(tmp_path, monkeypatch, api):
    monkeypatch.setattr(registry, "load", lambda _: SPEC)
    made = Drains(tmp_path)
    monkeypatch.setenv("SLUICE_ROOT", made.settings.root)
    forget_events()
    return made


def published(kind=PublishOperator, **how):
    with DAG(f"publishes_{kind.__name__.lower()}_{len(how)}", schedule=None) as dag:
        kind(task_id="publish", pipeline=SPEC.name, **how)
    return run_dag(dag, NOON + timedelta(hours=next(HOURS)))


def told():
    """Number and records of each event of the asset, in Airflow's order."""
    from airflow.models.asset import AssetEvent  # noqa: PLC0415 - the home comes first
    from airflow.utils.session import create_session  # noqa: PLC0415

    with create_session() as session:
        events = session.query(AssetEvent).order_by(AssetEvent.timestamp)
        ours = [each for each in events if each.asset.uri == asset_of(SPEC.name).uri]
        return [(each.extra["number"], each.extra["account"]["read"]) for each in ours]


def test_a_run_tells_all_that_wait_each_once_also_behind_one_that_was_killed(drains):
    cron = Listener()

    def hours(first, last):
        for batch in range(first, last + 1):
            drains.drain(batch, batch)
            cron.publish(drains.paths, SPEC)

    hours(0, 2)
    drains.drain(3, 3)
    assert (published(Dies), told()) == ("failed", [])
    assert (published(), told()) == ("success", [(number, 1) for number in range(1, 5)])
    hours(4, 5)
    assert (published(materializes=False), len(told())) == ("success", 6)
    assert (published(), told()) == ("success", [(number, 1) for number in range(1, 7)])
