"""The overview as a page and as JSON: what a person sees first, and who sees what of it."""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.overview.troubles import TROUBLES
from tests.airflow.web.written import MINE, OTHER, VALUE_OF

NEITHER = "aircraft_rotations"
"""A pipeline of which the root has nothing."""


@contextmanager
def a_run_of(dag_id: str, state: str, hours: int, **more: Any) -> Iterator[None]:
    """Airflow has a run of the DAG in this state since so many hours, until the block ends."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - the home comes first
    from airflow.utils.session import create_session  # noqa: PLC0415
    from airflow.utils.types import DagRunType  # noqa: PLC0415

    at = datetime.now(UTC) - timedelta(hours=hours)
    named = {"dag_id": dag_id, "run_id": f"{state}__{hours}"}
    with create_session() as session:
        made = DagRun(**named, state=state, run_type=DagRunType.SCHEDULED, run_after=at, **more)
        made.end_date = None if state == "running" else at
        session.add(made)
    try:
        yield
    finally:
        with create_session() as session:
            session.query(DagRun).filter_by(**named).delete()


def row_of(page: str, pipeline: str) -> str:
    [row] = [row for row in page.split("<tr ")[1:] if f'/pipelines/{pipeline}"' in row]
    return row


@pytest.fixture
def airflow_knows(server) -> Callable[..., Any]:
    """Set what Airflow's metadata say of a DAG, of which no run that another test left is at work."""
    from airflow.models.dag import DagModel  # noqa: PLC0415 - the home comes first
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    with create_session() as session:
        session.query(DagRun).update({"state": "success"})

    def know(pipeline: str, **columns: Any):
        with create_session() as session:
            session.query(DagModel).filter_by(dag_id=pipeline).update(columns)

    yield know
    for name in (MINE, OTHER):
        know(name, is_paused=True, next_dagrun_create_after=None)


def test_the_worst_is_told_with_a_link_and_a_command_and_what_else_there_is(get):
    page = get("/", page=True).text
    assert "<h1>What needs you?</h1>" in page
    row = row_of(page, MINE)
    assert page.count("<dt>") == page.count("<dd>") == len(TROUBLES)
    assert "CHECK_FAILED" in row
    assert "/run?run_id=scheduled__2%2B00%3A00-try1" in row
    assert f"sluice show checks {MINE}" in row
    [line] = get("/api/pipelines").json()["pipelines"]
    assert [each["name"] for each in line["troubles"]] == [
        "failed", "unpublished", "stale", "late waiting",
    ]  # fmt: skip
    assert all(f">{each['name']}</a>" in row for each in line["troubles"][1:])


def test_the_page_of_a_pipeline_begins_with_its_own_troubles(get):
    page = get(f"/pipelines/{MINE}", page=True).text
    [line] = get("/api/pipelines").json()["pipelines"]
    told = [page.index(f">{each['name']}</strong>") for each in line["troubles"]]
    assert told == sorted(told)
    assert len(told) > 1
    assert f"sluice show checks {MINE}" in page


def test_the_troubles_are_counted_and_are_those_of_the_pipelines_that_one_may_see(get):
    for user in (MINE, "everything"):
        found = get("/api/pipelines", user).json()
        troubled = [each for each in found["pipelines"] if each["troubles"]]
        assert found["troubled"] == len(troubled)
        assert found["pipelines"][: len(troubled)] == troubled, "they come first"
        page = get("/", user, page=True).text
        every = len(found["pipelines"])
        assert f"{len(troubled)} of {every}" in page
        assert found["counts"]["failed"] == (1 if user == MINE else 2)
        values = re.findall(r'name="trouble" value="([^"*]*)"', page)
        assert values == ["", *found["counts"]]


def test_each_drain_of_the_strip_is_a_link_with_a_name_and_time_goes_to_the_right(get):
    row = html.unescape(row_of(get("/", page=True).text, MINE))
    links = re.findall(r'<a href="[^"]*run_id=([^"]+)"[^>]*><title>([^<]+)</title><use', row)
    assert [run for run, _ in links] == [f"scheduled__{n}%2B00%3A00-try1" for n in range(3)]
    assert [title.partition(" ")[2][6:] for _, title in links] == [
        "passed, 100 records", "passed, 100 records", "a check failed, 100 records",
    ]  # fmt: skip
    assert row.count('tabindex="0"') == 1, "the others are reached by the arrow keys"


def test_no_value_of_a_record_is_in_it_whoever_asks(get, monkeypatch):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    for role in ("viewer", "user", "admin"):
        for page in (False, True):
            text = get("/" if page else "/api/pipelines", "everything", page=page, role=role).text
            assert VALUE_OF not in text
            assert "secret" not in text


def test_a_run_that_was_due_and_did_not_come_is_told_unless_the_dag_is_paused(get, airflow_knows):
    due = datetime.now(UTC) - timedelta(hours=3)

    def troubles() -> list[str]:
        [line] = get("/api/pipelines").json()["pipelines"]
        return [each["name"] for each in line["troubles"]]

    airflow_knows(MINE, is_paused=True, next_dagrun_create_after=due)
    assert "overdue" not in troubles()
    airflow_knows(MINE, is_paused=False)
    assert "overdue" in troubles()
    airflow_knows(MINE, next_dagrun_create_after=datetime.now(UTC) + timedelta(hours=1))
    assert "overdue" not in troubles()
    assert "in 60 minutes" in row_of(get("/", page=True).text, MINE)


def test_a_run_that_failed_in_airflow_alone_is_told_until_one_succeeds(get):
    def line() -> Any:
        return get("/api/pipelines", NEITHER).json()["pipelines"][0]

    with a_run_of(NEITHER, "failed", hours=2):
        assert [each["name"] for each in line()["troubles"]] == ["failed"]
        assert f"/dags/{NEITHER}" in get("/", NEITHER, page=True).text
        with a_run_of(NEITHER, "running", hours=1):
            assert line()["running_since"] is not None
        with a_run_of(NEITHER, "success", hours=1):
            assert line()["troubles"] == []
    began = datetime.now(UTC)
    with a_run_of(NEITHER, "running", hours=24 * 90, start_date=began):  # cleared, or a backfill's
        assert datetime.fromisoformat(line()["running_since"]) == began
        assert "overdue" not in [each["name"] for each in line()["troubles"]]
    assert (line()["troubles"], line()["running_since"]) == ([], None)
