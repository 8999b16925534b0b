"""The task plan of a backfill DAG: what it hands over, what it skips, what it leaves on disk."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import DownstreamTasksSkipped

from sluice_airflow.dags.backfill_dag import build_backfill
from spark_jobs.errors import RangeInvalid, RangeOpen
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.repair import planner as planning
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span
from tests.airflow.installed import executed
from tests.harness import roots

NAME = "departure_delays"
DAY = Span(datetime(2013, 2, 1, tzinfo=UTC), datetime(2013, 2, 2, tzinfo=UTC))
pytestmark = pytest.mark.usefixtures("in_task")


@pytest.fixture
def paths(tmp_path, monkeypatch) -> Paths:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    return Paths(str(tmp_path), registry.load(NAME))


def planned(*spans: Span) -> RepairPlan:
    return roots.repair_plan(
        NAME, repair_id="20260301T120000-abcdef", kind="backfill", spans=spans, records=10,
        parts={0: ((0, 10),)} if spans else {}, until=DAY.end, lines=("the plan",),
    )  # fmt: skip


def run(**filled_in: Any) -> Any:
    dag = build_backfill(registry.load(NAME))
    task = dag.get_task("plan")
    params = {name: dag.params.get_param(name).value for name in dag.params}
    return executed(
        task,
        run_id="backfill__1",
        dag_run=SimpleNamespace(run_type="backfill", triggering_user_name="ada"),
        params={**params, **filled_in},
        data_interval_start=DAY.start,
        data_interval_end=DAY.end,
    )


def test_with_nothing_to_do_every_later_task_is_skipped_and_nothing_is_written(paths, monkeypatch):
    monkeypatch.setattr(planning, "plan_repair", lambda *_: planned())
    with pytest.raises(DownstreamTasksSkipped) as skipped:
        run()
    later = {"stage", "check_output", "check_change", "approve", "swap", "publish"}
    assert set(skipped.value.tasks) == later
    assert not paths.stagings.exists()


def test_the_plan_is_where_the_stage_reads_it_and_its_id_is_handed_over(paths, monkeypatch):
    asked: list[Request] = []
    monkeypatch.setattr(
        planning, "plan_repair", lambda *given: asked.append(given[2]) or planned(DAY)
    )
    handed = run(kind="verify")
    assert handed == {
        "repair_id": "20260301T120000-abcdef", "kind": "backfill", "offsets": 10, "idle": False,
    }  # fmt: skip
    assert RepairPlan.read(paths.staging(handed["repair_id"]) / "plan.json") == planned(DAY)
    [request] = asked
    assert (request.kind, request.span, request.who) == ("verify", DAY, "ada")


@pytest.mark.parametrize("error", [RangeOpen("drains still write."), RangeInvalid("too many.")])
def test_one_that_is_refused_fails_without_a_skip_and_is_in_ops_runs(paths, monkeypatch, error):
    """Airflow takes a skipped run for done: nobody would ask for its day again."""

    def plan(*_: object) -> RepairPlan:
        raise error

    monkeypatch.setattr(planning, "plan_repair", plan)
    with pytest.raises(type(error)):
        run()
    [row] = ops_tables.query(paths.root, "runs", "SELECT run_id, problem FROM runs").to_pylist()
    assert row == {"run_id": "backfill__1-repair-try1", "problem": error.code}
