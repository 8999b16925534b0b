"""The views in a real browser: each page without an error, readable in light and dark, in a narrow
window and without a mouse; and what a person finds there who has never seen Sluice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser import written
from tests.browser.audit import audit, tabbed
from tests.browser.installation import GROWS, PIPELINE, REFUSED, REFUSED_RUN, RUN, Installed

OVERVIEW = "/sluice/"
NARROW = 400
PAGES = {
    "overview": OVERVIEW,
    "60 runs": f"/sluice/pipelines/{GROWS}",
    "pipeline": f"/sluice/pipelines/{PIPELINE}",
    "failed check": f"/sluice/pipelines/{REFUSED}/run?run_id={REFUSED_RUN}",
    "run": f"/sluice/pipelines/{PIPELINE}/run?run_id={RUN}-try1",
    "late": f"/sluice/pipelines/{PIPELINE}/late",
    "quarantine": f"/sluice/pipelines/{PIPELINE}/quarantine",
    "tab of a DAG": f"/sluice/dags/{PIPELINE}",
    "tab of a DAG run": f"/sluice/dags/{PIPELINE}/runs/{RUN}",
    "nothing here": "/sluice/dags/sluice_maintain",
}
Windows = Callable[..., Any]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_without_an_error_and_readable_in_light_dark_and_a_narrow_window(
    window: Windows, name: str
) -> None:
    for dark in (False, True):
        with window(dark=dark) as opened:
            opened.go(PAGES[name])
            for width in (1280, NARROW):
                opened.page.set_viewport_size({"width": width, "height": 860})
                found = audit(opened.page)
                assert found.good, (name, "dark" if dark else "light", width, found)
            expected = [f"404: {opened.page.url}"] if name == "nothing here" else []
            wrong = [each for each in opened.wrong if "status of 404" not in each or not expected]
            assert wrong == expected


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(window: Windows, name: str) -> None:
    with window() as opened:
        opened.go(PAGES[name])
        reached, shown, there = tabbed(opened.page)
        assert reached == shown == there > 0


def test_every_link_of_the_views_leads_to_a_page_without_an_error(window: Windows) -> None:
    """One of each kind: links that differ only in a pipeline, a run or a number are of a kind."""
    with window() as opened:
        seen, todo = set[str](), [OVERVIEW]
        while todo:
            opened.go(path := todo.pop())
            assert opened.wrong == [], path
            assert audit(opened.page).good, path
            for link in opened.page.eval_on_selector_all(
                "a[href]", "(all) => all.map((each) => each.getAttribute('href'))"
            ):
                kind = re.sub(r"pipelines/[^/?]+|=[^&]*", "", link)
                if link.startswith("/sluice/") and kind not in seen:
                    seen.add(kind)
                    todo.append(link)
        assert len(seen) >= 5


def test_a_table_sorts_and_a_field_filters_it(window: Windows) -> None:
    with window() as opened:
        opened.go(OVERVIEW)
        names = [row["pipeline"] for row in opened.table("The last drain")]
        assert sorted(names) == sorted([GROWS, PIPELINE, REFUSED])
        button = opened.page.get_by_role("button", name="pipeline", exact=True)
        button.focus()
        for up in (True, False):
            opened.page.keyboard.press("Enter")
            found = [row["pipeline"] for row in opened.table("The last drain")]
            assert found == sorted(names, reverse=not up)
        opened.page.get_by_label("Filter").fill("impossible")
        visible = opened.page.locator("#pipelines tbody tr:visible th").all_inner_texts()
        assert visible == [REFUSED]


def test_airflow_leads_to_the_views_in_its_navigation_and_in_the_tabs_of_a_dag_and_of_a_run(
    window: Windows,
) -> None:
    for path, heading in (
        ("/", "Pipelines"),
        (f"/dags/{PIPELINE}", PIPELINE),
        (f"/dags/{PIPELINE}/runs/{RUN}", f"{RUN}-try1"),
    ):
        with window() as opened:
            opened.go(path)
            # The tab of a DAG comes behind the navigation.
            opened.page.get_by_role("link", name="Sluice", exact=True).last.click()
            frame = opened.page.frame_locator("iframe")
            assert frame.get_by_role("heading", level=1).inner_text() == heading
            opened.page.wait_for_load_state("networkidle")
            assert [each for each in opened.wrong if "/sluice/" in each] == []
            [inside] = [each for each in opened.page.frames if "/sluice/" in each.url]
            assert audit(inside).good


def test_the_frame_takes_airflow_s_light_or_dark(window: Windows) -> None:
    for chosen, other in (("dark", False), ("light", True)):
        with window(dark=other) as opened:
            opened.page.add_init_script(f"localStorage.setItem('theme', '{chosen}')")
            opened.go(OVERVIEW)
            scheme = opened.page.evaluate(
                "() => getComputedStyle(document.documentElement).colorScheme"
            )
            assert scheme == chosen


class TestQuestions:
    """What a person answers from the pages alone."""

    def test_which_pipeline_grows(self, window: Windows) -> None:
        with window() as opened:
            opened.go(OVERVIEW)
            growth = {
                row["pipeline"]: int(row["since 20 runs"].replace(",", "") or 0)
                for row in opened.table("The last drain")
            }
        assert max(growth, key=lambda name: growth[name]) == GROWS
        assert growth[GROWS] == 19 * written.GROWTH

    def test_why_was_a_run_not_published(self, window: Windows) -> None:
        with window() as opened:
            opened.go(OVERVIEW)
            [row] = [row for row in opened.table("The last drain") if row["pipeline"] == REFUSED]
            assert row["verdict"] == "failed CHECK_FAILED"
            opened.page.get_by_role("link", name=REFUSED, exact=True).click()
            opened.page.get_by_role("link", name=REFUSED_RUN, exact=True).first.click()
            text = opened.text()
            assert "CHECK_FAILED" in text
            assert "are not published" in text
            assert f"sluice show checks --pipeline {REFUSED}" in text
            [check] = [
                row
                for row in opened.table("Checks of output and state")
                if row["outcome"] == "failed"
            ]
        assert check["check"] == "expect_column_values_to_be_between(flights)"
        assert int(check["failing"].replace(",", "")) > 0

    def test_how_many_records_of_yesterday_were_late_and_by_how_much(self, window: Windows) -> None:
        yesterday = f"{datetime.now(UTC) - timedelta(days=1):%F}"
        with window() as opened:
            opened.go(OVERVIEW)
            row = opened.page.locator("#pipelines tbody tr", has_text=GROWS)
            row.get_by_role("link", name=str(len(written.LATE_MINUTES)), exact=True).click()
            days = {row["day"]: int(row["records"]) for row in opened.table("By day")}
            assert days == {yesterday: len(written.LATE_MINUTES)}
            late = sorted(
                row["late by"]
                for row in opened.table("Records, newest first")
                if row["Kafka timestamp"].startswith(yesterday)
            )
        assert late == [f"0:{minutes}:00" for minutes in written.LATE_MINUTES]

    def test_which_day_needs_a_repair(self, window: Windows, installed: Installed) -> None:
        """The days of the late records; docs/seeing.md has the page that gathers them."""
        with window() as opened:
            opened.go(f"/sluice/pipelines/{quote(PIPELINE)}/late")
            days = {row["event time"][:10] for row in opened.table("Records, newest first")}
        rows = installed.scene.ops("late", "event_time, pipeline")
        assert days == {f"{row['event_time']:%F}" for row in rows if row["pipeline"] == PIPELINE}
        assert days
