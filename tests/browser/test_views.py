"""The views in a real browser: no error, readable in any light and width, without a mouse."""

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser import pages
from tests.browser.audit import audit, tabbed
from tests.harness.long_form import long_form

NARROW = 400
PIPELINES = "Pipelines, those in trouble first"
Windows = Callable[..., Any]
pytestmark = long_form


@pytest.mark.parametrize("name", pages.NAMES)
def test_a_page_has_no_error_and_is_readable_in_light_and_dark_and_narrow_and_by_the_keyboard(
    window, installed, name
):
    for dark in (False, True):
        with window(dark=dark) as opened:
            opened.go(pages.address(name, installed))
            for width in (1280, NARROW):
                opened.page.set_viewport_size({"width": width, "height": 860})
                found = audit(opened.page)
                assert found.good, (name, "dark" if dark else "light", width, found)
            if not dark:
                reached, shown, there = tabbed(opened.page)
                assert reached == shown == there > 0
            expected = [f"404: {opened.page.url}"] if name == "nothing here" else []
            wrong = [each for each in opened.wrong if "status of 404" not in each or not expected]
            assert wrong == expected


def test_every_link_of_the_views_leads_to_a_page_without_an_error(window):
    """One of each kind: links that differ only in a pipeline, a run or a number are of a kind."""
    with window() as opened:
        seen, todo = set[str](), [pages.OVERVIEW]
        while todo:
            opened.go(path := todo.pop())
            assert opened.wrong == [], path
            assert audit(opened.page).good, path
            for link in opened.page.eval_on_selector_all(
                "a[href]", "(all) => all.map((each) => each.getAttribute('href'))"
            ):
                kind = re.sub(r"pipelines/(?!aircraft)[^/?]+|=[^&]*", "", link)
                if link.startswith("/sluice/") and "aircraft" not in link and kind not in seen:
                    seen.add(kind)
                    todo.append(link)
        assert len(seen) >= 8


def test_a_table_sorts_and_a_field_filters_it(window, installed):
    with window() as opened:
        opened.go(pages.OVERVIEW)
        names = [row["pipeline"] for row in opened.table(PIPELINES)]
        assert {installed.grows.name, installed.well.name} < set(names)
        button = opened.page.get_by_role("button", name="pipeline", exact=True)
        button.focus()
        for up in (True, False):
            opened.page.keyboard.press("Enter")
            found = [row["pipeline"] for row in opened.table(PIPELINES)]
            assert found == sorted(names, reverse=not up)
        opened.page.get_by_label("Filter").fill(installed.well.name[:6])
        visible = opened.page.locator("#pipelines tbody tr:visible th").all_inner_texts()
        assert visible == [installed.well.name]


def test_airflow_leads_to_the_views_in_its_navigation_and_in_the_tab_of_a_dag(window, installed):
    name = installed.grows.name
    for path, heading in (
        ("/", "What needs you?"),
        (f"/dags/{name}", f"Where did the records of {name} go?"),
    ):
        with window() as opened:
            opened.go(path)
            # The tab of a DAG comes behind the navigation.
            opened.page.get_by_role("link", name="Sluice", exact=True).last.click()
            frame = opened.page.frame_locator("iframe")
            assert frame.get_by_role("heading", level=1).inner_text() == heading
            opened.page.wait_for_load_state("networkidle")
            assert [each for each in opened.wrong if "/sluice/" in each] == []
            [inside] = [each for each in opened.page.frames if each.parent_frame]
            assert audit(inside).good


def test_the_pages_take_airflow_s_light_or_dark(window):
    for chosen, other in (("dark", False), ("light", True)):
        with window(dark=other) as opened:
            opened.page.add_init_script(f"localStorage.setItem('theme', '{chosen}')")
            opened.go(pages.OVERVIEW)
            scheme = opened.page.evaluate(
                "() => getComputedStyle(document.documentElement).colorScheme"
            )
            assert scheme == chosen


