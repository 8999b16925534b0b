"""OpenLineage: DAG runs by Airflow's own code, its provider's listener, a real HTTP receiver."""

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.dags.dag import build
from sluice_airflow.lineage.names import Name, table_name, topic_name
from spark_jobs.errors import CheckFailed, SparkFailed
from spark_jobs.messages.change import Change
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Problem
from spark_jobs.registry import find as registry
from spark_jobs.registry.archive_spec import COLUMNS, archive_spec
from spark_jobs.repair import planner as repair_planning
from spark_jobs.runs import plan as planning
from spark_jobs.runs.plan import Plan
from spark_jobs.spec import Archive, Pipeline
from tests.airflow.installed import Installed
from tests.airflow.metadata import fill, forget_events, run_dag, without_waiting
from tests.airflow.reports import NOON, PERSON, check, report
from tests.harness import roots
from tests.harness.openlineage import Event, Receiver, problems, receiving
from tests.unit.repaired import SPEC, Root, hours, row

HOSTILE = "<script>alert(1)</script> {{ 7 * 7 }} \u202egpj\x1b[2J\r\n\"}]}'"
SECRET = "canary-of-the-broker"
REPAIR = "20260301T120000-abcdef"


@pytest.fixture(scope="module", autouse=True)
def database():
    fill()


@pytest.fixture
def listener(monkeypatch) -> Iterator[Callable[[str], None]]:
    """Turns the provider's listener on, for this transport."""
    from airflow.providers.openlineage.plugins.listener import OpenLineageListener  # noqa: PLC0415 - the home comes first
    from airflow.sdk.listener import get_listener_manager  # noqa: PLC0415

    added: list[Any] = []

    def turn_on(transport: str):
        monkeypatch.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", transport)
        added.append(OpenLineageListener())
        get_listener_manager().add_listener(added[-1])

    yield turn_on
    for each in added:
        get_listener_manager().pm.unregister(each)


@pytest.fixture
def receiver(listener) -> Iterator[Receiver]:
    with receiving() as server:
        listener(server.transport)
        yield server


