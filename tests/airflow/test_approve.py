"""The approval of a repair, by the real operator, with Airflow's row and the API's answer."""

import uuid
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from airflow.providers.standard.exceptions import HITLTimeoutError
from airflow.sdk import DAG
from airflow.sdk.exceptions import DownstreamTasksSkipped

from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.ids import backfills
from spark_jobs.errors import SwapRefused
from spark_jobs.ops import repairs
from spark_jobs.registry import find as registry
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.repair.undo import reject
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span
from tests.harness import roots
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.repaired import SPEC, Root, row
from tests.unit.specs import OURS, deployed

NAME = "departure_delays"
REPAIR_ID = "20260301T120000-abcdef"
HOUR = Span(datetime(2013, 2, 1, 8, tzinfo=UTC), datetime(2013, 2, 1, 9, tzinfo=UTC))
pytestmark = pytest.mark.usefixtures("in_task")


@pytest.fixture
def dag() -> DAG:
    return build_backfill(registry.load(NAME))


@pytest.fixture
def paths(tmp_path, monkeypatch) -> Paths:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    return Paths(str(tmp_path), registry.load(NAME))


def staged(paths: Paths, approval: str, approved_by: str | None = None):
    """A repair that changes a row with a carrier like Markdown, and adds an unexplained one."""
    folder = paths.staging(REPAIR_ID)
    folder.mkdir(parents=True)
    new = {"carrier": "<b>|*UA*", "flights": 13}
    extra = {"carrier": "AA", "flights": 1}
    old = {"carrier": "<b>|*UA*", "flights": 12}
    rows = [
        {"op": "changed", "before": old, "after": new, "explained": True},
        {"op": "added", "before": None, "after": extra, "explained": False},
    ]
    deltalake.write_deltalake(str(folder / "changes"), pa.Table.from_pylist(rows))
    roots.manifest(
        NAME, repair_id=REPAIR_ID, generation="g", kind="backfill", spans=(HOUR,),
        differing=(HOUR,), table_version=7, added=1, changed=1, unexplained=1, approval=approval,
        approved_by=approved_by,
    ).write(folder / "manifest.json")  # fmt: skip
    known = {"pipeline": NAME, "repair_id": REPAIR_ID, "generation": "g", "kind": "backfill"}
    repairs.put(paths.root, [known | {"state": "staged", "staged_at": datetime.now(UTC)}])


def state(paths: Paths) -> str:
    return str(repairs.one(paths.root, NAME, REPAIR_ID)["state"])


def context(task: Any) -> Any:
    planned = {"repair_id": REPAIR_ID, "kind": "backfill"}
    ti = SimpleNamespace(
        try_number=1, map_index=-1, xcom_pull=lambda **_: planned, xcom_push=lambda **_: None
    )
    return {"ti": ti, "task": task}


def event(chosen: str) -> dict[str, Any]:
    """The answer, as Airflow hands it to execute_complete."""
    return {
        "chosen_options": [chosen], "params_input": {}, "responded_at": datetime.now(UTC),
        "responded_by_user": {"id": "1", "name": "ada"}, "timedout": False,
    }  # fmt: skip


@pytest.mark.parametrize(("approval", "by"), [("not needed", None), ("needed", "ada")])
def test_where_nobody_need_be_asked_it_returns_at_once(paths, dag, approval, by):
    """Also where it is cleared after somebody has approved."""
    staged(paths, approval, by)
    task = dag.get_task("approve")
    assert task.execute(context(task)) is None


def test_who_approves_is_in_the_manifest_and_without_that_it_may_not_be_swapped(paths, dag):
    staged(paths, "needed")
    assert not read_manifest(paths, REPAIR_ID).approved
    task = dag.get_task("approve")
    task.execute_complete(context(task), event("Approve"))
    manifest = read_manifest(paths, REPAIR_ID)
    assert (manifest.approved, manifest.approved_by) == (True, "ada")
    assert state(paths) == "staged", "until the swap"


def test_who_rejects_leaves_the_table_as_it_is(paths, dag):
    staged(paths, "needed")
    task = dag.get_task("approve")
    with pytest.raises(DownstreamTasksSkipped) as skipped:
        task.execute_complete(context(task), event("Reject"))
    assert set(skipped.value.tasks) == {"swap", "publish"}
    assert not read_manifest(paths, REPAIR_ID).approved
    assert state(paths) == "rejected"


@pytest.mark.parametrize("name", ["approve", "swap"])
def test_a_task_that_is_cleared_after_a_reject_is_refused_and_asks_nobody(paths, dag, name):
    staged(paths, "needed")
    reject(paths, REPAIR_ID, "ada")
    task = dag.get_task(name)
    declined = has(f"ada declined it at {datetime.now(UTC):%F} ")
    with fails(SwapRefused, "answered_no", answer=declined):
        task.execute(context(task) | {"run_id": "manual__1"})
    assert state(paths) == "rejected"


def test_of_a_no_that_an_older_sluice_recorded_it_says_that_a_person_said_it(paths, dag):
    staged(paths, "needed")
    known = repairs.one(paths.root, NAME, REPAIR_ID)
    assert known is not None
    repairs.put(paths.root, [known | {"state": "rejected"}])
    task = dag.get_task("approve")
    with fails(SwapRefused, "answered_no"):
        task.execute(context(task))