class TestQuestions:
    """What a person answers from the pages alone."""

    def test_which_pipeline_grows(self, window, installed):
        with window() as opened:
            opened.go(pages.OVERVIEW)
            growth = {
                row["pipeline"]: row["state rows"].replace(",", "").partition(" ")[2]
                for row in opened.table(PIPELINES)
            }
        rows = installed.grows.state_rows
        assert growth[installed.grows.name] == f"(+{rows[-1] - rows[-30]})"
        assert {each for name, each in growth.items() if name != installed.grows.name} == {""}

    def test_why_was_a_run_not_published(self, window, installed):
        grows = installed.grows
        with window() as opened:
            opened.go(pages.OVERVIEW)
            row = opened.table(PIPELINES)[0]
            assert row["pipeline"] == grows.name
            assert row["what is wrong, what to do"].startswith("failed: CHECK_FAILED")
            opened.page.get_by_role("link", name=grows.name, exact=True).click()
            run = grows.run_id(grows.last)
            opened.page.get_by_role("link", name=run, exact=True).first.click()
            assert f"sluice show checks {grows.name}" in opened.text()
            [check] = [
                row
                for row in opened.table("Checks of output and state")
                if row["outcome"] == "failed"
            ]
        assert check["check"] == "expect_column_values_to_be_between(flights)"
        assert (check["failing"], check["sample"]) == ("3", "[214, 0, 231]")

    def test_which_keys_are_large_and_when_do_rows_expire(self, window, installed):
        with window() as opened:
            opened.go(pages.address("state", installed))
            largest = opened.table("The largest keys")
            assert largest[0]["bytes"] == "4.1 KiB"
            assert largest[0]["event_id"].startswith(f"{installed.grows.last}-")
            pressed = opened.page.get_by_role("button", name="all", exact=True)
            for plots, its_own in (("[data-apart]", "true"), (":not([data-apart])", "false")):
                plot = opened.page.locator(f"{plots}.plot").first
                plot.scroll_into_view_if_needed()
                box = plot.bounding_box()
                middle = box["y"] + box["height"] / 2
                opened.page.mouse.move(box["x"] + box["width"] / 3, middle)
                opened.page.mouse.down()
                opened.page.mouse.move(box["x"] + box["width"] / 2, middle, steps=4)
                opened.page.mouse.up()
                opened.page.wait_for_timeout(200)
                assert pressed.get_attribute("aria-pressed") == its_own

    def test_how_many_records_of_a_day_were_late_and_by_how_much(self, window, installed):
        late = installed.grows.late
        with window() as opened:
            opened.go(pages.address("rejected", installed))
            days = {
                row["day"]: int(row["records"])
                for row in opened.table("By day of the Kafka timestamp (UTC) and reason")
                if row["reason"] == "deduplicate"
            }
            [newest, *_] = opened.table("Late records, newest first")
        assert days == Counter(f"{row['kafka_timestamp']:%F}" for row in late)
        record = max(late, key=lambda row: row["kafka_timestamp"])
        assert newest["offset"] == str(record["offset"])
        assert newest["late by"] == str(record["watermark_missed"] - record["event_time"])

    def test_which_day_waits_for_a_repair(self, window, installed):
        with window() as opened:
            opened.go(pages.address("coverage", installed))
            rows = opened.table("Newest first")
        assert [row["who"] for row in rows if row["who"]] == ["ana"], (
            "of the repair that was swapped"
        )
        assert [row["what to do"] for row in rows if row["state"] == "staged"] == [
            "Approve or reject it"
        ]
        days = {row["from"][:10] for row in rows if row["state"] == "late"}
        found = {f"{row['event_time']:%F}" for row in installed.grows.late}
        assert days, "one line a day: neighbours differ in their late records"
        assert days <= found | {
            f"{row['event_time'] + timedelta(1):%F}" for row in installed.grows.late
        }


class TestOverview:
    """All pipelines, those in trouble first."""

    def test_one_sees_what_is_wrong_and_gets_there_by_one_click(self, window, installed):
        grows = installed.grows
        with window() as opened:
            opened.go(pages.OVERVIEW)
            assert "need" in opened.page.locator(".sum").inner_text()
            opened.page.get_by_role("link", name="Open the run").first.click()
            run = urlencode({"run_id": grows.run_id(grows.last)})
            opened.page.wait_for_url(f"**/run?{run}")

    def test_the_troubles_are_chosen_by_the_arrow_keys(self, window, installed):
        with window() as opened:
            opened.go(pages.OVERVIEW)
            opened.page.get_by_label("all ").focus()
            rows = opened.page.locator("#pipelines tbody tr:visible th")
            every = rows.count()
            chosen = opened.page.locator("[name=trouble]:checked")
            while chosen.get_attribute("value") != "failed":  # at the last one it begins anew
                opened.page.keyboard.press("ArrowRight")
            assert rows.all_inner_texts() == [installed.grows.name]
            assert f"1 of {every}" in opened.page.locator("output").inner_text()

    def test_each_drain_of_a_strip_is_a_link_with_a_name_that_the_arrow_keys_reach(
        self, window, installed
    ):
        with window() as opened:
            opened.go(pages.OVERVIEW)
            strip = opened.page.get_by_role("group", name=f"Last drains of {installed.grows.name}")
            links = strip.get_by_role("link")
            assert links.count() == 30
            assert "a check failed" in links.last.text_content()
            links.last.focus()
            for _ in range(19):
                opened.page.keyboard.press("ArrowLeft")
            assert opened.page.evaluate("() => document.activeElement.textContent").endswith(
                "KAFKA_UNREACHABLE"
            )
            opened.page.keyboard.press("Enter")
            run = urlencode({"run_id": installed.grows.run_id(installed.grows.unreached)})
            opened.page.wait_for_url(f"**/run?{run}")