class Installation(Installed):
    """A root with a judged batch, a Kafka with a password, a spark-submit that reports."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        super().__init__(folder, monkeypatch, kafka=None)
        self.made = Root(self.root)
        self.made.drain(0, 0)
        monkeypatch.setattr(registry, "load", lambda _: SPEC)
        monkeypatch.setattr(registry, "load_next", lambda _: None)
        kafka = {
            "bootstrap.servers": "broker-1:9092,broker-2:9092",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "sluice",
            "sasl.password": SECRET,
        }
        connection = {"conn_type": "kafka", "extra": json.dumps(kafka)}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_KAFKA", json.dumps(connection))

    @property
    def table(self) -> Name:
        return table_name(str(self.made.paths.table))


@pytest.fixture
def installation(tmp_path, monkeypatch) -> Installation:
    work = Plan(pipeline=SPEC.name, new_offsets=5, reasons=("5 new offsets to read",), lines=())
    monkeypatch.setattr(planning, "plan", lambda *_: work)
    forget_events()
    return Installation(tmp_path, monkeypatch)


def ran(dag: DAG, name: str) -> str:
    """The state of one DAG run; the name tells it from others."""
    return run_dag(dag, NOON + timedelta(minutes=sum(map(ord, name))))


def only(events: list[Event]) -> Event:
    [event] = events
    return event


def dataset(event: Event, side: str, name: Name) -> Any:
    [found] = [each for each in event[side] if Name(each["namespace"], each["name"]) == name]
    return found


TOPIC = topic_name("broker-1:9092", SPEC.topic.name)


def test_a_run_tells_offsets_version_account_columns_and_checks(installation, receiver):
    checks = (check(about=HOSTILE), check(suite="state"))
    installation.spark_reports(report(None, *checks))
    assert ran(build(SPEC), "whole") == "success"
    assert [problem for event in receiver.events for problem in problems(event)] == []
    name = SPEC.name
    for task in ("plan", "drain", "check_output", "check_state", "publish"):
        kinds = [event["eventType"] for event in receiver.of(f"{name}.{task}")]
        assert kinds == ["START", "COMPLETE"], task
    drained = only(receiver.of(f"{name}.drain", "COMPLETE"))
    read = dataset(drained, "inputs", TOPIC)
    assert read["inputFacets"]["sluice_offsets"]["start"] == {"0": 3, "1": 0}
    assert read["inputFacets"]["sluice_offsets"]["end"] == {"0": 10, "1": 5}
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == 12
    written = dataset(drained, "outputs", installation.table)
    assert written["facets"]["version"]["datasetVersion"] == "7"
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 4
    rejected = table_name(str(installation.made.paths.ops("quarantine")))
    assert (
        dataset(drained, "outputs", rejected)["outputFacets"]["outputStatistics"]["rowCount"] == 3
    )
    run = drained["run"]["facets"]["sluice_run"]
    assert (run["generation"], run["batches"], run["account"]["late"]) == ("g1", [0, 1], 3)
    checked = only(receiver.of(f"{name}.check_output", "COMPLETE"))
    judged = dataset(checked, "inputs", installation.table)
    assert judged["facets"]["version"]["datasetVersion"] == "7"
    [said] = judged["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (said["success"], said["column"], said["severity"]) == (True, "total", "error")
    assert said["description"] == HOSTILE, "text stays text"
    of_state = only(receiver.of(f"{name}.check_state", "COMPLETE"))
    [said] = of_state["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (said["name"], said["actual"]) == ("expect_column_values_to_be_between(state_rows)", "7")
    told = only(receiver.of(f"{name}.publish", "COMPLETE"))
    version = str(installation.made.version)
    assert (
        dataset(told, "inputs", installation.table)["facets"]["version"]["datasetVersion"]
        == version
    )
    shown = dataset(told, "outputs", table_name(str(installation.made.paths.published_table)))
    [symlink] = shown["facets"]["symlinks"]["identifiers"]
    assert (symlink["namespace"], symlink["name"]) == ("x-sluice://tables", name)
    everything = "".join(receiver.bodies)
    assert SECRET not in everything
    assert PERSON not in everything


def test_columns_are_told_from_the_topics_if_a_spec_has_them(installation, receiver, monkeypatch):
    installation.spark_reports(report())
    monkeypatch.undo()
    spec: Pipeline = registry.load("departure_delays")
    from sluice_airflow.lineage.datasets import Datasets  # noqa: PLC0415 - the home comes first

    table = Datasets(spec, "/data/root", "broker:9092").table(3)
    fields = table.facets["columnLineage"].fields  # type: ignore[index, union-attr]
    found = {
        name: {(one.field, one.transformations[0].subtype) for one in field.inputFields}
        for name, field in fields.items()
    }
    assert found == {
        "window_start": {("event_time", "TRANSFORMATION")},
        "window_end": {("event_time", "TRANSFORMATION")},
        "carrier": {("carrier", "IDENTITY")},
        "origin": {("origin", "IDENTITY")},
        "mean_delay_minutes": {("delay_minutes", "AGGREGATION")},
        "max_delay_minutes": {("delay_minutes", "AGGREGATION")},
        "cancellations": {("cancelled", "AGGREGATION")},
    }


def test_a_failed_check_is_told_and_a_failed_drain_tells_what_it_had_done(installation, receiver):
    failed = check("failed")
    problem = Problem.of(CheckFailed("3 rows."))
    installation.spark_reports(report(problem, failed))
    assert ran(without_waiting(build(SPEC)), "check") == "failed"
    event = only(receiver.of(f"{SPEC.name}.check_output", "FAIL"))
    [said] = event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (said["success"], said["params"]["unexpected"]) == (False, 3)
    assert receiver.of(f"{SPEC.name}.publish") == []
    broken = Problem.of(SparkFailed("it died."))
    installation.spark_reports(report(broken, table_version=None))
    assert ran(without_waiting(build(SPEC)), "drain") == "failed"
    event = only(receiver.of(f"{SPEC.name}.drain", "FAIL"))
    assert dataset(event, "inputs", TOPIC)["inputFacets"]["sluice_offsets"]["end"]["0"] == 10
    assert "version" not in dataset(event, "outputs", installation.table)["facets"]
    assert event["run"]["facets"]["sluice_run"]["problem"] == "SPARK_FAILED"
    assert [problem for event in receiver.events for problem in problems(event)] == []
    assert SECRET not in "".join(receiver.bodies)


def test_a_repair_is_told_from_the_topic_through_staged_rows_into_the_table(
    installation, receiver, monkeypatch
):
    root = installation.made
    change = Change(rows_before=3, rows_after=3, changed=1, merged=1)
    before = root.version
    planned = roots.repair_plan(
        SPEC.name, repair_id=REPAIR, spans=(hours(0),), needed=(hours(0),), table_version=before,
        horizon={0: 1}, records=1, parts={0: ((0, 1),)}, late=1, lines=("the plan",),
    )  # fmt: skip
    monkeypatch.setattr(repair_planning, "plan_repair", lambda *_: planned)
    root.stage(REPAIR, [(row(0, "a"), row(0, "a", 2))])
    staged = report(
        None,
        check(),
        check(suite="change", column="unexplained", observed="0"),
        kind="repair",
        repair_id=REPAIR,
        change=change,
        offsets_start={},
        offsets_end={"0": 1},
        table_version=None,
        account=Account(covered=1, read=2, accepted=2, rows_out=3),
    )
    installation.spark_reports(staged)
    dag = without_waiting(build_backfill(SPEC))
    assert ran(dag, "repair") == "success"
    assert [problem for event in receiver.events for problem in problems(event)] == []
    name = dag.dag_id
    stagings = table_name(str(root.paths.stagings))
    event = only(receiver.of(f"{name}.stage", "COMPLETE"))
    assert dataset(event, "inputs", TOPIC)["inputFacets"]["sluice_offsets"]["end"] == {"0": 1}
    late = dataset(event, "inputs", table_name(str(root.paths.ops("late"))))
    assert late["inputFacets"]["inputStatistics"]["rowCount"] == 1
    assert dataset(event, "outputs", stagings)["facets"]["version"]["datasetVersion"] == REPAIR
    assert event["run"]["facets"]["sluice_change"]["change"]["merged"] == 1
    event = only(receiver.of(f"{name}.check_change", "COMPLETE"))
    [said] = dataset(event, "inputs", stagings)["inputFacets"]["dataQualityAssertions"][
        "assertions"
    ]
    assert (said["success"], said["actual"]) == (True, "0")
    event = only(receiver.of(f"{name}.swap", "COMPLETE"))
    assert dataset(event, "inputs", stagings)["facets"]["version"]["datasetVersion"] == REPAIR
    table = dataset(event, "outputs", installation.table)
    assert table["facets"]["version"]["datasetVersion"] == str(root.version)
    assert root.version == before + 1
    event = only(receiver.of(f"{name}.publish", "COMPLETE"))
    assert event["run"]["facets"]["sluice_publication"]["repairs"] == [REPAIR]


def test_without_a_transport_the_provider_has_no_listener():
    from airflow.providers.openlineage import conf  # noqa: PLC0415 - the home comes first
    from airflow.providers.openlineage.plugins.openlineage import OpenLineageProviderPlugin  # noqa: PLC0415

    assert conf.is_disabled()
    assert OpenLineageProviderPlugin.listeners == []


def test_a_receiver_that_never_answers_fails_no_task_and_holds_it_no_longer_than_its_limit(
    installation, listener, monkeypatch, caplog
):
    idle = Plan(pipeline=SPEC.name, new_offsets=0, reasons=(), lines=("nothing to do",))
    monkeypatch.setattr(planning, "plan", lambda *_: idle)
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__EXECUTION_TIMEOUT", "1")
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(8)
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        listener(json.dumps({"type": "http", "url": url, "timeout": 600}))
        began = time.monotonic()
        with caplog.at_level(logging.WARNING):
            assert ran(build(SPEC), "mute") == "success"
    assert sum("will be terminated" in line for line in caplog.messages) == 2
    assert time.monotonic() - began < 60


def test_the_rows_that_a_person_is_shown_for_approval_are_in_no_event():
    from airflow.providers.openlineage.utils.utils import TaskInfo  # noqa: PLC0415 - the home comes first

    approve = build_backfill(SPEC).get_task("approve")
    approve.body = PERSON  # type: ignore[attr-defined]
    said = json.dumps(TaskInfo(approve), default=str)
    assert "change the table?" in said
    assert PERSON not in said


def test_a_dimension_is_an_input_beside_the_topic(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.examples.shop")
    from sluice_airflow.lineage.datasets import Datasets  # noqa: PLC0415 - once Airflow is set up

    data = Datasets(registry.load("known_orders"), "/data/root", "broker:9092")
    topic, customers, countries = data.topic(None)
    assert (topic.name, customers.name) == ("shop.orders", "/data/root/published/customers")
    assert countries.name.endswith("/shop/countries.csv")
    [shape] = customers.facets.values()
    assert [(field.name, field.type) for field in shape.fields] == [
        ("customer_id", "string"),
        ("valid_from", "timestamp"),
        ("valid_to", "timestamp"),
        ("country", "string"),
        ("segment", "string"),
    ]
    _, customers, countries = data.topic(roots.report("known_orders", inputs={"customers": 7}))
    assert customers.facets["version"].datasetVersion == "7"
    assert countries.facets.keys() == {"schema"}


def test_the_table_of_an_archive_has_the_columns_of_records():
    from sluice_airflow.lineage.datasets import Datasets  # noqa: PLC0415 - the home comes first

    table = Datasets(archive_spec(SPEC.topic, Archive()), "/data/root", "broker:9092").table(3)
    assert (table.namespace, table.name) == ("file", f"/data/root/archive/{SPEC.topic.name}")
    fields = table.facets["schema"].fields  # type: ignore[index, union-attr]
    assert tuple(field.name for field in fields) == COLUMNS
    assert [*table.facets["columnLineage"].fields] == [SPEC.topic.event_time]  # type: ignore[index, union-attr]
