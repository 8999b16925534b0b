"""What a run of a drain's DAG starts: a repair of late records, and the DAGs that run by day."""

import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator, Context, PartitionedAssetTimetable
from airflow.sdk.exceptions import AirflowSkipException

from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.dags.dag import build
from sluice_airflow.tasks.after_drain import RepairOperator
from sluice_airflow.tasks.publish import PublishOperator, days_of
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.runs.publish import days
from spark_jobs.spec import Ranges
from spark_jobs.spec.analysis.ranged import Ranged
from tests.airflow.metadata import add_dag, no_other_dags
from tests.harness.roots import ROOT
from tests.harness.turns import alike
from tests.unit.checkpoints import plan_batch
from tests.unit.repaired import DAY, POSITION, SPEC, Root, row

pytestmark = alike("a task of repairs")

NAME = SPEC.name
AFTER_DRAIN = SPEC.model_copy(update={"ranges": Ranges(repair="after drain")})
BACKFILL = f"{NAME}__backfill"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def root(tmp_path, monkeypatch) -> Root:
    """The pipeline's root, where tasks find it."""
    load = registry.load
    monkeypatch.setattr(registry, "load", lambda name: SPEC if name == NAME else load(name))
    # Its columns are not called as the spec's.
    monkeypatch.setattr(days, "ranged", lambda spec: Ranged(spec, POSITION))
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / ROOT))
    return Root(tmp_path / ROOT, hourly=True)


