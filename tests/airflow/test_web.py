"""The views: who may see what, and what they show, through Airflow's API server."""

import asyncio
import html
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.fingerprint.fields import fingerprint
from spark_jobs.messages.report import Account, Problem, Report, StateUse
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.find.coverage import Coverage, Interval
from spark_jobs.root.paths import Paths
from spark_jobs.root.store import opened
from spark_jobs.runs.run_record import append_row
from spark_jobs.source import topic_state
from spark_jobs.spec import Archive
from spark_jobs.state.answer import StateAnswer, StepAnswer, VariableAnswer
from tests.airflow.metadata import rest_api
from tests.harness import roots
from tests.harness.ran import python
from tests.unit.checkpoints import begin, commit_batch, plan_batch

REPO = Path(__file__).parents[2]
MINE, OTHER = "departure_delays", "flight_events"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\"'>\u202eevil\x1b[31m\x00" + "x" * 5_000_000
PAGE = {"accept": "text/html"}
VALUE_OF = "secret of a person"
LATE = "?table=late&generation=g1&partition=0&offset=7"
BAD = "?table=quarantine&generation=g1&partition=0&offset=8"
QUESTIONS = {"run": "?run_id={run}", "record": LATE}
"""The end of a path -> what it must be asked with."""
VALUE = rb'{"event_id": 7, "name": "secret of a person <script>", "\u001b[31m": "\u202e"}'
Client = Any


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """The ops tables of two pipelines, each with a failed drain whose texts are hostile."""
    folder = tmp_path_factory.mktemp("root")
    for name in (MINE, OTHER):
        for place in range(3):
            append_row(_report(name, place), str(folder))
        _tables(opened(str(folder)), name)
        _checkpoint(folder, name)
    return folder


def _checkpoint(folder: Path, name: str):
    """Three batches, of which two are published; the watermark is two hours behind the last."""
    spec = registry.load(name)
    paths = Paths(str(folder), spec)
    paths.ensure_writable()
    topic = spec.topic.name
    spark = begin(Path(str(paths.checkpoint)), {0: 0}, topic)
    for place in range(3):
        clock = int((NOON + timedelta(hours=place)).timestamp() * 1000)
        plan_batch(spark, place, {0: 100 * (place + 1)}, clock, topic)
        commit_batch(spark, place)
    made = fingerprint(spec, version("pyspark"))
    Identity(generation="g1", topic_id="t", fingerprint=made).write(paths.identity)
    Cursor(audited=2, judged=1).write(paths.cursor)
    Published(number=1, table_version=2, batch=1).fix(paths)
    rows = (("secret of a person", HOSTILE[:1000]),)
    variable = VariableAnswer(title="7 rows", total=7, columns=("carrier", HOSTILE), rows=rows)
    step = StepAnswer(
        step=2, kind="deduplicate", operator="dedupe", partitions=2, variables=(variable,)
    )
    StateAnswer(
        generation="g1", batch=2, watermark=NOON, read_at=NOON + timedelta(hours=1), steps=(step,)
    ).write(paths.state_answer)


def _report(name: str, place: int) -> Report:
    began = NOON + timedelta(hours=place)
    failed = place == 2
    check = roots.check(
        "failed" if failed else "passed",
        "origin",
        type="expect_column_values_to_not_be_null",
        observed=str(place),
        sample=f'["{VALUE_OF}"]{HOSTILE}',
    )
    distinct = check.model_copy(update={"column": "name", "observed": f'["{VALUE_OF}"]'})
    broken = check.model_copy(update={"outcome": "broken", "observed": f"no {VALUE_OF} in it"})
    return roots.report(
        name,
        f"scheduled__{place}+00:00-try1",
        status="failed" if failed else "succeeded",
        problem=Problem(code="CHECK_FAILED", what=HOSTILE, remedy=HOSTILE) if failed else None,
        started_at=began,
        ended_at=began + timedelta(minutes=1),
        generation="g1",
        watermark=NOON,
        batches=(place,),
        offsets_end={"0": 100 * (place + 1)},
        account=Account(covered=100, read=100, accepted=90, duplicates=5, late=10, rows_out=85),
        state=StateUse(rows=1000 * (place + 1)),
        checks=(check, distinct, broken),
        seconds={"query": 3.0},
    )


