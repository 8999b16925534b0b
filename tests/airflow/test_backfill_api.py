"""What Airflow's REST API, and so its UI, does with the two DAGs of a pipeline and a backfill."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice_airflow.dags.backfill_dag import build_backfill
from spark_jobs.messages.kind import ASKED_KINDS
from spark_jobs.registry import find as registry
from spark_jobs.spec.analysis.ranged import unranged
from tests.airflow.metadata import add_dag, rest_api

DRAIN, BACKFILL = "departure_delays", "departure_delays__backfill"
WHOLE = "whole__backfill"
"""Of a pipeline in complete mode, whose ranges cannot be computed."""
DAYS = [datetime(2013, 2, day, tzinfo=UTC) for day in (1, 2, 3, 4)]


@pytest.fixture(scope="module")
def api(its_own_airflow) -> Iterator[Any]:
    with rest_api() as client:
        complete = {"name": "whole", "output_mode": "complete"}
        add_dag(build_backfill(registry.load(DRAIN).model_copy(update=complete)))
        yield client


def body(dag_id: str, first: datetime = DAYS[0], last: datetime = DAYS[2], **more: Any) -> Any:
    dates = {"from_date": first.isoformat(), "to_date": last.isoformat()}
    return {"dag_id": dag_id, **dates, **more}


def test_a_backfill_of_a_drain_is_refused(api):
    for path in ("/api/v2/backfills", "/api/v2/backfills/dry_run"):
        answer = api.post(path, json=body(DRAIN))
        assert answer.status_code == 400
        assert "does not allow backfill runs" in answer.json()["detail"]
    assert api.get(f"/api/v2/dags/{DRAIN}/dagRuns").json()["total_entries"] == 0


@pytest.mark.parametrize("name", registry.names())
def test_the_form_of_a_backfill_is_off_for_a_drain_and_on_for_the_dag_beside_it(api, name):
    facts = {dag["dag_id"]: dag for dag in api.get("/ui/dags?limit=100").json()["dags"]}
    assert facts[name]["is_backfillable"] is False
    ranged = unranged(registry.load(name)) is None
    assert facts[f"{name}__backfill"]["is_backfillable"] is ranged


def test_nothing_schedules_the_backfill_dag_and_it_is_not_paused(api):
    found = api.get(f"/api/v2/dags/{BACKFILL}").json()
    assert (found["is_paused"], found["next_dagrun_logical_date"]) == (False, None)
    assert found["timetable_summary"] == "0 0 * * *", "the dialog offers a backfill for a schedule"


def test_a_manual_run_and_a_materialization_of_a_drain_are_allowed(api):
    run = {"dag_run_id": "by-hand", "logical_date": None}
    assert api.post(f"/api/v2/dags/{DRAIN}/dagRuns", json=run).status_code == 200
    assets = api.get("/api/v2/assets").json()["assets"]
    [asset] = [asset for asset in assets if asset["name"] == DRAIN]
    answer = api.post(f"/api/v2/assets/{asset['id']}/materialize", json={})
    assert (answer.status_code, answer.json()["dag_id"]) == (200, DRAIN)


def test_the_dry_run_counts_the_days_of_which_the_first_and_the_last_are_included(api):
    found = api.post("/api/v2/backfills/dry_run", json=body(BACKFILL)).json()
    assert found["total_entries"] == 3
    dates = [datetime.fromisoformat(each["logical_date"]) for each in found["backfills"]]
    assert dates == DAYS[:3]


@pytest.mark.parametrize(
    "conf",
    [
        {"kind": "drain"}, {"kind": "reset"}, {"kind": None}, {"approve": "perhaps"},
        {"most_records": 0}, {"note": "x" * 501}, {"from": "2013-02-01T00:00"},
        {"to": "yesterday"},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_value_of_the_form_is_refused_when_a_run_is_asked_for(api, conf):
    for path in ("/api/v2/backfills", "/api/v2/backfills/dry_run"):
        answer = api.post(path, json=body(BACKFILL, dag_run_conf=conf))
        assert answer.status_code == 422, answer.text
        assert f"Invalid input for param {next(iter(conf))}" in answer.text
    run = {"logical_date": None, "conf": conf}
    assert api.post(f"/api/v2/dags/{BACKFILL}/dagRuns", json=run).status_code == 400


def test_a_backfill_of_three_days_is_three_runs_each_with_its_day(api):
    asked = body(BACKFILL, dag_run_conf={"kind": "verify", "note": "why"}, max_active_runs=1)
    answer = api.post("/api/v2/backfills", json=asked)
    assert answer.status_code == 200, answer.text
    again = api.post("/api/v2/backfills", json=asked)
    assert again.status_code == 409, "one backfill of a DAG at a time"
    runs = api.get(f"/api/v2/dags/{BACKFILL}/dagRuns?run_type=backfill").json()["dag_runs"]
    intervals = {
        tuple(datetime.fromisoformat(run[f"data_interval_{end}"]) for end in ("start", "end"))
        for run in runs
    }
    assert intervals == {(day, day + timedelta(days=1)) for day in DAYS[:3]}
    assert {run["run_type"] for run in runs} == {"backfill"}
    assert all(run["conf"] == asked["dag_run_conf"] for run in runs)
    backfill = answer.json()["id"]
    assert api.put(f"/api/v2/backfills/{backfill}/cancel").status_code == 200
    assert api.post("/api/v2/backfills/dry_run", json=asked).json()["total_entries"] == 0
    rerun = asked | {"reprocess_behavior": "completed"}
    assert api.post("/api/v2/backfills/dry_run", json=rerun).json()["total_entries"] == 3


def test_days_that_are_not_over_have_no_run(api):
    now = datetime.now(UTC)
    asked = body(BACKFILL, now - timedelta(days=2), now)
    dates = api.post("/api/v2/backfills/dry_run", json=asked).json()["backfills"]
    assert [datetime.fromisoformat(each["logical_date"]).date() for each in dates] == [
        (now - timedelta(days=1)).date()
    ]


# Airflow's own: it reads a field of its answer that it calls deprecated.
@pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
def test_the_form_tells_its_fields_and_what_each_kind_means(api):
    params = api.get(f"/api/v2/dags/{BACKFILL}/details").json()["params"]
    assert [*params] == ["kind", "from", "to", "approve", "reason", "note", "most_records"]
    kind = params["kind"]
    assert (kind["value"], kind["schema"]["enum"]) == ("repair", [*ASKED_KINDS])
    assert {*kind["schema"]["values_display"]} >= {*kind["schema"]["enum"]}
    assert all(each["schema"]["title"] and each["description"] for each in params.values())
    optional = {name for name, each in params.items() if "null" in each["schema"]["type"]}
    assert optional == {"from", "to", "approve", "reason", "note"}


# Airflow's own: it reads a field of its answer that it calls deprecated.
@pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
def test_a_pipeline_without_ranges_has_a_form_for_a_rebuild_and_no_backfill_over_days(api):
    answer = api.post("/api/v2/backfills", json=body(WHOLE))
    assert answer.status_code == 400, answer.text
    assert "does not allow backfill runs" in answer.json()["detail"]
    answer = api.post("/api/v2/backfills/dry_run", json=body(WHOLE))
    assert answer.status_code == 422, answer.text
    assert "does not support backfills" in answer.json()["detail"]
    assert api.get(f"/api/v2/dags/{WHOLE}/dagRuns").json()["total_entries"] == 0
    facts = {dag["dag_id"]: dag for dag in api.get("/ui/dags?limit=100").json()["dags"]}
    assert (facts[WHOLE]["is_backfillable"], facts[WHOLE]["is_paused"]) == (False, False)
    for kind in ("repair", "backfill", "verify", "replay"):
        run = {"logical_date": None, "conf": {"kind": kind}}
        answer = api.post(f"/api/v2/dags/{WHOLE}/dagRuns", json=run)
        assert answer.status_code == 400
        assert f"'{kind}' is not one of ['rebuild']" in answer.text
    params = api.get(f"/api/v2/dags/{WHOLE}/details").json()["params"]
    assert (params["kind"]["value"], params["kind"]["schema"]["type"]) == (None, "string"), "needed"
    for conf in ({}, {"note": "why"}, {"kind": None}):
        run = {"logical_date": None, "conf": conf}
        answer = api.post(f"/api/v2/dags/{WHOLE}/dagRuns", json=run)
        assert answer.status_code == 400
        assert "param kind: None is not one of ['rebuild']" in answer.text
        assert "rebuild: compute the whole table by" in answer.text
    assert api.get(f"/api/v2/dags/{WHOLE}/dagRuns").json()["total_entries"] == 0
    run = {"logical_date": None, "conf": {"kind": "rebuild", "note": "why"}}
    assert api.post(f"/api/v2/dags/{WHOLE}/dagRuns", json=run).status_code == 200
