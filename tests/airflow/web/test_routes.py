"""The views through Airflow's API server: who may see what, and what no route does."""

import asyncio
import json
import os
import socket
import sys
import threading
import time
from typing import Any

from spark_jobs.draft.new_project import write
from spark_jobs.settings import project_file
from spark_jobs.settings.installation import REPO
from spark_jobs.source import topic_state
from tests.airflow.web.written import MINE, OTHER, addresses, routes
from tests.harness.ran import python


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
        if answer.status_code == 308:  # an address of before
            answer = get(answer.headers["location"].removeprefix("/sluice"))
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
    assert f"records of {MINE} go?</h1>" in get(f"/dags/{MINE}", everything, page=True).text
    assert (
        f"records of {MINE} go?</h1>" in get(f"/dags/{MINE}__backfill", everything, page=True).text
    )
    assert f"records of {MINE} go?</h1>" in get(f"/dags/{MINE}__accept", everything, page=True).text
    assert get("/dags/sluice_maintain", everything, page=True).status_code == 404
    run = "scheduled__2%2B00%3A00"
    assert "CHECK_FAILED" in get(f"/dags/{MINE}/runs/{run}", everything, page=True).text
    none = get(f"/dags/{MINE}__backfill/runs/{run}", everything, page=True)
    assert "No run yet" in none.text, "a backfill with the id of a drain's DAG run is another run"
    assert "No run yet" in get(f"/dags/{MINE}/runs/scheduled_%25", everything, page=True).text


def test_a_user_who_may_read_dags_and_not_their_runs_sees_no_pipeline(get):
    assert get("/api/pipelines", "no runs").json()["pipelines"] == []
    assert get(f"/api/pipelines/{MINE}/late", "no runs").status_code == 404


def test_a_user_without_a_role_sees_no_pipeline(server):
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415 - the home comes first
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

    user = SimpleAuthManagerUser(username="everything", role=None, teams=None)
    server.cookies.clear()
    server.cookies.set("_token", get_auth_manager().generate_jwt(user))
    assert server.get("/sluice/api/pipelines").json()["pipelines"] == []


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


def test_a_page_does_not_wait_for_brokers_that_do_not_answer(get, monkeypatch):
    from sluice_airflow.web import reach  # noqa: PLC0415 - the home comes first
    from sluice_airflow.web.asked import Asked  # noqa: PLC0415

    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and says nothing
        monkeypatch.setenv("SLUICE_KAFKA", f"127.0.0.1:{silent.getsockname()[1]}")
        # Longer than a page takes, also on a busy machine.
        monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 60.0)
        monkeypatch.setattr(reach, "ASKED", asked := Asked("offsets", wait=2.0, counts=60.0))
        page = get(f"/pipelines/{MINE}/coverage", page=True)
        [question] = asked._questions.values()  # noqa: SLF001 - it is asked yet
        assert (page.status_code, reach.SILENT.format(2.0) in page.text) == (200, True)
        assert not question.answer.done(), "the page has waited for the brokers"
        began = time.monotonic()
        assert get(f"/pipelines/{MINE}/coverage", page=True).status_code == 200
        assert time.monotonic() - began < 2, "a second page has waited anew"


def test_a_page_says_that_the_store_stands_still_and_others_are_answered(get, monkeypatch):
    from sluice_airflow.web import apart  # noqa: PLC0415 - the home comes first

    monkeypatch.setattr(apart, "SECONDS", 0.5)
    monkeypatch.setattr(apart, "SHARES", apart.Shares())
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
    monkeypatch.setattr(apart, "SHARES", apart.Shares())
    assert get(f"/api/pipelines/{MINE}/runs").status_code == 200


def test_where_all_threads_wait_for_longer_than_a_page_the_next_is_answered_at_once(
    get, monkeypatch
):
    from sluice_airflow.web import apart  # noqa: PLC0415 - the home comes first

    monkeypatch.setattr(apart, "SECONDS", 0.2)
    monkeypatch.setattr(apart, "SHARES", shares := apart.Shares())
    threads = shares[MINE]
    goes_on = threading.Event()
    waiting = [threads.submit(goes_on.wait) for _ in range(2)]
    try:
        assert get(f"/api/pipelines/{MINE}/runs").json()["code"] == "ROOT_UNREACHABLE"
        monkeypatch.setattr(apart, "SECONDS", 0.1)
        queued = len(threads._waiting)  # noqa: SLF001 - what nobody has begun
        assert get(f"/api/pipelines/{MINE}/runs").json()["code"] == "ROOT_UNREACHABLE"
        assert len(threads._waiting) == queued, "it has waited behind the others"  # noqa: SLF001
    finally:
        goes_on.set()
    assert all(each.result() for each in waiting)
    monkeypatch.setattr(apart, "SECONDS", 15.0)
    assert get(f"/api/pipelines/{MINE}/runs").status_code == 200


def test_every_route_that_reads_does_so_in_the_views_own_threads():
    from sluice_airflow.web.apart import Apart  # noqa: PLC0415 - the home comes first

    assert {type(route) for route in routes()} == {Apart}


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


def test_a_project_that_cannot_be_entered_is_said_on_every_page_until_its_file_is_right(
    get, tmp_path, monkeypatch
):
    from sluice_airflow import entered  # noqa: PLC0415 - the home comes first

    (file := tmp_path / "sluice.toml").write_text('[dev]\nkafka = "a:1\n')
    monkeypatch.setenv("SLUICE_PROJECT", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    entered.once_entered.cache_clear()
    try:
        for address in ("/", f"/pipelines/{MINE}", f"/dags/{MINE}"):
            answer = get(address, page=True)
            assert answer.status_code == 503
            assert "SETTING_INVALID" in answer.text
            assert f"{file} " in answer.text
            assert "line 2" in answer.text
        assert get("/api/pipelines").json()["code"] == "SETTING_INVALID"
        assert get("/", None).status_code == 401
        style = next(each for each in addresses(MINE) if each.startswith("/static/"))
        assert get(style).status_code == 200
        file.write_text('[dev]\nkafka = "a:1"\n')
        assert get("/", page=True).status_code == 200
        assert os.environ["SLUICE_KAFKA"] == "a:1"
    finally:
        project_file.leave()
        entered.once_entered.cache_clear()


BROKEN = """
import runpy, sys
import sluice_airflow.plugin
from spark_jobs.errors import SettingInvalid
for name in ("sluice", "own"):
    try:
        runpy.run_path(f"{sys.argv[1]}/dags/{name}.py")
    except SettingInvalid as error:
        print(error.what)
"""


def test_a_plugin_of_a_project_that_cannot_be_entered_is_there_and_each_dag_file_says_why(tmp_path):
    write(tmp_path, "k:9092")
    (tmp_path / "sluice.toml").write_text('[dev]\nkafka = "a:1\n')
    (tmp_path / "dags" / "own.py").write_text(
        "from airflow.sdk import DAG\nfrom sluice_airflow import drain_group\n"
        "with DAG('x', schedule=None):\n    drain_group('orders')\n"
    )
    path = os.pathsep.join(map(str, (REPO, REPO / "plugins")))
    given = {name: text for name, text in os.environ.items() if not name.startswith("SLUICE_")}
    done = python(BROKEN, tmp_path, cwd=tmp_path, env={**given, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if "sluice.toml" in line]
    assert len(told) == 2
    assert all("line 2" in each for each in told)
