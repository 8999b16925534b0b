"""The page of a run that works, in Chromium: it goes on by itself, and nobody loses their place."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from spark_jobs.checkpoint.lease import Begun, lease
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.runs.run_record import append_row
from spark_jobs.source.positions import Positions
from spark_jobs.storage.root.paths import Paths
from tests.airflow.web.test_in_a_browser import browser, opened
from tests.airflow.web.written import MINE
from tests.browser import axe
from tests.harness.long_form import LONG, long_form
from tests.harness.roots import report
from tests.unit.checkpoints import commit_batch, plan_batch

__all__ = ["browser", "opened"]
RUN = "scheduled__9+00:00-try1"
ADDRESS = f"/sluice/pipelines/{MINE}/run?{urlencode({'run_id': RUN})}"
SIZES = (900, 360, 2560) if LONG else (360,)
Window = Callable[..., Any]


class Works:
    """A drain of which there is no process: its note, its lease and its files. It reads 3,000
    offsets behind the 300 of before, 1,000 a batch.
    """

    def __init__(self, root, held):
        self.spec = registry.load(MINE)
        self.paths = Paths(str(root), self.spec)
        self.began = datetime.now(UTC)
        self.held = held
        held.enter_context(lease(self.paths.lease, RUN))
        Begun(
            kind="drain", run_id=RUN, started_at=self.began, pid=1, host="worker-1",
            begins=Positions({0: 0}), ends=Positions({0: 3300}),
        ).write(self.paths.running)  # fmt: skip
        self.batches = []

    def batch(self):
        number = 3 + len(self.batches)
        start, end = 300 + 1000 * len(self.batches), 1300 + 1000 * len(self.batches)
        spark, clock = Path(str(self.paths.checkpoint)), int(self.began.timestamp() * 1000) + 1
        plan_batch(spark, number, {0: end}, clock, self.spec.topic.name, clock)
        commit_batch(spark, number)
        row = {
            "pipeline": MINE, "generation": "g1", "batch_id": number, "run_id": RUN,
            "seconds": 4.0, "covered": 1000, "read": 1000, "malformed": 3, "accepted": 997,
            "duplicates": 0, "rows_out": 7, "offsets_start": f'{{"0": {start}}}',
            "offsets_end": f'{{"0": {end}}}', "audited_at": datetime.now(UTC),
        }  # fmt: skip
        ops_tables.append(self.paths.root, "batches", [row])
        self.batches.append(number)

    def end(self):
        self.paths.running.unlink()
        append_row(report(MINE, RUN, at=datetime.now(UTC)), str(self.paths.root))
        self.held.close()

    def forget(self):
        self.paths.running.unlink(missing_ok=True)
        for number in self.batches:
            for log in ("offsets", "commits"):
                (self.paths.checkpoint / log / str(number)).unlink()
        for table in ("runs", "batches"):
            ops_tables.remove(self.paths.root, table, ops_tables.equals({"run_id": RUN}))


@pytest.fixture
def works(root) -> Iterator[Works]:
    with ExitStack() as held:
        made = Works(root, held)
        try:
            yield made
        finally:
            made.forget()


def asked_in(page: Any, milliseconds: int) -> list[str]:
    """What the page asks for in this time."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(milliseconds)
    return asked


def test_figures_and_drawing_follow_the_run_and_focus_and_place_stay_where_they_are(opened, works):
    from playwright.sync_api import expect  # noqa: PLC0415 - as chromium.py

    expect.set_options(timeout=30_000)
    works.batch()
    window = opened(ADDRESS)
    page = window.page
    left = page.locator("[data-tell=left]")
    expect(left).to_have_text("2,000 of 3,000 offsets")
    for dark in ("light", "dark"):
        page.emulate_media(color_scheme=dark)
        for width in SIZES:
            page.set_viewport_size({"width": width, "height": 500})
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert (axe.violations(page), wide) == ([], width)
    page.set_viewport_size({"width": 900, "height": 400})
    link = page.get_by_role("link", name="malformed")
    link.focus()
    page.evaluate("scrollTo(0, 150)")
    place = page.evaluate("scrollY")
    works.batch()
    expect(left).to_have_text("1,000 of 3,000 offsets")
    expect(page.locator("#so-far .stages")).to_contain_text("1,000 read")
    expect(link).to_be_focused()
    assert page.evaluate("scrollY") == place > 0
    page.evaluate("document.activeElement.blur()")
    expect(page.locator("#so-far .stages")).to_contain_text("2,000 read")
    assert page.evaluate("scrollY") == place
    works.end()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^What did this run do"))
    assert asked_in(page, 4000) == [], "it has ended"
    assert window.wrong == []


@long_form
def test_a_page_that_reaches_nobody_says_so_and_goes_on_and_a_dead_run_is_dead(opened, works):
    from playwright.sync_api import expect  # noqa: PLC0415 - as above

    expect.set_options(timeout=30_000)
    window = opened(ADDRESS)
    page = window.page
    page.route("**/at_work", lambda route: route.abort())
    says = page.locator("[data-says]")
    expect(says).to_contain_text("Not reached since")
    page.unroute("**/at_work")
    works.batch()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("[data-tell=left]")).to_have_text("2,000 of 3,000 offsets")
    expect(says).to_have_text("")
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.wait_for_timeout(3500)
    assert asked_in(page, 3500) == [], "nobody looks"
    page.evaluate("delete document.hidden")
    page.get_by_role("link", name="All pipelines").focus()
    works.held.close()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_role("link", name="See what it did").click()
    expect(page.locator(".verdict")).to_contain_text("It died: its process is gone")
    assert page.locator("[data-live]").count() == 0
    assert [each for each in window.wrong if "ERR_FAILED" not in each] == []