def _tables(root: Any, name: str):
    own = {"pipeline": name, "generation": "g1"}
    batches = [
        own
        | {
            "batch_id": place,
            "run_id": f"scheduled__{place}+00:00-try1",
            "audited_at": NOON + timedelta(hours=place),
            "read": 100,
            "accepted": 90,
            "filtered": place,
            "state_rows": 1000 * (place + 1),
            "state_bytes": 2**20 * (place + 1),
            "table_version": place + 1,
            "rows_out": 85,
            "offsets_start": json.dumps({"0": 100 * place}),
            "offsets_end": json.dumps({"0": 100 * (place + 1)}),
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
        "value": VALUE,
        "key": b"secret of a person",
        "headers": [
            {"key": HOSTILE[:1000], "value": HOSTILE.encode()},
            {"key": "carrier", "value": b"secret of a header"},
            {"key": "nothing", "value": None},
        ],
    }
    late = {
        "offset": 7,
        "step": "deduplicate",
        "event_time": NOON - timedelta(minutes=11),
        "watermark_missed": NOON - timedelta(minutes=1),
    }
    bad = {"offset": 8, "kind": "malformed", "reason": HOSTILE, "value": HOSTILE.encode() + b"\xff"}
    quoting = bad | {
        "offset": 9,
        "reason": f"step 1 (transform), a: a: CAST_INVALID_INPUT: {VALUE_OF}",
    }
    slices = [
        own
        | {"batch_id": place, "run_id": "r", "partition": 0, "records": 100, "late": 0}
        | {"first_offset": 100 * place, "last_offset": 100 * place + 99}
        | {
            "first_event_time": NOON - timedelta(days=2 - place),
            "last_event_time": NOON - timedelta(days=2 - place) + timedelta(hours=2),
        }
        for place in range(3)
    ]
    ops_tables.append(root, "slices", slices)
    ops_tables.append(root, "late", [record | late])
    ops_tables.append(root, "quarantine", [record | bad, record | quoting])
    checks = [
        own | {"suite": "output", "type": "expect_column_values_to_not_be_null", "column": "origin"}
        | {"checked_at": NOON + timedelta(hours=place, minutes=1), "observed": str(place)}
        for place in range(3)
    ]  # fmt: skip
    ops_tables.append(root, "checks", checks)


@pytest.fixture(scope="module")
def server(its_own_airflow, root) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "tests.airflow.one_dag.OneDag")
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "False")
        patch.setenv("SLUICE_ROOT", str(root))
        with rest_api(own_settings=True) as client:
            client.follow_redirects = False
            yield client


@pytest.fixture
def get(server) -> Callable[..., Any]:
    """Get an address as this user: a DAG's id, who may read that DAG; or nobody."""

    def as_user(
        path: str, user: str | None = MINE, *, page: bool = False, role: str = "viewer", **more: Any
    ) -> Any:
        from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415 - the home comes first
        from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

        headers = dict(PAGE) if page else {}
        server.cookies.clear()
        if user is not None:
            known = SimpleAuthManagerUser(username=user, role=role, teams=None)
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
        question = QUESTIONS.get(path.rpartition("/")[2], "")
        found.append(path + question.format(run=run))
    assert len(found) > 23
    return found


def test_no_route_answers_a_person_who_is_not_logged_in(get):
    for address in addresses(MINE):
        answer = get(address, None)
        assert (answer.status_code, answer.json()) == (401, {"detail": "Not authenticated"}), (
            address
        )
        forged = get(address, None, headers={"authorization": "Bearer e30.e30.e30"})
        assert forged.status_code == 403, address


