"""A run starts since records wait: what the trigger tells of a real broker, a root and runs."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer

from local.broker import create_topic
from sluice_airflow.dags.dag import build
from sluice_airflow.triggers import waiting as trigger
from sluice_airflow.triggers.found import Waiting
from sluice_airflow.triggers.waiting import RecordsWait, Telling
from sluice_airflow.triggers.watched import watched
from spark_jobs.checkpoint.lease import lease
from spark_jobs.registry import find as registry
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Schedule, WhenData
from tests.airflow.metadata import REPO, add_dag, forget_events
from tests.harness.broker import forget_topic, kafka
from tests.harness.long_form import long_form
from tests.harness.patience import patient
from tests.unit.drains import SPEC, Drains

__all__ = ["kafka"]
NAME = SPEC.name
EVERY_SECOND = WhenData().model_copy(update={"every": timedelta(seconds=1)})
WATCHED = SPEC.model_copy(
    update={"schedule": Schedule().model_copy(update={"when_data": EVERY_SECOND})}
)
OURS = json.loads(json.dumps(watched(SPEC)._asdict()))
LOOKS_SECONDS = 8
PATIENCE_SECONDS = patient(240)


def found(done, new, *, busy=False):
    return Waiting(Positions({0: done}), new, busy)


def test_it_tells_once_until_a_run_has_read_something():
    telling = Telling(at_least=3)
    assert not telling.due(found(0, 2), 0.0)
    assert telling.due(found(0, 3), 1.0)
    assert not telling.due(found(0, 9), 2.0), "its run may be queued still"
    assert not telling.due(found(9, 0), 3.0)
    assert telling.due(found(9, 3), 4.0)


def test_it_tells_again_of_what_no_run_has_read():
    telling = Telling(at_least=1)
    assert telling.due(found(0, 1), 0.0)
    assert not telling.due(found(0, 1), trigger.AGAIN_SECONDS - 1)
    assert telling.due(found(0, 1), trigger.AGAIN_SECONDS)


def test_what_fails_for_good_starts_fewer_and_fewer_runs_until_one_reads():
    telling, day = Telling(at_least=1), 86400
    assert telling.due(found(0, 1), 0.0)
    told = [at for at in range(1, 3 * day) if telling.due(found(0, 1 + at), at)]
    assert told == [900 * (2**n - 1) for n in range(1, 8)] + [900 * 127 + day]
    assert telling.due(found(1, 1), 3 * day)
    assert telling.due(found(1, 1), 3 * day + 900)


def test_it_does_not_tell_while_somebody_holds_the_lease():
    assert not Telling(at_least=1).due(found(0, 9, busy=True), 0.0)


def test_airflow_reads_the_schedule_back_with_its_cron_and_the_trigger():
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415 - the home comes first

    stored = json.loads(json.dumps(DagSerialization.to_dict(build(WATCHED))))
    timetable = DagSerialization.from_dict(stored).timetable
    assert timetable.timetable.summary == WATCHED.schedule.cron
    [(_, asset)] = timetable.asset_condition.iter_assets()
    [watcher] = asset.watchers
    kwargs = {"pipeline": NAME, "dag_id": NAME, "every": 1.0, "at_least": 1, "watched": OURS}
    assert RecordsWait(**kwargs).serialize() == (watcher.trigger["classpath"], kwargs)
    assert watcher.trigger["kwargs"] == kwargs


@pytest.fixture
def drains(tmp_path, monkeypatch, kafka):
    """A root of which another process finds the pipeline, and its topic."""
    forget_topic(kafka, SPEC.topic.name)
    create_topic(kafka, SPEC.topic.name, 1)
    made = Drains(tmp_path / "root")
    folder = tmp_path / "watched" / NAME
    folder.mkdir(parents=True)
    for empty in (folder, folder.parent):
        (empty / "__init__.py").touch()
    (folder / "spec.py").write_text("from tests.airflow.test_when_data import WATCHED as SPEC\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{REPO}:{REPO / 'plugins'}")
    monkeypatch.setenv("SLUICE_PIPELINES", "watched")
    monkeypatch.setenv("SLUICE_ROOT", made.settings.root)
    monkeypatch.setenv("SLUICE_KAFKA", kafka)
    monkeypatch.setattr(registry, "load", lambda _: WATCHED)
    return made


def send(kafka, records):
    producer = Producer({"bootstrap.servers": kafka})
    for _ in range(records):
        producer.produce(SPEC.topic.name, b"{}")
    assert producer.flush(30) == 0


class Look:
    """The trigger in this process; Airflow has so many runs of the DAG at each question."""

    def __init__(self, monkeypatch, runs):
        self.trigger = RecordsWait(pipeline=NAME, dag_id=NAME, every=0.0, at_least=1, watched=OURS)
        monkeypatch.setattr(RecordsWait, "_active", lambda _: bool(runs.pop(0)) if runs else False)

    async def next(self):
        events = self.trigger.run()
        try:
            return (await asyncio.wait_for(anext(events), 60)).payload["offsets"]
        finally:
            await events.aclose()


def test_it_tells_what_is_behind_the_live_checkpoint_of_a_real_broker(drains, kafka, monkeypatch):
    send(kafka, 5)
    drains.drain(0, 2)
    assert asyncio.run(Look(monkeypatch, []).next()) == 2


def test_a_run_that_begins_or_ends_while_it_looks_is_not_doubled(drains, kafka, monkeypatch):
    send(kafka, 2)
    runs, looks = [True, False, True], []
    look = trigger.RecordsWait._look  # noqa: SLF001 - its one blocking call

    def noted(self):
        looks.append(look(self))
        return looks[-1]

    monkeypatch.setattr(RecordsWait, "_look", noted)
    assert asyncio.run(Look(monkeypatch, runs).next()) == 2
    assert looks[:2] == [None, None]


def test_a_broker_that_is_down_ends_no_trigger(drains, kafka, monkeypatch):
    send(kafka, 1)
    answers = iter(["127.0.0.1:1", kafka])
    look = trigger.RecordsWait._look  # noqa: SLF001 - as above

    def down_first(self):
        monkeypatch.setenv("SLUICE_KAFKA", next(answers))
        return look(self)

    monkeypatch.setattr(RecordsWait, "_look", down_first)
    assert asyncio.run(Look(monkeypatch, []).next()) == 1


def test_a_drain_of_another_scheduler_is_seen_by_its_lease(drains, kafka):
    from sluice_airflow.triggers.found import waiting  # noqa: PLC0415 - beside its use

    send(kafka, 1)
    with lease(drains.paths.lease, "cron"):
        assert waiting(NAME, watched(SPEC), drains.settings._replace(kafka=kafka)) == Waiting(
            Positions(), 1, busy=True
        )


def test_a_switch_and_topics_that_come_need_no_spec_of_the_triggerer(drains, kafka, monkeypatch):
    from sluice_airflow.triggers.found import waiting  # noqa: PLC0415 - beside its use

    monkeypatch.setattr(registry, "load", None)
    settings = drains.settings._replace(kafka=kafka)
    send(kafka, 2)
    drains.drain(0, 1)
    more = {"pattern": f"{SPEC.topic.name}-more.*", "starting": None}
    ours = watched(SPEC)._replace(more=more)
    assert waiting(NAME, ours, settings).new == 0
    for name in ("b", "a"):
        forget_topic(kafka, f"{SPEC.topic.name}-more-{name}")
        create_topic(kafka, f"{SPEC.topic.name}-more-{name}", 1)
    producer = Producer({"bootstrap.servers": kafka})
    producer.produce(f"{SPEC.topic.name}-more-b", b"{}")
    assert producer.flush(30) == 0
    assert waiting(NAME, ours, settings).new == 1
    live = {"version": 2, "folder": "v2", "table": NAME, "since": "2026-03-01T12:00:00Z"}
    (drains.paths.above / "live.json").write_text(json.dumps(live))
    assert waiting(NAME, ours, settings) == Waiting(Positions(), 3, busy=False), (
        "v2 has read nothing yet"
    )


@contextmanager
def triggerer(tmp_path):
    """Airflow's own, as a process; it gets SIGKILL."""
    with (tmp_path / "triggerer.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "triggerer", "--skip-serve-logs"],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def told():
    """The payloads of the events, in their order."""
    from airflow.models.asset import AssetEvent  # noqa: PLC0415 - the home comes first
    from airflow.utils.session import create_session  # noqa: PLC0415

    with create_session() as session:
        events = session.query(AssetEvent).order_by(AssetEvent.id)
        ours = [each for each in events if each.asset.name == f"{NAME}-records"]
        return [each.extra["payload"]["offsets"] for each in ours]


def wait_for(events):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while told() != events:
        assert time.monotonic() < deadline, told()
        time.sleep(0.5)


def a_run(state):
    """A run of the DAG in Airflow's database, as its scheduler makes one."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - the home comes first
    from airflow.utils.session import create_session  # noqa: PLC0415
    from airflow.utils.types import DagRunType  # noqa: PLC0415

    with create_session() as session:
        session.query(DagRun).filter_by(dag_id=NAME).delete()
        if state:
            session.add(
                DagRun(
                    dag_id=NAME, run_id=f"asset_triggered__{state}", state=state,
                    run_type=DagRunType.ASSET_TRIGGERED, run_after=datetime.now(UTC),
                )
            )  # fmt: skip


@long_form
def test_airflows_triggerer_tells_once_and_a_restart_neither_floods_nor_misses(
    api, drains, kafka, tmp_path
):
    forget_events()
    dag = build(WATCHED)
    dag.is_paused_upon_creation = False
    add_dag(dag)
    send(kafka, 3)
    with triggerer(tmp_path):
        wait_for([3])
        time.sleep(LOOKS_SECONDS)
        assert told() == [3]
        a_run("queued")
    send(kafka, 1)
    with triggerer(tmp_path):
        time.sleep(LOOKS_SECONDS * 4)
        assert told() == [3], "the run is queued"
        a_run("running")
        drains.drain(0, 3)
        send(kafka, 2)
        time.sleep(LOOKS_SECONDS)
        assert told() == [3], "the run is at work"
        a_run("")
        wait_for([3, 2])
        time.sleep(LOOKS_SECONDS)
        assert told() == [3, 2]
