"""The kind rebuild of a backfill DAG: a real root, and a person who answers by the API."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG

from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.tasks.rebuild import question
from spark_jobs.admin.rebuild.beside import beside_paths, discard
from spark_jobs.admin.rebuild.switch import switch
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.errors import RangeInvalid, RebuildRefused, RecordsUnreachable
from spark_jobs.registry import find as registry
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.storage import failpoint
from tests.airflow.drains_beside import END, NEXT
from tests.airflow.installed import Installed, executed
from tests.airflow.metadata import run_dag, without_waiting
from tests.airflow.reports import NOON
from tests.harness.patience import patient
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.harness.turns import alike
from tests.unit.drains import SPEC, Drains, began

pytestmark = alike("a task of repairs")

PATIENCE_SECONDS = patient(60)
PYTHON = sys.executable


class Installation(Installed):
    """A live table with the rows 0 to 4, a topic with one record more, and NEXT in spec.py."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch):
        super().__init__(folder, patch)
        self.patch = patch
        self.live = Drains(folder / ROOT)
        self.live.drain(0, 4)
        began(self.live, "g1")
        self.spark_does(f'exec {PYTHON} -m tests.airflow.drains_beside "$@"')
        patch.setattr(registry, "load", lambda _: SPEC)
        self.next_is(NEXT)
        self.topic_has(6)

    def next_is(self, spec: Any):
        self.patch.setattr(registry, "load_next", lambda _: spec)

    def topic_has(self, end: int, earliest: int = 0):
        """What the brokers say."""
        state = SourceState("topic-1", Positions({0: earliest}), Positions({0: end}))
        says(self.patch, state)
        self.patch.setenv(END, str(end))

    @property
    def version(self) -> int | None:
        fact = read_live(self.live.paths)
        return fact.version if fact else None


@pytest.fixture
def installation(tmp_path, monkeypatch) -> Installation:
    return Installation(tmp_path, monkeypatch)


def ran(api: Any, dag: DAG, number: int, answer: str, meanwhile: Any = None) -> tuple[str, str]:
    """The state of a DAG run, and its question; before a person answers, something else is done."""
    at = NOON + timedelta(days=number)

    def person() -> str:
        base = f"/api/v2/dags/{dag.dag_id}/dagRuns"
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            time.sleep(0.2)
            for run in api.get(base).json().get("dag_runs", []):
                path = f"{base}/{run['dag_run_id']}/taskInstances/approve"
                # A repair behind a drain, of another test, has none.
                if not str(run["logical_date"]).startswith(f"{at:%F}"):
                    continue
                assert run["state"] == "running", run["state"]
                if api.get(path).json().get("state") != "awaiting_input":
                    continue
                question = api.get(f"{path}/-1/hitlDetails").json()
                if meanwhile:
                    meanwhile()
                said = api.patch(f"{path}/-1/hitlDetails", json={"chosen_options": [answer]})
                assert said.status_code == 200, said.text
                return str(question["body"])
        raise AssertionError("nobody was asked")

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(person)
        return run_dag(dag, at, kind="rebuild"), asked.result()


def test_a_rebuild_is_computed_asks_is_rejected_goes_on_catches_up_and_switches(api, installation):
    live, dag = installation.live, without_waiting(build_backfill(SPEC))
    # A drain's: the whole history takes longer.
    dag.get_task("stage").execution_timeout = timedelta(seconds=0.001)
    before = live.table.version()
    state, question = ran(api, dag, 1, "Reject")
    assert state == "success"
    assert "5 rows -> 6, 0 changed, 1 added, 0 removed" in question
    assert "1 late records stay waiting: sales" in question
    assert (live.table.version(), installation.version) == (before, None)
    assert read_begun(live.paths) is not None

    def drains_go_on():
        installation.topic_has(8)
        live.drain(5, 7)

    state, question = ran(api, dag, 2, "Approve", drains_go_on)
    assert state == "success"
    assert "State version 2" in question
    after = Drains.of(live.settings.root, NEXT)
    assert after.rows == [*range(8)], "it has caught up with what was drained before the answer"
    assert (live.table.version(), installation.version) == (before + 3, 2)
    assert read_begun(live.paths) is None
    kinds = [kind for kind, _ in live.ops("runs", "kind, run_id")]
    assert kinds == ["drain", "drain", "rebuild", "rebuild"]


def test_the_form_of_a_pipeline_without_ranges_rebuilds_it(api, installation):
    """It has no range and no approval to fill in. The DAG alone is that of another spec."""
    dag = without_waiting(build_backfill(SPEC.model_copy(update={"output_mode": "complete"})))
    assert [*dag.params] == ["kind", "note", "most_records"]
    state, question = ran(api, dag, 3, "Approve")
    assert state == "success"
    assert "State version 2" in question
    after = Drains.of(installation.live.settings.root, NEXT)
    assert (after.rows, installation.version) == ([*range(6)], 2)


def run(task_id: str, handed_over: dict[str, Any], **filled_in: Any) -> Any:
    """One task, as Airflow's runner executes it."""
    dag = build_backfill(SPEC)
    task = dag.get_task(task_id)
    params = {name: dag.params.get_param(name).value for name in dag.params}
    return executed(
        task,
        lambda *, task_ids, key=None: handed_over.get(key or task_ids),
        dag_run=SimpleNamespace(run_type="manual", triggering_user_name="ada"),
        params={**params, "kind": "rebuild", **filled_in},
    )


