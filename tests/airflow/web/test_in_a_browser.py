"""The views in Chromium: charts that are drawn, and pages that axe has nothing against."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sluice_airflow.web import headers
from spark_jobs.pages.chart import Bound, Chart, Series
from spark_jobs.pages.report import report
from spark_jobs.pages.templates import LIBRARY, environment
from spark_jobs.prove.covered import covered
from spark_jobs.registry import find as registry
from tests.airflow.web.written import HOSTILE, LATE, MINE, NOON, addresses
from tests.browser import axe
from tests.browser.audit import audit
from tests.browser.chromium import ABSENT, PATH, chromium
from tests.browser.window import Window
from tests.harness.long_form import LONG

HOST = "http://airflow.test"
HERE = f"/sluice/pipelines/{MINE}"
HERE_ARE = Path(headers.__file__).parent / "html"
ONE_CHART = """{% extends "base.html" %}{% from "chart.html" import chart %}{% block main %}
<h1>One</h1>{{ chart(it, base, "p") }}{% endblock %}"""
RUN = "scheduled__2+00:00-try1"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if PATH is None:
        pytest.skip(ABSENT)
    if not (LIBRARY.is_file() and axe.SCRIPT.is_file()):
        pytest.skip(axe.ABSENT)
    with chromium() as running:
        yield running


@pytest.fixture
def opened(browser, get) -> Iterator[Callable[..., Window]]:
    """A window on the app of this process: what it asks for, the test's client fetches."""
    contexts = []

    def serve(route: Any, lacks: str, body: str) -> None:
        if body and route.request.resource_type == "document":
            route.fulfill(headers={"content-type": "text/html"} | headers.HEADERS, body=body)
            return
        path = route.request.url.removeprefix(f"{HOST}/sluice")
        page = route.request.resource_type == "document"
        answer = get(path, page=page, follow_redirects=True)
        status = 404 if lacks and lacks in path else answer.status_code
        route.fulfill(status=status, headers=dict(answer.headers), body=answer.content)

    def made(path: str, *, lacks: str = "", body: str = "", **of_context: Any) -> Window:
        context = browser.new_context(
            **{
                "base_url": HOST,
                "timezone_id": "Europe/Berlin",
                "viewport": {"width": 1280, "height": 900},
            }
            | of_context
        )
        contexts.append(context)
        context.route("**/*", lambda route: serve(route, lacks, body))
        window = Window(context.new_page())
        window.go(path)
        return window

    yield made
    for each in contexts:
        each.close()


def inked(window: Window) -> list[bool]:
    """Of each chart, whether more than one colour is in its canvas."""
    return window.page.evaluate("""() => [...document.querySelectorAll("[data-chart] canvas")].map((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size > 3;
    })""")


def test_a_chart_is_drawn_and_says_its_figures_to_the_mouse_and_to_the_keys_and_opens_the_run(
    opened,
):
    window = opened(HERE)
    figures = window.page.locator("figure").count()
    assert inked(window) == [True] * figures != []
    account = window.page.get_by_role("application").first
    assert "3 points of 7 series in records" in account.get_attribute("aria-label")
    account.hover(position={"x": 560, "y": 60})
    tip = window.page.locator(".tip")
    assert re.search(r"late: 10\n.*all: 100", tip.inner_text(), re.DOTALL)
    account.focus()
    said = window.page.locator("p.unseen")
    for key, run in (("End", 2), ("ArrowLeft", 1), ("Home", 0), ("End", 2)):
        window.page.keyboard.press(key)
        assert said.inner_text().startswith(
            f"scheduled__{run}+00:00-try1, 2026-03-01 1{2 + run}:00:00 UTC, accepted: "
        )
    window.page.keyboard.press("Enter")
    window.page.wait_for_url(
        lambda url: f"run_id={RUN}" in url.replace("%2B", "+").replace("%3A", ":")
    )
    assert window.wrong == []