def test_a_browser_without_login_is_sent_there_and_back(get):
    answer = get("/pipelines/departure_delays?page=1", None, page=True)
    assert answer.status_code == 303
    assert answer.headers["location"] == (
        "/api/v2/auth/login?next=%2Fsluice%2Fpipelines%2Fdeparture_delays%3Fpage%3D1"
    )


def test_every_route_answers_for_ones_own_pipeline_and_none_names_or_shows_anothers(get):
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


def test_the_tabs_of_a_dag_and_of_its_backfills_show_the_pipeline_of_each(get):
    everything = "everything"
    assert f"<h1>{MINE}</h1>" in get(f"/dags/{MINE}", everything, page=True).text
    assert f"<h1>{MINE}</h1>" in get(f"/dags/{MINE}__backfill", everything, page=True).text
    assert f"<h1>{MINE}</h1>" in get(f"/dags/{MINE}__accept", everything, page=True).text
    assert get("/dags/sluice_maintain", everything, page=True).status_code == 404
    run = "scheduled__2%2B00%3A00"
    assert "CHECK_FAILED" in get(f"/dags/{MINE}/runs/{run}", everything, page=True).text
    none = get(f"/dags/{MINE}__backfill/runs/{run}", everything, page=True)
    assert "No run yet" in none.text, "a backfill with the id of a drain's DAG run is another run"
    assert "No run yet" in get(f"/dags/{MINE}/runs/scheduled_%25", everything, page=True).text


def test_a_user_who_may_read_dags_and_not_their_runs_sees_no_pipeline(get):
    assert get("/api/pipelines", "no runs").json() == {"pipelines": []}
    assert get(f"/api/pipelines/{MINE}/late", "no runs").status_code == 404


def test_a_user_without_a_role_sees_no_pipeline(server):
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415 - the home comes first
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

    user = SimpleAuthManagerUser(username="everything", role=None, teams=None)
    server.cookies.clear()
    server.cookies.set("_token", get_auth_manager().generate_jwt(user))
    assert server.get("/sluice/api/pipelines").json() == {"pipelines": []}


def test_every_answer_forbids_what_a_record_could_start(get):
    policy = None
    for address in [*addresses(MINE), "/nowhere", "/pipelines/nobodys"]:
        for user in (MINE, None):
            headers = get(address, user, page=True).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"


def test_no_route_changes_anything():
    assert {method for route in routes() for method in route.methods} <= {"GET", "HEAD"}


def test_hostile_text_is_text_and_is_cut_and_no_page_has_a_script_or_a_record_s_bytes(get):
    shown = ""
    for address in addresses(MINE):
        if address.startswith(("/api/", "/static/")):
            continue
        text = get(address, page=True).text
        assert len(text) < 60_000
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


def test_the_overview_has_each_pipeline_with_its_last_runs_and_what_waits(get):
    [line] = get("/api/pipelines").json()["pipelines"]
    assert (line["pipeline"], line["late"], line["quarantined"]) == (MINE, 1, 2)
    assert [run["state_rows"] for run in line["runs"]] == [3000, 2000, 1000]
    both = get("/api/pipelines", "everything").json()["pipelines"]
    assert {MINE, OTHER} <= {each["pipeline"] for each in both}
    row = get("/", page=True).text.split("<tbody>")[1]
    assert "CHECK_FAILED" in row
    assert "+2,000" in row, "it grows"


def test_pages_of_runs_and_batches_follow_each_other(get):
    for table, name in (("runs", "run_id"), ("batches", "batch")):
        whole = get(f"/api/pipelines/{MINE}/{table}").json()
        parts = [get(f"/api/pipelines/{MINE}/{table}?limit=1&offset={n}").json() for n in range(3)]
        assert [part[table][0][name] for part in parts] == [each[name] for each in whole[table]]
        assert [part["more"] for part in parts] == [True, True, False]
        assert get(f"/api/pipelines/{MINE}/{table}?limit=5001").status_code == 422