class Publishes(BaseOperator):
    """Stands where publish does, and succeeds, fails or is skipped."""

    def __init__(self, *, fails: bool, skips: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.fails = fails
        self.skips = skips

    def execute(self, context: Context):  # noqa: ARG002 - Airflow passes it
        if self.skips:
            raise AirflowSkipException("as the test says")
        assert not self.fails, "as the test says"


def ran(dag: DAG, hour: int) -> tuple[str, dict[str, str]]:
    """The state of one DAG run, and of each of its tasks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Airflow's own
        with no_other_dags():
            run = dag.test(logical_date=NOON + timedelta(hours=hour))
        return str(run.state), {ti.task_id: str(ti.state) for ti in run.get_task_instances()}


def behind_a_drain(*, fails: bool = False, stopped: bool = False) -> DAG:
    """`stopped`: a person has marked the run as failed, so that publish is skipped."""
    with DAG("drains", schedule=None) as dag:
        repair = RepairOperator(task_id="repair", pipeline=NAME).as_teardown()
        Publishes(task_id="publish", fails=fails, skips=stopped) >> repair
        if stopped:
            Publishes(task_id="drain", fails=True) >> repair
    return dag


def started(api: Any) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = api.get(f"/api/v2/dags/{BACKFILL}/dagRuns").json()["dag_runs"]
    return runs


def one_is_late(root: Root):
    root.drain(0, 9)
    clock = int((DAY + timedelta(hours=6)).timestamp() * 1000)
    plan_batch(root.folder, 9, {0: 10}, clock, topic="sales")
    late: dict[str, Any] = {"pipeline": NAME, "generation": "g1", "batch_id": 9, "run_id": "r"}
    late |= {"partition": 0, "offset": 3, "event_time": DAY + timedelta(hours=1)}
    late |= {"watermark_missed": DAY + timedelta(hours=6)}
    ops_tables.append(root.paths.root, "late", [late])


def test_late_records_start_one_repair_and_never_a_second_beside_it(api, root):
    add_dag(dag := behind_a_drain(), build_backfill(SPEC))
    root.drain(0, 0)
    assert ran(dag, 0) == ("success", {"publish": "success", "repair": "skipped"})
    assert started(api) == [], "nothing is late"
    one_is_late(root)
    assert ran(behind_a_drain(fails=True), 1)[0] == "failed"
    assert started(api) == [], "the drain's rows were not published"
    assert ran(behind_a_drain(stopped=True), 9)[1]["repair"] == "skipped"
    assert started(api) == [], "a person has stopped the drain"
    assert ran(dag, 2) == ("success", {"publish": "success", "repair": "success"})
    [run] = started(api)
    assert (run["run_type"], run["logical_date"], run["state"]) == (
        "operator_triggered",
        None,
        "queued",
    )
    assert run["conf"]["kind"] == "repair"
    assert run["dag_run_id"].startswith("after_drain__")
    assert ran(dag, 3) == ("success", {"publish": "success", "repair": "skipped"})
    assert len(started(api)) == 1, "that one is not over"
    path = f"/api/v2/dags/{BACKFILL}/dagRuns/{run['dag_run_id']}"
    assert api.patch(path, json={"state": "failed"}).status_code == 200
    ran(dag, 4)
    assert len(started(api)) == 2, "it was killed before it tried anything"


def test_a_repair_that_cannot_be_started_leaves_the_verdict_of_the_drain(api, root):
    one_is_late(root)
    add_dag(dag := behind_a_drain())
    dag.get_task("repair").trigger_dag_id = "no_such_dag"
    assert ran(dag, 5) == ("success", {"publish": "success", "repair": "failed"})


def test_the_task_is_there_where_the_spec_says_so_and_the_page_too():
    assert "repair" not in build(SPEC).task_ids
    dag = build(AFTER_DRAIN)
    assert dag.get_task("publish").downstream_task_ids == {"repair"}
    assert dag.get_task("repair").is_teardown
    assert "`repair` starts it when late records wait" in (dag.doc_md or "")


def consumer() -> DAG:
    by_day = PartitionedAssetTimetable(assets=days_of(NAME))
    with DAG("by_the_day", schedule=by_day, is_paused_upon_creation=False) as dag:
        Publishes(task_id="read", fails=False)
    return dag


def days_begun() -> list[str]:
    """The partitions for which Airflow's scheduler starts the consumer now."""
    from airflow.jobs.job import Job  # noqa: PLC0415 - the home comes first
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner  # noqa: PLC0415
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    with create_session() as session:
        before = session.scalars(select(DagRun.id).filter_by(dag_id="by_the_day")).all()
        SchedulerJobRunner(Job())._create_dagruns_for_partitioned_asset_dags(session=session)  # noqa: SLF001 - what its loop calls
        session.flush()
        new = select(DagRun.partition_key).where(
            DagRun.dag_id == "by_the_day", DagRun.id.not_in(before)
        )
        return sorted(str(key) for key in session.scalars(new))


def days_told() -> list[tuple[str, int]]:
    """Partition and table version of each event. Airflow's API fails while a run waits to start."""
    from airflow.models.asset import AssetEvent  # noqa: PLC0415 - the home comes first
    from airflow.utils.session import create_session  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    with create_session() as session:
        events = session.scalars(select(AssetEvent)).all()
        return [
            (str(each.partition_key), each.extra["table_version"])
            for each in events
            if each.asset.name == f"{NAME}-days"
        ]


def test_a_dag_of_days_runs_for_those_that_a_drain_ended_or_a_repair_changed(api, root):
    with DAG("tells", schedule=None) as drains:
        PublishOperator(task_id="publish", pipeline=NAME, by_day=True)
    with DAG("repairs", schedule=None) as repairs:
        PublishOperator(task_id="publish", pipeline=NAME, by_day=True, materializes=False)
    add_dag(drains, repairs, consumer())
    root.drain(0, 49)
    assert (ran(drains, 6)[0], days_begun()) == ("success", ["2026-03-01", "2026-03-02"])
    root.drain(50, 50)
    assert ran(drains, 7)[0] == "success"
    assert days_begun() == [], "no day ended"
    root.stage("r1", [(row(30, "a"), row(30, "a", 2))])
    root.swap("r1")
    assert (ran(repairs, 8)[0], days_begun()) == ("success", ["2026-03-02"])
    assert sorted(days_told()) == [("2026-03-01", 50), ("2026-03-02", 50), ("2026-03-02", 52)]
    assert api.get("/api/v2/eventLogs?event=missing partition key").json()["total_entries"] == 0
