"""The form of a repair in a real browser: filled in, and sent to Airflow's own API."""

from collections.abc import Callable
from typing import Any

from tests.browser import pages
from tests.browser.audit import audit
from tests.harness.long_form import long_form

Windows = Callable[..., Any]
pytestmark = long_form


def test_the_day_that_waits_leads_to_a_form_that_starts_its_repair(window, installed):
    dag = f"/api/v2/dags/{installed.grows.name}__backfill"
    with window() as opened:
        api = opened.page.context.request
        # Its run waits, as it does for a scheduler that is busy: no task begins.
        assert api.patch(dag, data={"is_paused": True}).ok
        try:
            opened.go(pages.address("coverage", installed))
            day = next(row for row in opened.table("Newest first") if row["state"] == "late")
            opened.page.get_by_role("link", name="Open the form").first.click()
            start = opened.page.get_by_label("From", exact=True)
            assert start.input_value()[:10] == day["from"][:10]
            assert "The DAG is paused" in opened.text()
            assert audit(opened.page).good
            opened.page.get_by_label("Why", exact=True).fill("a <b>test</b>")
            opened.page.get_by_role("button", name="Start the run").click()
            link = opened.page.get_by_role("status").get_by_role("link")
            run = api.get(f"{dag}/dagRuns/{link.inner_text()}").json()
            assert run["conf"] | {"note": "a <b>test</b>", "kind": "repair"} == run["conf"]
            assert run["conf"]["from"] == start.input_value()
            assert run["triggering_user_name"] == installed.airflow.user
            assert opened.wrong == []
            link.click()
            opened.page.get_by_text(link_text := run["dag_run_id"]).first.wait_for()
            assert link_text in opened.page.url.replace("%3A", ":").replace("%2B", "+")
            assert api.delete(f"{dag}/dagRuns/{run['dag_run_id']}").ok
        finally:
            api.patch(dag, data={"is_paused": False})


def test_what_airflow_refuses_is_said_and_nothing_starts(window, installed):
    dag = f"/api/v2/dags/{installed.grows.name}__backfill"
    with window() as opened:
        opened.go(f"/sluice/pipelines/{installed.grows.name}/repair?from=yesterday&to=today")
        opened.page.get_by_role("button", name="Start the run").click()
        said = opened.page.get_by_role("status")
        said.get_by_text("not started").wait_for()
        assert "yesterday" in said.inner_text()
        runs = opened.page.context.request.get(f"{dag}/dagRuns").json()["total_entries"]
        assert runs == 0