def test_the_records_that_a_condition_filtered_are_a_part_of_each_run(get):
    runs = get(f"/api/pipelines/{MINE}/runs").json()["runs"]
    assert [each["filtered"] for each in runs] == [2, 1, 0]
    page = get(f"/pipelines/{MINE}", page=True).text
    assert page.count('class="filtered"><title>') == 2


def test_a_run_has_its_account_its_batches_and_each_check_with_what_it_observed_before(get):
    found = get(f"/api/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1").json()
    assert found["account"]["late"] == 10
    assert [batch["batch"] for batch in found["batches"]] == [2]
    check, *_ = found["checks"]
    assert (check["result"]["observed"], check["history"]) == ("2", ["1", "0"])
    assert found["next_command"] == f"sluice show checks --pipeline {MINE}"
    assert get(f"/api/pipelines/{MINE}/run?run_id=none' OR 'a'='a").status_code == 404


def test_the_late_records_of_a_day_are_counted_and_each_says_by_how_much(get):
    found = get(f"/api/pipelines/{MINE}/late").json()
    assert found["days"] == [{"day": "2026-03-01", "reason": "deduplicate", "records": 1}]
    assert "0:10:00" in get(f"/pipelines/{MINE}/late", page=True).text


def test_coverage_says_which_day_waits_for_a_repair_and_leads_to_its_form(get):
    found = get(f"/api/pipelines/{MINE}/coverage").json()
    assert [(each["state"], each["late"]) for each in found["intervals"]] == [
        ("canonical", 0),
        ("canonical", 0),
        ("open", 1),
    ]
    [touched] = get(f"/api/pipelines/{MINE}/repair").json()["ranges"]
    assert (touched["start"], touched["end"], touched["late"]) == (
        "2026-03-01T11:00:00Z",
        "2026-03-01T12:00:00Z",
        1,
    )
    late = html.unescape(get(f"/pipelines/{MINE}/late", page=True).text)
    of_it = f"/sluice/pipelines/{MINE}/repair"
    assert f'href="{of_it}"' in late
    assert f'href="{of_it}?from=2026-03-01T11%3A00%3A00Z&to=2026-03-01T12%3A00%3A00Z"' in late
    bad = get(f"/pipelines/{MINE}/quarantine", page=True).text
    assert f'href="{of_it}?kind=replay"' in bad
    page = get(f"/pipelines/{MINE}/coverage", page=True).text
    assert page.count('<rect x="') == 2, "the two alike are one"
    assert "Kafka did not answer" in page


def test_a_day_of_which_all_rows_are_final_has_the_values_of_its_repair(get, root):
    row = {
        "pipeline": MINE, "generation": "g1", "batch_id": 2, "run_id": "r", "partition": 0, "offset": 9,
        "event_time": NOON - timedelta(days=1, hours=2), "watermark_missed": NOON, "step": "deduplicate",
        "kafka_timestamp": NOON - timedelta(days=9),
    }  # fmt: skip
    ops_tables.append(opened(str(root)), "late", [row])
    try:
        page = html.unescape(get(f"/pipelines/{MINE}/coverage", page=True).text)
    finally:
        ops_tables.remove(opened(str(root)), "late", '"offset" = 9')
    wanted = "repair?kind=repair&from=2026-02-28T00%3A00%3A00Z&to=2026-03-01T00%3A00%3A00Z"
    assert page.count(wanted) == 1
    assert f"sluice repair {MINE} --from 2026-02-28T00:00:00Z --to 2026-03-01T00:00:00Z" in page


