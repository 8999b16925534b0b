"""The tasks of a drain as a group in a DAG of one's own: found as Airflow finds DAGs, and run by
Airflow's own runner with real tasks; spark-submit is some lines of shell, and leaves a report.
"""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk import DAG, BaseOperator, Context, TriggerRule

from sluice_airflow import drain_group
from spark_jobs.draft.new_project import write
from spark_jobs.errors import PipelineUnknown
from spark_jobs.runs import plan as planning
from spark_jobs.runs.plan import Plan
from spark_jobs.runs.publish import days
from spark_jobs.spec.analysis.ranged import Ranged
from tests.airflow.installed import Installed
from tests.airflow.metadata import REPO, add_dag, forget_events, no_other_dags
from tests.harness import roots
from tests.harness.ran import python
from tests.harness.refused import fails
from tests.unit.repaired import POSITION, SPEC, Root
from tests.unit.specs import OURS, deployed

NAME = SPEC.name
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TASKS = ("plan", "drain", "check_output", "check_state", "publish")
OWN = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator
from sluice_airflow import drain_group

with DAG("shop", default_args={"owner": "ana", "retries": 9}, schedule=None) as dag:
    orders = drain_group("orders", default_args={"pool": "kafka"})
    EmptyOperator(task_id="before") >> orders >> EmptyOperator(task_id="after")
"""
FOUND = """
import json, logging, sys
from airflow.dag_processing.dagbag import DagBag
from spark_jobs.settings.installation import Settings
bag = DagBag(sys.argv[1], bundle_path=sys.argv[1], bundle_name="test")
heavy = [each for each in ("pyspark", "deltalake", "pandas", "pyarrow") if each in sys.modules]
edges = {task.task_id: sorted(task.downstream_task_ids) for task in bag.dags["shop"].tasks}
drain = bag.dags["shop"].get_task("orders.drain")
told = {"dags": sorted(bag.dags), "errors": bag.import_errors, "heavy": heavy, "edges": edges,
        "drain": [drain.owner, drain.pool, drain.retries], "kafka": Settings.from_environment().kafka}
print(json.dumps(told, default=str))
"""


def test_in_a_project_a_dag_of_ones_own_lies_beside_the_dags_that_are_made(tmp_path):
    """From a working folder elsewhere, as of Airflow's processes; by its folder of DAGs alone."""
    write(tmp_path / "shop", "k:9092")
    spec = (REPO / "spark_jobs" / "pipelines" / "flight_events" / "spec.py").read_text()
    (own := tmp_path / "shop" / "pipelines" / "orders").mkdir()
    (own / "spec.py").write_text(spec.replace('name="flight_events"', 'name="orders"'))
    (tmp_path / "shop" / "dags" / "own.py").write_text(OWN)
    given = {name: text for name, text in os.environ.items() if not name.startswith("SLUICE_")}
    given |= {"AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "shop" / "dags")}
    given |= {"PYTHONPATH": f"{REPO}{os.pathsep}{REPO / 'plugins'}"}
    done = python(FOUND, tmp_path / "shop" / "dags", cwd=tmp_path, env=given)
    told = json.loads(done.stdout.splitlines()[-1])
    made = ["orders", "orders__accept", "orders__backfill", "sluice_maintain", "sluice_prove"]
    assert (told["dags"], told["errors"], told["heavy"]) == (sorted([*made, "shop"]), {}, [])
    assert told["edges"] == {
        "before": ["orders.plan"], "orders.plan": ["orders.drain"],
        "orders.drain": ["orders.check_output", "orders.check_state"],
        "orders.check_output": ["orders.publish"], "orders.check_state": ["orders.publish"],
        "orders.publish": ["after"], "after": [],
    }  # fmt: skip
    assert told["drain"] == ["ana", "kafka", 2], "retries are by what an error says"
    assert told["kafka"] == "k:9092"


def test_a_pipeline_that_is_not_there_is_refused():
    with DAG("shop", schedule=None), fails(PipelineUnknown, "folder_absent", pipeline="oders"):
        drain_group("oders")


class Notes(BaseOperator):
    """Does nothing."""

    def execute(self, context: Context):
        pass


@pytest.fixture
def root(api, tmp_path, monkeypatch) -> Root:
    """The pipeline's, in which a drain has written its rows and was judged."""
    forget_events()
    deployed(tmp_path, monkeypatch, OURS)
    # Its columns are not called as the spec's.
    monkeypatch.setattr(days, "ranged", lambda spec: Ranged(spec, POSITION))
    made = Root(tmp_path / roots.ROOT)
    made.drain(0, 2)
    return made


def shop() -> DAG:
    with DAG("shop", schedule=None) as dag:
        group = drain_group(NAME, default_args={"retries": 0})
        Notes(task_id="before") >> group
        group >> Notes(task_id="mart")
        group >> Notes(task_id="always", trigger_rule=TriggerRule.NONE_FAILED)
    return dag


def ran(dag: DAG, hour: int) -> dict[str, str]:
    with no_other_dags():
        run = dag.test(logical_date=NOON + timedelta(hours=hour))
    return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}


def states(of_group: dict[str, str], **others: str) -> dict[str, str]:
    return {f"{NAME}.{task}": of_group[task] for task in TASKS} | others


@pytest.mark.filterwarnings("ignore")  # Airflow's own
def test_the_group_drains_judges_and_publishes_and_what_is_behind_it_follows(
    api, root, tmp_path, monkeypatch
):
    add_dag(dag := shop())
    installed = Installed(tmp_path, monkeypatch)
    work = Plan(pipeline=NAME, new_offsets=5, reasons=("5 new offsets",), lines=())
    nothing = work.model_copy(update={"reasons": ()})
    failed = roots.check("failed")
    monkeypatch.setattr(planning, "plan", lambda *_: work)
    installed.spark_reports(roots.report(NAME, checks=(failed,)))
    bad = dict.fromkeys(("plan", "drain", "check_state"), "success")
    bad |= {"check_output": "failed", "publish": "upstream_failed"}
    behind = dict.fromkeys(("mart", "always"), "upstream_failed")
    assert ran(dag, 0) == states(bad, before="success", **behind), "the check reads its own report"
    installed.spark_reports(roots.report(NAME, checks=(roots.check("passed"),)))
    good = dict.fromkeys(TASKS, "success")
    assert ran(dag, 1) == states(good, before="success", mart="success", always="success")
    monkeypatch.setattr(planning, "plan", lambda *_: nothing)
    idle = dict.fromkeys(TASKS, "skipped") | {"plan": "success"}
    assert ran(dag, 2) == states(idle, before="success", mart="skipped", always="success")
    jobs = {job.partition('"run_id":"')[2].partition('"')[0] for job in installed.jobs}
    assert len(jobs) == 2
    assert all(f"-shop.{NAME}.try1" in job for job in jobs), "no run of the made DAG has its id"