@pytest.fixture
def sales(tmp_path, monkeypatch) -> Root:
    """A pipeline with a table, of which a repair waits for a person."""
    made = Root(tmp_path / ROOT)
    made.drain(0, 5)
    deployed(tmp_path, monkeypatch, OURS)
    monkeypatch.setenv("SLUICE_ROOT", made.settings.root)
    made.stage(REPAIR_ID, [(None, row(1, "d"))], approval="needed", approved_by="ada")
    known = {"pipeline": SPEC.name, "repair_id": REPAIR_ID, "generation": "g1", "kind": "repair"}
    staged = {"state": "staged", "staged_at": datetime.now(UTC)}
    repairs.put(made.paths.root, [known | staged])
    return made


def unanswered(made: Root):
    """As a cleared stage leaves it: nobody was asked of these rows yet."""
    path = made.paths.staging(REPAIR_ID) / "manifest.json"
    read_manifest(made.paths, REPAIR_ID).model_copy(update={"approved_by": None}).write(path)


def test_nobody_is_asked_of_a_change_that_a_killed_swap_has_made(sales, monkeypatch):
    """A No that was given all the same fails the task, and what comes behind is not skipped."""
    with monkeypatch.context() as active:
        active.setattr(failpoint, "ACTIVE", {"swap.committed": "raise"})
        with pytest.raises(failpoint.Failure):
            sales.swap(REPAIR_ID)
    unanswered(sales)
    dag = build_backfill(SPEC)
    task = dag.get_task("approve")
    with fails(SwapRefused, "swap_begun"):
        task.execute_complete(context(task), event("Reject"))
    assert sales.states() == {REPAIR_ID: "staged"}
    assert task.execute(context(task)) is None
    swap = dag.get_task("swap")
    assert swap.execute(context(swap) | {"run_id": "manual__1"})["passed"]
    assert sales.states() == {REPAIR_ID: "swapped"}


def test_nobody_is_asked_where_the_spec_has_lost_its_ranges_meanwhile(sales, tmp_path, monkeypatch):
    unanswered(sales)
    complete = OURS.replace("()", "().model_copy(update={'output_mode': 'complete'})")
    deployed(tmp_path, monkeypatch, complete)
    task = build_backfill(registry.load(SPEC.name)).get_task("approve")
    with fails(SwapRefused, "ranges_unsupported_now"):
        task.execute(context(task))
    assert (sales.states(), sales.version) == ({REPAIR_ID: "staged"}, 6)


def test_a_question_that_nobody_answers_in_time_still_waits(paths, dag):
    """The task fails, and asks again once it is cleared."""
    staged(paths, "needed")
    task = dag.get_task("approve")
    late = {"error": "nobody answered", "error_type": "timeout"}
    with pytest.raises(HITLTimeoutError):
        task.execute_complete(context(task), late)
    assert state(paths) == "staged"


@pytest.mark.parametrize("shown", [True, False])
def test_a_person_is_asked_with_the_rows_if_values_are_shown_and_answers_by_the_api(
    api, paths, dag, monkeypatch, shown
):
    """Airflow's own runner, question and answer: only the scheduler's hand is ours."""
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown" if shown else "hidden")
    staged(paths, "needed")
    run = f"asked-{uuid.uuid4().hex[:6]}"
    base = f"/api/v2/dags/{backfills(NAME)}/dagRuns"
    begun = api.post(base, json={"dag_run_id": run, "logical_date": None})
    assert begun.status_code == 200, begun.text
    planned = {"key": "return_value", "value": {"repair_id": REPAIR_ID, "kind": "backfill"}}
    handed = api.post(f"{base}/{run}/taskInstances/plan/xcomEntries", json=planned)
    assert handed.status_code == 201, handed.text
    path = f"{base}/{run}/taskInstances/approve"
    task = dag.get_task("approve")
    run_in_airflow(api, path, task)
    assert api.get(path).json()["state"] == "awaiting_input"
    question = api.get(f"{path}/-1/hitlDetails").json()
    assert question["subject"] == f"{NAME}: change the table?"
    assert question["options"] == ["Approve", "Reject"]
    for text in ("| 1 | 0 | 1 | 1 |", "- 2013-02-01 08:00 to 09:00"):
        assert text in question["body"]
    # The row that no record explains comes first.
    rows = "| added, unexplained | AA | 1 |\n" r"| changed | &lt;b&gt;\|\*UA\* | 12 → **13** |"
    assert (rows in question["body"]) is shown
    assert ("UA" in question["body"]) is ("SLUICE_RECORD_BYTES" not in question["body"]) is shown
    wrong = api.patch(f"{path}/-1/hitlDetails", json={"chosen_options": ["Maybe"]})
    assert wrong.status_code == 400
    answer = api.patch(f"{path}/-1/hitlDetails", json={"chosen_options": ["Approve"]})
    assert answer.status_code == 200, answer.text
    assert api.get(path).json()["state"] == "scheduled"
    run_in_airflow(api, path, task)
    assert api.get(path).json()["state"] == "success"
    assert read_manifest(paths, REPAIR_ID).approved_by == "Anonymous", "who is signed in there"


def run_in_airflow(api: Any, path: str, task: Any):
    """Run the task's instance with Airflow's runner in this process, as the executor would."""
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415 - the database comes first
    from airflow.sdk.api.datamodels import _generated as sdk  # noqa: PLC0415
    from airflow.sdk.execution_time.supervisor import run_task_in_process  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    with create_session() as session:
        found = session.get(TaskInstance, uuid.UUID(api.get(path).json()["id"]))
        found.state = "queued"
        names = ("id", "task_id", "dag_id", "run_id", "try_number", "map_index", "dag_version_id")
        given = {name: getattr(found, name) for name in names}
    run_task_in_process(sdk.TaskInstance(**given), task)