@pytest.mark.usefixtures("in_task")
def test_a_plan_refuses_what_cannot_be_in_words_and_begins_nothing(installation):
    with fails(RangeInvalid, "too_many_for_rebuild", left=6, most_records=5):
        run("plan", {}, most_records=5)
    with fails(RangeInvalid, "fields_refused", fields="approve"):
        run("plan", {}, approve="never")
    installation.topic_has(6, earliest=2)
    with fails(RecordsUnreachable, "gone_since_table", count=2):
        run("plan", {})
    installation.next_is(None)
    with fails(RebuildRefused, "no_next"):
        run("plan", {})
    assert read_begun(installation.live.paths) is None
    assert ("rebuild", "REBUILD_REFUSED") in installation.live.ops("runs", "kind, problem")


@pytest.mark.usefixtures("in_task")
def test_a_question_needs_a_rebuild_and_a_switch_the_answer_of_this_run(installation):
    planned = run("plan", {})
    assert (planned["kind"], planned["offsets"]) == ("rebuild", 6)
    with fails(RebuildRefused, "no_rebuild"):
        run("approve", {"plan": planned})
    run("stage", {"plan": planned})
    approved = asked(installation, planned)
    for answer in (None, {"chosen_options": ["Reject"]}):
        with fails(RebuildRefused, "not_approved"):
            run("swap", approved | {"approve": answer})
    with fails(RebuildRefused, "not_approved"):
        run("swap", {"plan": planned, "approve": YES})
    older = {"began": "2026-01-01", "computed": "g2"}  # as another version of Sluice asked
    with fails(RebuildRefused, "question_outdated"):
        run("swap", approved | {"shown": older})
    assert installation.version is None
    assert run("swap", approved)["state_version"] == installation.version == 2
    again = run("swap", approved)
    assert again == {"state_version": 2}, "cleared and tried again it changes nothing"


YES = {"chosen_options": ["Approve"]}


def asked(installation: Installation, planned: dict[str, Any]) -> dict[str, Any]:
    """What the tasks before the swap have handed over, of which a person has approved."""
    _, about = question("", SPEC.name, installation.live.settings)
    return {"plan": planned, "approve": YES, "shown": about}


def made_anew(it: Installation, approved: dict[str, Any]) -> dict[str, Any]:
    discard(it.live.paths)()
    again: dict[str, Any] = run("plan", {})
    run("stage", {"plan": again})
    return again


def next_changed(it: Installation, approved: dict[str, Any]) -> dict[str, Any]:
    it.next_is(NEXT.model_copy(update={"on_lost_records": "skip"}))
    again: dict[str, Any] = run("plan", {})
    return again


def live_rewound(it: Installation, approved: dict[str, Any]) -> dict[str, Any]:
    it.live.identity.model_copy(update={"generation": "g9"}).write(it.live.paths.identity)
    return dict(approved["plan"])


def side_rewound(it: Installation, approved: dict[str, Any]) -> dict[str, Any]:
    side = beside_paths(it.live.paths, NEXT)
    Identity.read(side.identity).model_copy(update={"generation": "g9"}).write(side.identity)
    return dict(approved["plan"])


@pytest.mark.usefixtures("in_task")
@pytest.mark.parametrize(
    ("meanwhile", "words"),
    [
        (made_anew, "the rebuild"),
        (next_changed, "NEXT"),
        (live_rewound, "the live table"),
        (side_rewound, "what is computed"),
    ],
)
def test_an_answer_holds_only_for_what_the_question_showed(installation, meanwhile, words):
    planned = run("plan", {})
    run("stage", {"plan": planned})
    approved = asked(installation, planned)
    now = approved | {"plan": meanwhile(installation, approved)}
    with fails(RebuildRefused, "question_outdated", differing=words):
        run("swap", now)
    assert installation.version is None


@pytest.mark.usefixtures("in_task")
def test_what_retention_took_since_the_plan_is_refused_before_a_read_or_switch(installation):
    planned = run("plan", {})
    installation.topic_has(6, earliest=2)
    with fails(RecordsUnreachable, "gone_since_table", count=2):
        run("stage", {"plan": planned})
    assert not beside_paths(installation.live.paths, NEXT).checkpoint.exists()
    installation.topic_has(6)
    run("stage", {"plan": planned})
    approved = asked(installation, planned)
    installation.live.drain(5, 7)
    installation.topic_has(9, earliest=7)
    with fails(RecordsUnreachable, "gone_since_table", count=1):
        run("swap", approved)
    assert installation.version is None
    installation.topic_has(9, earliest=6)
    assert run("swap", approved)["state_version"] == 2


class Killed(Exception):
    """What a kill is to a test."""


@pytest.mark.usefixtures("in_task")
def test_somebody_elses_switch_that_was_cut_off_does_not_count_as_the_one_that_was_approved(
    installation, monkeypatch
):
    planned = run("plan", {})
    run("stage", {"plan": planned})
    approved = asked(installation, planned)
    installation.topic_has(5)

    def at(_: str):
        raise Killed

    with monkeypatch.context() as active:
        active.setattr(failpoint, "at", at)
        with pytest.raises(Killed):
            switch(SPEC, NEXT, installation.live.settings.root, "another")
    other = {"shown": approved["shown"] | {"what is computed": "g9"}}
    with fails(RebuildRefused, "next_is_live"):
        run("swap", approved | other)
    assert installation.version == 2, "it is completed, since no drain goes on without"
