"""The views: who may see what, and what they show, through Airflow's API server, its own auth
manager and real ops tables.
"""

from __future__ import annotations

import asyncio
import html
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract.report import Account, CheckResult, Problem, Report, StateUse
from spark_jobs.contract.store import opened
from spark_jobs.ops import ops_tables
from spark_jobs.runs.run_record import append_row
from tests.airflow.metadata import rest_api

REPO = Path(__file__).parents[2]
MINE, OTHER = "departure_delays", "flight_events"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\"'>\u202eevil\x1b[31m\x00" + "x" * 5_000_000
PAGE = {"accept": "text/html"}
Client = Any


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ops tables of two pipelines, each with a failed drain whose texts are hostile."""
    folder = tmp_path_factory.mktemp("root")
    for name in (MINE, OTHER):
        for place in range(3):
            append_row(_report(name, place), str(folder))
        _tables(opened(str(folder)), name)
    return folder


def _report(name: str, place: int) -> Report:
    began = NOON + timedelta(hours=place)
    failed = place == 2
    check = CheckResult(
        suite="output",
        type="expect_column_values_to_not_be_null",
        column="origin",
        severity="critical",
        outcome="failed" if failed else "passed",
        observed=str(place),
        sample=HOSTILE,
        unexpected=3 * failed,
    )
    return Report(
        pipeline=name,
        run_id=f"scheduled__{place}+00:00-try1",
        status="failed" if failed else "succeeded",
        problem=Problem(code="CHECK_FAILED", what=HOSTILE, remedy=HOSTILE) if failed else None,
        started_at=began,
        ended_at=began + timedelta(minutes=1),
        generation="g1",
        batches=(place,),
        offsets_end={"0": 100 * (place + 1)},
        account=Account(covered=100, read=100, accepted=90, duplicates=5, late=10, rows_out=85),
        state=StateUse(rows=1000 * (place + 1)),
        checks=(check,),
        seconds={"query": 3.0},
    )


def _tables(root: Any, name: str) -> None:
    own = {"pipeline": name, "generation": "g1"}
    batches = [
        own
        | {
            "batch_id": place,
            "run_id": f"scheduled__{place}+00:00-try1",
            "audited_at": NOON + timedelta(hours=place),
            "read": 100,
            "accepted": 90,
            "state_rows": 1000 * (place + 1),
            "operators": [{"step": 0, "kind": "deduplicate", "numRowsTotal": 1000 * (place + 1)}],
        }
        for place in range(3)
    ]
    ops_tables.append(root, "batches", batches)
    record = own | {
        "batch_id": 2,
        "run_id": "scheduled__2+00:00-try1",
        "topic": "t",
        "partition": 0,
        "kafka_timestamp": NOON,
        "value": b"secret of a person",
        "key": b"secret of a person",
    }
    late = {
        "offset": 7,
        "step": "deduplicate",
        "event_time": NOON - timedelta(minutes=11),
        "watermark_missed": NOON - timedelta(minutes=1),
    }
    bad = {"offset": 8, "kind": "malformed", "reason": HOSTILE}
    ops_tables.append(root, "late", [record | late])
    ops_tables.append(root, "quarantine", [record | bad])
    checks = [
        own | {"suite": "output", "type": "expect_column_values_to_not_be_null", "column": "origin"}
        | {"checked_at": NOON + timedelta(hours=place, minutes=1), "observed": str(place)}
        for place in range(3)
    ]  # fmt: skip
    ops_tables.append(root, "checks", checks)


@pytest.fixture(scope="module")
def server(its_own_airflow: None, root: Path) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "tests.airflow.one_dag.OneDag")
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "False")
        patch.setenv("SLUICE_ROOT", str(root))
        with rest_api() as client:
            client.follow_redirects = False
            yield client


@pytest.fixture
def get(server: Client) -> Callable[..., Any]:
    """Get an address, as the user with this name: a DAG's id, of which the DAG is the one they may
    read; or nobody.
    """

    def as_user(path: str, user: str | None = MINE, *, page: bool = False, **more: Any) -> Any:
        from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415 - the home comes first
        from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

        headers = dict(PAGE) if page else {}
        server.cookies.clear()
        if user is not None:
            known = SimpleAuthManagerUser(username=user, role="viewer", teams=None)
            server.cookies.set("_token", get_auth_manager().generate_jwt(known))
        return server.get(f"/sluice{path}", headers=headers | more.pop("headers", {}), **more)

    return as_user


def routes() -> list[Any]:
    """All routes of the app, however they came into it."""
    from starlette.routing import Mount  # noqa: PLC0415

    from sluice_airflow.web.app import create_app  # noqa: PLC0415 - the home comes first

    found = create_app().routes
    assert not [each for each in found if isinstance(each, Mount)], "a mounted app asks nobody"
    return found


def addresses(pipeline: str, run: str = "scheduled__2%2B00%3A00-try1") -> list[str]:
    """An address of each route."""
    values = {
        "{pipeline}": pipeline,
        "{dag_id}": pipeline,
        "{name}": "sluice.js",
        "{dag_run_id:path}": "scheduled__2%2B00%3A00",
    }
    found = []
    for route in routes():
        path = route.path
        for name, value in values.items():
            path = path.replace(name, value)
        assert "{" not in path, f"give this test a value for {path}"
        found.append(f"{path}?run_id={run}" if path.endswith("/run") else path)
    assert len(found) > 14
    return found


def test_no_route_answers_a_person_who_is_not_logged_in(get: Callable[..., Any]) -> None:
    for address in addresses(MINE):
        answer = get(address, None)
        assert (answer.status_code, answer.json()) == (401, {"detail": "Not authenticated"}), (
            address
        )
        forged = get(address, None, headers={"authorization": "Bearer e30.e30.e30"})
        assert forged.status_code == 403, address


def test_a_browser_without_login_is_sent_there_and_back(get: Callable[..., Any]) -> None:
    answer = get("/pipelines/departure_delays?page=1", None, page=True)
    assert answer.status_code == 303
    assert answer.headers["location"] == (
        "/api/v2/auth/login?next=%2Fsluice%2Fpipelines%2Fdeparture_delays%3Fpage%3D1"
    )


def test_every_route_answers_for_ones_own_pipeline_and_none_names_or_shows_anothers(
    get: Callable[..., Any],
) -> None:
    own, others = addresses(MINE), addresses(OTHER)
    for mine, other in zip(own, others, strict=True):
        answer = get(mine)
        assert answer.status_code == 200, mine
        assert OTHER not in answer.text, mine
        if mine != other:
            assert get(other).status_code == 404, other
            absent = get(other.replace(OTHER, "no_such_pipeline"))
            assert (get(other).status_code, get(other).text) == (absent.status_code, absent.text)
            shown = [get(each, page=True) for each in (other, other.replace(OTHER, "nowhere"))]
            assert shown[0].text == shown[1].text
            assert shown[0].status_code == 404 or "/api/" in other


def test_the_tabs_of_a_dag_and_of_its_backfills_show_the_pipeline_of_each(
    get: Callable[..., Any],
) -> None:
    everything = "everything"
    assert f"<h1>{MINE}</h1>" in get(f"/dags/{MINE}", everything, page=True).text
    assert f"<h1>{MINE}</h1>" in get(f"/dags/{MINE}__backfill", everything, page=True).text
    assert get("/dags/sluice_maintain", everything, page=True).status_code == 404
    run = "scheduled__2%2B00%3A00"
    assert "CHECK_FAILED" in get(f"/dags/{MINE}/runs/{run}", everything, page=True).text
    none = get(f"/dags/{MINE}__backfill/runs/{run}", everything, page=True)
    assert "No run yet" in none.text, "a backfill with the id of a drain's DAG run is another run"
    assert "No run yet" in get(f"/dags/{MINE}/runs/scheduled_%25", everything, page=True).text


def test_a_user_who_may_read_dags_and_not_their_runs_sees_no_pipeline(
    get: Callable[..., Any],
) -> None:
    assert get("/api/pipelines", "no runs").json() == {"pipelines": []}
    assert get(f"/api/pipelines/{MINE}/late", "no runs").status_code == 404


def test_a_user_without_a_role_sees_no_pipeline(server: Client) -> None:
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415 - the home comes first
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

    user = SimpleAuthManagerUser(username="everything", role=None, teams=None)
    server.cookies.clear()
    server.cookies.set("_token", get_auth_manager().generate_jwt(user))
    assert server.get("/sluice/api/pipelines").json() == {"pipelines": []}


def test_every_answer_forbids_what_a_record_could_start(get: Callable[..., Any]) -> None:
    policy = None
    for address in [*addresses(MINE), "/nowhere", "/pipelines/nobodys"]:
        for user in (MINE, None):
            headers = get(address, user, page=True).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"


def test_no_route_changes_anything() -> None:
    assert {method for route in routes() for method in route.methods} <= {"GET", "HEAD"}


def test_hostile_text_is_text_and_is_cut_and_no_page_has_a_script_or_a_record_s_bytes(
    get: Callable[..., Any],
) -> None:
    shown = ""
    for address in addresses(MINE):
        if address.startswith(("/api/", "/static/")):
            continue
        text = get(address, page=True).text
        assert len(text) < 50_000
        assert "<script>" not in text
        assert text.count("<script") == text.count("<script src=") == 1
        assert not any(found in text for found in (" style=", " onload=", "javascript:"))
        assert not any(found in text for found in ("\u202e", "\x1b", "\x00", "secret of a person"))
        shown += html.unescape(text)
    assert r"<script>alert(1)</script>" in shown
    assert r"\u202eevil\x1b[31m\x00" in shown
    assert "more characters)" in shown
    for table in ("late", "quarantine"):
        assert "secret" not in get(f"/api/pipelines/{MINE}/{table}").text


def test_the_overview_has_each_pipeline_with_its_last_runs_and_what_waits(
    get: Callable[..., Any],
) -> None:
    [line] = get("/api/pipelines").json()["pipelines"]
    assert (line["pipeline"], line["late"], line["quarantined"]) == (MINE, 1, 1)
    assert [run["state_rows"] for run in line["runs"]] == [3000, 2000, 1000]
    both = get("/api/pipelines", "everything").json()["pipelines"]
    assert {MINE, OTHER} <= {each["pipeline"] for each in both}
    row = get("/", page=True).text.split("<tbody>")[1]
    assert "CHECK_FAILED" in row
    assert "+2000" in row, "it grows"


def test_pages_of_runs_and_batches_follow_each_other(get: Callable[..., Any]) -> None:
    for table, name in (("runs", "run_id"), ("batches", "batch")):
        whole = get(f"/api/pipelines/{MINE}/{table}").json()
        parts = [get(f"/api/pipelines/{MINE}/{table}?limit=1&offset={n}").json() for n in range(3)]
        assert [part[table][0][name] for part in parts] == [each[name] for each in whole[table]]
        assert [part["more"] for part in parts] == [True, True, False]
        assert get(f"/api/pipelines/{MINE}/{table}?limit=5001").status_code == 422


def test_a_run_has_its_account_its_batches_and_each_check_with_what_it_observed_before(
    get: Callable[..., Any],
) -> None:
    found = get(f"/api/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1").json()
    assert found["account"]["late"] == 10
    assert [batch["batch"] for batch in found["batches"]] == [2]
    [check] = found["checks"]
    assert (check["result"]["observed"], check["history"]) == ("2", ["1", "0"])
    assert found["next_command"] == f"sluice show checks --pipeline {MINE}"
    assert get(f"/api/pipelines/{MINE}/run?run_id=none' OR 'a'='a").status_code == 404


def test_the_late_records_of_a_day_are_counted_and_each_says_by_how_much(
    get: Callable[..., Any],
) -> None:
    found = get(f"/api/pipelines/{MINE}/late").json()
    assert found["days"] == [{"day": "2026-03-01", "reason": "deduplicate", "records": 1}]
    assert "0:10:00" in get(f"/pipelines/{MINE}/late", page=True).text


def test_the_schema_of_the_routes_is_one_of_them(get: Callable[..., Any]) -> None:
    paths = get("/api/openapi.json").json()["paths"]
    assert "/api/pipelines/{pipeline}/batches" in paths
    assert all(
        "$ref" in json.dumps(each["get"]["responses"]["200"]["content"]) for each in paths.values()
    )


def test_a_wrong_setting_is_said_in_words(
    get: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_ROOT", "s3://key:secret@bucket/root")
    answer = get("/api/pipelines")
    assert (answer.status_code, answer.json()["code"]) == (503, "SETTING_INVALID")
    page = get("/", page=True).text
    assert "SLUICE_ROOT has keys in it" in page
    assert "secret" not in page + answer.text


def test_airflow_s_ui_is_told_of_the_three_places(server: Client) -> None:
    from sluice_airflow.web.mount import VIEWS  # noqa: PLC0415

    assert [each["destination"] for each in VIEWS] == ["nav", "dag", "dag_run"]
    assert len({each["url_route"] for each in VIEWS}) == 3
    assert not any(each["href"].startswith("/") for each in VIEWS), "[api] base_url may have a path"


def test_importing_what_the_plugin_needs_of_the_views_loads_nothing_heavy() -> None:
    heavy = "('pyspark', 'delta', 'deltalake', 'duckdb', 'pandas', 'pyarrow', 'great_expectations')"
    script = (
        "import sys\n"
        "from airflow.plugins_manager import AirflowPlugin\n"
        "before = {*sys.modules}\n"
        "import sluice_airflow.web.mount\n"
        "print(sorted(name for name in {*sys.modules} - before if name.partition('.')[0] in "
        f"('fastapi', 'jinja2', *{heavy})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=REPO,
        env={**__import__("os").environ, "PYTHONPATH": f"{REPO}:{REPO / 'plugins'}"},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_app_that_airflow_mounts_is_made_once() -> None:
    from sluice_airflow.web.mount import Mounted  # noqa: PLC0415

    mounted, sent = Mounted(), list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "query_string": b""}
    for _ in range(2):
        asyncio.run(mounted(dict(scope), receive, send))
    assert [each["status"] for each in sent if each["type"] == "http.response.start"] == [404, 404]