def test_the_form_of_a_repair_is_filled_in_and_starts_nothing_for_those_who_may_not(get):
    address = f"/pipelines/{MINE}/repair?kind=verify&from=2026-02-28&to=%22%3E%3Cscript%3E"
    reader, editor = (
        html.unescape(get(address, "everything", page=True, role=role).text)
        for role in ("viewer", "user")
    )
    for text in (reader, editor):
        assert '<option value="verify" selected>' in text
        assert 'name="from" value="2026-02-28"' in text
        assert 'name="most_records" value="50000000" min="1"' in text
    assert ("Start the run" in reader, "Start the run" in editor) == (False, True)
    assert 'value="&#34;&gt;&lt;script&gt;"' in get(address, page=True).text
    assert get(f"/pipelines/{MINE}/repair?kind=all", page=True).status_code == 422


def test_the_form_of_a_repair_has_the_fields_of_airflow_s(get):
    from sluice_airflow.tasks.form import ONLY_OVERRIDDEN, params  # noqa: PLC0415 - the home comes first

    text = html.unescape(get(f"/pipelines/{MINE}/repair", page=True).text)
    for name, param in params().items():
        assert f'name="{name}"' in text
        assert param.schema["title"] in text
        about = str(param.description)  # of Airflow's Backfill, which this form is not for
        assert about.removesuffix(f" {ONLY_OVERRIDDEN}") in text
        for value in param.schema.get("enum", ()):
            assert f'<option value="{value or ""}"' in text


def test_the_form_of_a_pipeline_without_ranges_has_a_rebuild_and_says_why(get, monkeypatch):
    load = registry.load
    complete = {"output_mode": "complete"}
    monkeypatch.setattr(registry, "load", lambda name: load(name).model_copy(update=complete))
    found = get(f"/pipelines/{MINE}/repair?kind=verify&from=2026-02-28", page=True)
    assert found.status_code == 200
    text = html.unescape(found.text)
    assert '<option value="" selected></option><option value="rebuild">' in text
    assert text.count("<option") == 2
    assert text.count(" required") == 1, "a person chooses it"
    assert "in complete mode the next drain writes the whole result" in text
    assert 'name="from"' not in text


def test_an_archive_has_no_form_since_it_has_no_such_dag(get, monkeypatch):
    load = registry.load
    archive = Archive()
    monkeypatch.setattr(registry, "load", lambda name: archive_spec(load(name).topic, archive))
    found = get(f"/pipelines/{MINE}/repair?kind=replay", page=True)
    text = html.unescape(found.text)
    assert found.status_code == 409
    assert "an archive has the records themselves, and computes nothing" in text
    assert "<form" not in text
    assert "__backfill" not in text
    assert "Open the form" not in get(f"/pipelines/{MINE}/quarantine", page=True).text
    assert "__backfill" not in get(f"/pipelines/{MINE}/coverage", page=True).text


def test_a_page_does_not_wait_for_brokers_that_do_not_answer(get, monkeypatch):
    from sluice_airflow.web import reach  # noqa: PLC0415 - the home comes first

    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and says nothing
        monkeypatch.setenv("SLUICE_KAFKA", f"127.0.0.1:{silent.getsockname()[1]}")
        # Longer than a page takes, also on a busy machine.
        monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 60.0)
        reach._ASKED.clear()  # noqa: SLF001 - an answer counts for a minute
        page = get(f"/pipelines/{MINE}/coverage", page=True)
        [(_, answer)] = reach._ASKED.values()  # noqa: SLF001 - it is asked yet
        assert (page.status_code, "Kafka did not answer" in page.text) == (200, True)
        assert not answer.done(), "the page has waited for the brokers"
        assert reach.WAIT_SECONDS <= 2