def test_all_charts_show_one_range_of_time_in_the_zone_that_was_chosen_once(opened):
    window = opened(HERE)
    pressed = window.page.locator(".ranges [aria-pressed=true]")
    assert pressed.inner_text() == "all"
    window.page.get_by_role("button", name="24 h").click()
    assert pressed.inner_text() == "24 h"
    place = window.page.locator(".u-over").first.bounding_box()
    window.page.mouse.move(place["x"] + 50, place["y"] + 50)
    window.page.mouse.down()
    window.page.mouse.move(place["x"] + 200, place["y"] + 50, steps=3)
    window.page.mouse.up()
    window.page.wait_for_function("() => !document.querySelector('.ranges [aria-pressed=true]')")
    window.page.keyboard.press("Escape")
    zone = window.page.get_by_role("button", name="times:")
    assert zone.inner_text() == "times: UTC"
    zone.click()
    window.page.reload()
    assert zone.inner_text() == "times: Europe/Berlin"
    window.page.get_by_role("application").first.focus()
    window.page.keyboard.press("End")
    assert "15:00:00 Europe/Berlin" in window.page.locator("p.unseen").inner_text()
    window.page.evaluate("localStorage.clear(); localStorage.setItem('timezone', '\"Asia/Tokyo\"')")
    window.page.reload()
    assert zone.inner_text() == "times: Asia/Tokyo", "as Airflow's UI has it"
    assert window.wrong == []


def test_names_that_are_markup_stay_text_where_a_chart_says_them(opened):
    name = HOSTILE[:400]
    chart = Chart(name, "records", "bars", [0.0, 9.0], [name] * 2, [name] * 2,
        [Series(name, [1.0, 2.0], "part0")], [Bound(name, 1.5)])  # fmt: skip
    page = environment(HERE_ARE).from_string(ONE_CHART).render(base="/sluice", it=chart)
    window = opened(HERE, body=page)
    assert inked(window) == [True]
    window.page.get_by_role("application").focus()
    window.page.keyboard.press("End")
    for place in (".tip", "p.unseen", ".legend", "table"):
        told = window.page.locator(place).first
        assert "<script>alert(1)</script>" in told.text_content()
        assert told.locator("script, img").count() == 0
        assert "\u202e" not in told.text_content()
    assert audit(window.page).good
    assert window.wrong == []


def test_the_file_of_a_report_draws_its_charts_by_itself(browser, root, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(report(registry.load(MINE), str(root), NOON, 60, covered))
    context = browser.new_context(offline=True)
    try:
        window = Window(context.new_page())
        window.go(file.as_uri())
        assert inked(window) == [True] * window.page.locator("figure").count() != []
        assert audit(window.page).good
        assert window.wrong == [], "its policy lets its own script run"
    finally:
        context.close()


def test_a_chart_whose_library_is_not_there_says_so_and_its_table_is_open(opened):
    window = opened(HERE, lacks="uPlot.iife")
    figures = window.page.locator("figure").count()
    assert window.page.get_by_text("cannot be drawn").count() == figures > 0
    assert window.page.locator("figure td:visible").count() > 0


SHORT = [
    f"/pipelines/{MINE}{each}"
    for each in ("", f"/run?run_id={quote(RUN)}", f"/rejected{LATE}", "/coverage")
]


def pages() -> list[str]:
    """One of each route that answers with a page of its own."""
    return [each for each in addresses(MINE) if not each.startswith(("/api", "/static"))]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_and_hostile_values_run_nothing(opened, dark, monkeypatch):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    wrong = []
    for path in pages() if LONG else (SHORT[dark::2]):
        for width in (360, 3840) if LONG else (1280,):
            window = opened(
                f"/sluice{path}",
                color_scheme="dark" if dark else "light",
                viewport={"width": width, "height": 900},
            )
            found = audit(window.page)
            wrong += [(path, width, found)] * (not found.good)
            wrong += [(path, width, each) for each in window.wrong]
    assert wrong == []
