"""A backfill of two days, as a person makes it in Airflow's UI, over real Kafka and Spark."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import deltalake
import pytest

from local.airflow_settings import USER
from tests.browser.drained import BACKFILL, DAY, DAYS, PIPELINE, Drained, drained, within
from tests.browser.pictures import keep
from tests.browser.trigger_form import backfill_form, fill_in, override, trigger_form
from tests.browser.window import logged_in, opened
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.long_form import long_form

Windows = Callable[..., Any]
pytestmark = long_form
FIRST, SECOND = (f"backfill__{(day + DAY).isoformat()}" for day in DAYS)
"""Airflow names a run by the end of its interval."""
NOTE = "late flights of 2 and 3 January"
RUNS = f"/dags/{BACKFILL}/runs"


@pytest.fixture(scope="module")
def made(browser, kafka, tmp_path_factory) -> Iterator[Drained]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_KAFKA", kafka)
        with drained(kafka, tmp_path_factory.mktemp("backfill")) as there:
            yield there


@pytest.fixture(scope="module")
def window(browser, made) -> Windows:
    return partial(opened, browser, made.airflow, logged_in(browser, made.airflow))


@pytest.fixture(scope="module")
def asked(made, window) -> dict[str, Any]:
    """A person asks for the two days: what the browser sends."""
    with window() as there:
        dialog = backfill_form(there, BACKFILL, DAYS[0], DAYS[-1])
        dialog.get_by_text("2 runs will be triggered.").wait_for()
        override(dialog)
        fill_in(dialog, "note", NOTE)
        dialog.get_by_role("heading").first.scroll_into_view_if_needed()
        keep(there.page, "backfill-form")
        with there.page.expect_response("**/api/v2/backfills") as answered:
            dialog.get_by_role("button", name="Run Backfill").click()
        assert answered.value.ok, answered.value.text()
        dialog.wait_for(state="detached")
        assert there.wrong == []
    sent: dict[str, Any] = answered.value.request.post_data_json
    return sent


@pytest.fixture(scope="module")
def shown(made, window, asked) -> str:
    """What the person reads who is asked, and approves."""
    made.await_task(SECOND, "approve", "awaiting_input")
    with window() as there:
        there.go(RUNS)
        there.page.get_by_text("Backfill in progress").wait_for()
        keep(there.page, "backfill-runs")
        there.go("/required_actions?response_received=false")
        there.page.get_by_role("button", name="Open Review Drawer").click()
        drawer = there.page.get_by_role("dialog")
        approve = drawer.get_by_test_id("hitl-option-Approve")
        approve.wait_for()
        text = str(drawer.inner_text())
        drawer.get_by_text("Required Actions").first.click(trial=True)  # it has stopped moving
        keep(there.page, "backfill-approval")
        approve.click()
        there.page.get_by_text("approve response successful").wait_for()
        assert there.wrong == []
    return text


@pytest.fixture(scope="module")
def ended(made, shown) -> dict[str, dict[str, str | None]]:
    """The tasks of both runs, when they have ended."""
    lines = list[str]()
    for run_id in (FIRST, SECOND):
        state = made.api.wait(run_id, [BACKFILL], lines.append, seconds=300)
        assert state == {BACKFILL: "success"}, [*lines, *made.api.errors(BACKFILL, run_id)]
    return {run_id: made.api.tasks(BACKFILL, run_id) for run_id in (FIRST, SECOND)}


def test_a_backfill_of_a_drain_cannot_be_chosen_and_its_page_says_where_to_go(made, window):
    with window() as there:
        dialog = trigger_form(there, PIPELINE)
        assert dialog.get_by_role("radio", name="Backfill").is_disabled()
        keep(there.page, "drain-form")
        there.page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        there.page.get_by_role("button", name="Dag Docs").click()
        said = there.page.get_by_role("dialog").inner_text()
        assert f"The DAG {BACKFILL} computes ranges of the table again." in said
        assert there.wrong == []


def test_the_form_of_two_days_makes_a_run_for_each_with_what_was_filled_in(made, asked, shown):
    assert asked["dag_run_conf"]["note"] == NOTE
    assert set(made.runs()) == {FIRST, SECOND}
    requests = [json.loads(row["request"]) for row in made.scene.ops("repairs")]
    assert [each["note"] for each in requests] == [NOTE, NOTE]


def test_a_change_that_late_records_explain_is_made_and_of_any_other_a_person_is_asked(made, shown):
    assert made.api.tasks(BACKFILL, FIRST)["swap"] == "success"
    assert f"{PIPELINE}: change the table?" in shown
    assert "(backfill) of departure_delays would change version" in shown
    counts = _counts(shown)
    lost = [row for row in _day(made.wanted(), 1) if row not in _day(made.before, 1)]
    assert counts["unexplained"] == 1, "the row that somebody took"
    assert counts["added"] + counts["changed"] == len(lost) > 1
    taken = made.taken
    assert f"added, unexplained\t{taken['window_start']:%F %T}" in shown
    assert shown.count("unexplained\t") == 1


def test_both_days_are_what_duckdb_makes_of_all_records_and_all_else_is_as_it_was(made, ended):
    for tasks in ended.values():
        assert set(tasks.values()) == {"success"}, tasks
    table, wanted = made.scene.table(), made.wanted()
    inside = [row for row in wanted if within(row, *DAYS)]
    assert_same(
        oracle.comparable([row for row in table if within(row, *DAYS)]),
        oracle.comparable(inside),
        "the two days",
    )
    assert_same(
        [repr(row) for row in table if not within(row, *DAYS)],
        [repr(row) for row in made.before if not within(row, *DAYS)],
        "the other days",
    )
    rows = made.scene.ops("repairs")
    assert [row["state"] for row in rows] == ["swapped", "swapped"]
    assert [row["approved_by"] for row in rows].count(USER) == 1


def test_a_person_sees_the_result_and_consumers_are_told_each_day(made, window, ended):
    with window() as there:
        there.go(f"{RUNS}/{quote(SECOND)}")
        for task in ended[SECOND]:
            there.page.get_by_text(task, exact=True).first.wait_for()
        keep(there.page, "backfill-run")
        there.go(f"/sluice/pipelines/{PIPELINE}/coverage?from=2013-01-02&to=2013-01-04")
        covered = there.table("Newest first")
        assert there.wrong == []
    assert sorted(row["from"][:10] for row in covered) == [f"{day:%F}" for day in DAYS]
    assert {(row["state"], row["who"]) for row in covered} == {("canonical", USER)}
    assert all(row["last computed by"].startswith("backfill ") for row in covered)
    told = sorted(
        (event["extra"]["table_version"], event["extra"]["days"])
        for event in made.api.asset_events()
        if event["extra"].get("pipeline") == PIPELINE
    )
    assert [days for _, days in told[-2:]] == [[f"{day:%F}"] for day in DAYS]
    published = deltalake.DeltaTable(str(made.scene.paths.published_table)).to_pyarrow_table()
    assert published.num_rows == len(made.scene.table())


def _day(rows: list[dict[str, Any]], number: int) -> list[tuple[Any, ...]]:
    return oracle.comparable([row for row in rows if within(row, DAYS[number])])


def _counts(text: str) -> dict[str, int]:
    """The first table of what is shown."""
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("added\t"))
    return dict(zip(lines[at].split("\t"), map(int, lines[at + 1].split("\t")), strict=True))