def test_no_page_and_no_json_has_a_value_of_a_record_for_those_who_may_not_see_it(get, monkeypatch):
    for setting, roles in (("hidden", ("viewer", "user", "admin")), ("shown", ("viewer",))):
        monkeypatch.setenv("SLUICE_RECORD_BYTES", setting)
        for address in addresses(MINE):
            for role in roles:
                for page in (True, False):
                    assert VALUE_OF not in get(address, role=role, page=page).text, address
    run = f"/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1"
    for address in (
        run,
        f"/pipelines/{MINE}/quarantine",
        f"/dags/{MINE}/runs/scheduled__2%2B00:00",
    ):
        assert VALUE_OF in get(address, role="user", page=True).text, address
    assert "CAST_INVALID_INPUT: values withheld" in get(f"/api/pipelines/{MINE}/quarantine").text


def test_a_page_says_that_the_store_stands_still_and_the_server_answers_others_meanwhile(
    get, monkeypatch
):
    from sluice_airflow.web import apart  # noqa: PLC0415 - the home comes first

    monkeypatch.setattr(apart, "SECONDS", 0.5)
    monkeypatch.setattr(apart, "THREADS", apart.Threads(2))
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            monkeypatch.setenv(name, "none")
        with monkeypatch.context() as patch:
            patch.setenv("SLUICE_ROOT", "s3://bucket/root")
            for _ in range(4):  # more than there are threads
                began = time.monotonic()
                answer = get(f"/api/pipelines/{MINE}/runs")
                assert (answer.status_code, answer.json()["code"]) == (503, "ROOT_UNREACHABLE")
                assert time.monotonic() - began < 10, "it has waited for the store"
            assert get("/nowhere").status_code == 404
    monkeypatch.setattr(apart, "THREADS", apart.Threads(2))
    assert get(f"/api/pipelines/{MINE}/runs").status_code == 200


def test_every_route_that_reads_does_so_in_the_views_own_threads():
    from sluice_airflow.web.apart import Apart  # noqa: PLC0415 - the home comes first

    assert {type(route) for route in routes()} == {Apart}


def test_a_replay_is_offered_only_where_ranges_can_be_computed(get, monkeypatch):
    from sluice_airflow.web import pages  # noqa: PLC0415 - the home comes first

    offer = "Open the form of a replay"
    assert offer in get(f"/pipelines/{MINE}/quarantine", page=True).text
    monkeypatch.setattr(pages, "unranged", lambda _: "it has none")
    assert offer not in get(f"/pipelines/{MINE}/quarantine", page=True).text


def test_what_is_wrong_with_a_range_is_said_and_is_no_failure_of_the_server(get):
    for given, says in (
        ("from=2026-03-01", "from is given without it"),
        ("from=x&to=y", "it is not a time"),
    ):
        answer = get(f"/api/pipelines/{MINE}/coverage?{given}")
        assert (answer.status_code, answer.json()["code"]) == (422, "RANGE_INVALID")
        assert says in answer.json()["what"]
    bound = get(f"/api/pipelines/{MINE}/coverage?from=2026-02-28&to=2026-03-01").json()
    assert [each["start"] for each in bound["intervals"]] == ["2026-02-28T00:00:00Z"]


def test_a_record_s_bytes_are_shown_to_nobody_unless_a_setting_says_so(get):
    for role in ("viewer", "user", "admin"):
        found = get(f"/api/pipelines/{MINE}/record{LATE}", role=role)
        assert found.json()["withheld"] == "setting"
        assert found.json()["late_by_seconds"] == 600
        for address in (f"record{LATE}", "state"):
            text = get(f"/pipelines/{MINE}/{address}", role=role, page=True).text
            assert "SLUICE_RECORD_BYTES" in text
            assert "secret" not in text + found.text


def test_with_the_setting_they_are_shown_to_those_who_may_edit_the_dag_and_to_no_reader(
    get, monkeypatch
):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    for address in (f"record{LATE}", "state"):
        for prefix, page in (("/api", False), ("", True)):
            path = f"{prefix}/pipelines/{MINE}/{address}"
            assert "secret" not in get(path, page=page).text
            assert "secret of a person" in get(path, page=page, role="user").text
            other = path.replace(MINE, OTHER)
            assert get(other, page=page, role="user").status_code == 404
    assert get(f"/api/pipelines/{MINE}/record{LATE}").json()["withheld"] == "right"
    assert "those who may edit the DAG" in get(f"/pipelines/{MINE}/record{LATE}", page=True).text


def test_hostile_bytes_are_text_and_hexadecimal_and_bounded(get, monkeypatch):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    value = get(f"/api/pipelines/{MINE}/record{LATE}", role="user").json()["value"]
    assert (value["size"], value["text_whole"], value["hexadecimal_whole"]) == (
        len(VALUE),
        True,
        True,
    )
    fields = {each["name"]: (each["declared"], each["value"]) for each in value["fields"]}
    assert fields["name"] == (None, '"secret of a person <script>"')
    assert fields["event_id"] == ("string", "7")
    assert fields["carrier"] == ("string", None), "declared, and missing"
    whole = get(f"/api/pipelines/{MINE}/record{BAD}", role="user").json()
    assert [(each["size"], each["value"]) for each in whole["headers"][1:]] == [
        (18, "secret of a header"),
        (None, None),
    ]
    assert len(json.dumps(whole)) < 20_000
    assert (whole["value"]["size"], whole["value"]["text_whole"]) == (
        len(HOSTILE.encode()) + 1,
        False,
    )
    assert whole["value"]["not_decoded"] == "it has more than 1,048,576 bytes"
    for question in (LATE, BAD):
        text = get(f"/pipelines/{MINE}/record{question}", role="user", page=True).text
        assert len(text) < 60_000
        assert text.count("<script") == 1
        assert not any(found in text for found in ("\u202e", "\x1b", "\x00"))
    assert r"\u202eevil\x1b[31m\x00" in html.unescape(text)
    assert "As text, the beginning" in text
    assert "secret of a header" in text


def test_a_record_that_is_not_there_is_not_found(get):
    for wrong in ("offset=1", "offset=7&generation=g2", "table=late' OR 'a'='a"):
        name = wrong.partition("=")[0]
        kept = "&".join(each for each in LATE[1:].split("&") if not each.startswith(name))
        assert get(f"/api/pipelines/{MINE}/record?{kept}&{wrong}").status_code in {404, 422}


def test_the_state_page_says_when_it_was_read_and_by_which_command_it_is_read_again(get, root):
    page = get(f"/pipelines/{MINE}/state", page=True).text
    assert "after batch 2" in page
    assert f"sluice state {MINE} --keep" in page
    assert "another generation" not in page
    path = Paths(str(root), registry.load(MINE)).state_answer
    kept = path.read_text()
    path.unlink()
    try:
        assert get(f"/api/pipelines/{MINE}/state").status_code == 404
        none = get(f"/pipelines/{MINE}/state", page=True)
        assert (none.status_code, "Nobody has read it" in none.text) == (200, True)
    finally:
        path.write_text(kept)


def test_the_overview_says_what_waits_what_is_not_published_and_when_the_next_run_is(get):
    [line] = get("/api/pipelines").json()["pipelines"]
    assert (line["late_waiting"], line["quarantined_waiting"]) == (1, 2)
    assert (line["unpublished_batches"], line["unpublished_rows"]) == (1, 85)
    assert line["paused"] is True
    assert line["next_run"] is None
    assert "paused" in get("/", page=True).text


def test_a_late_record_that_a_repair_used_waits_no_more(get, root):
    fate = {
        "pipeline": MINE,
        "generation": "g1",
        "partition": 0,
        "offset": 7,
        "source": "late",
        "fate": "merged",
    }
    ops_tables.append(opened(str(root)), "merged", [fate])
    try:
        [line] = get("/api/pipelines").json()["pipelines"]
        assert (line["late"], line["late_waiting"]) == (1, 0)
        assert get(f"/api/pipelines/{MINE}/repair").json()["ranges"] == []
    finally:
        ops_tables.remove(opened(str(root)), "merged", "true")


def test_the_page_of_a_pipeline_has_the_watermark_s_lag_the_late_share_phases_and_the_budget(get):
    text = get(f"/pipelines/{MINE}", page=True).text
    for label in ("from the watermark", "share of the decoded", "by phase", "against the budget"):
        assert f"{label}" in text
    assert "bound 5.00 %" in text
    assert "bound 1.0 GiB" in text
    assert text.count("2%2B00%3A00-try1") > 3, "every mark leads to its run"
    assert get(f"/api/pipelines/{MINE}/phases").json()["runs"][0]["seconds"] == {"query": 3.0}


def test_a_run_that_was_not_published_says_why_and_what_to_do(get):
    text = html.unescape(
        get(f"/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1", page=True).text
    )
    assert "CHECK_FAILED" in text
    assert f"sluice accept {MINE} --check 'expect_column_values_to_not_be_null(origin)'" in text
    assert 'class="stage"' in text
    assert text.count('<svg class="small"') == 3, "each check's history"


def test_the_page_before_the_first_days_that_there_are_has_an_address(server):
    """A record may say that it is of the year 1."""
    from sluice_airflow.web import readings  # noqa: PLC0415

    first = Interval.model_construct(
        start=datetime(1, 2, 1, tzinfo=UTC), end=datetime(1, 2, 2, tzinfo=UTC)
    )
    found = Coverage.model_construct(intervals=(first,), left_out=31)
    assert readings.older(found) == (datetime(1, 1, 1, tzinfo=UTC), first.start)


def test_the_schema_of_the_routes_is_one_of_them(get):
    paths = get("/api/openapi.json").json()["paths"]
    assert "/api/pipelines/{pipeline}/batches" in paths
    assert all(
        "$ref" in json.dumps(each["get"]["responses"]["200"]["content"]) for each in paths.values()
    )


def test_a_wrong_setting_is_said_in_words(get, monkeypatch):
    monkeypatch.setenv("SLUICE_ROOT", "s3://key:secret@bucket/root")
    answer = get("/api/pipelines")
    assert (answer.status_code, answer.json()["code"]) == (503, "SETTING_INVALID")
    page = get("/", page=True).text
    assert "SLUICE_ROOT has keys in it" in page
    assert "secret" not in page + answer.text


def test_airflow_s_ui_is_told_of_the_three_places(server):
    from sluice_airflow.web.mount import VIEWS  # noqa: PLC0415

    assert [each["destination"] for each in VIEWS] == ["nav", "dag", "dag_run"]
    assert len({each["url_route"] for each in VIEWS}) == 3
    assert not any(each["href"].startswith("/") for each in VIEWS), "[api] base_url may have a path"


def test_importing_what_the_plugin_needs_of_the_views_loads_nothing_heavy():
    heavy = "('pyspark', 'delta', 'deltalake', 'duckdb', 'pandas', 'pyarrow', 'great_expectations')"
    script = (
        "import sys\n"
        "from airflow.plugins_manager import AirflowPlugin\n"
        "before = {*sys.modules}\n"
        "import sluice_airflow.web.mount\n"
        "print(sorted(name for name in {*sys.modules} - before if name.partition('.')[0] in "
        f"('fastapi', 'jinja2', *{heavy})))\n"
    )
    done = python(script, env=os.environ | {"PYTHONPATH": f"{REPO}:{REPO / 'plugins'}"})
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_app_that_airflow_mounts_is_made_once():
    from sluice_airflow.web.mount import Mounted  # noqa: PLC0415

    mounted, sent = Mounted(), list[Any]()

    async def send(message: Any):
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "query_string": b""}
    for _ in range(2):
        asyncio.run(mounted(dict(scope), receive, send))
    assert [each["status"] for each in sent if each["type"] == "http.response.start"] == [404, 404]
