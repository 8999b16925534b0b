"""The page of a run that works, in a browser: it goes on by itself, and nobody loses their place."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest

from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.begun import Begun
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.root.paths import Paths
from spark_jobs.runs.run_record import append_row
from tests.browser.audit import audit
from tests.harness.long_form import long_form
from tests.harness.roots import report
from tests.unit.checkpoints import begin, commit_batch, plan_batch

pytestmark = long_form
NAME, RUN = "aircraft_rotations", "scheduled__2026-11-27T06:00:00+00:00-try1"
ADDRESS = f"/sluice/pipelines/{NAME}/run?{urlencode({'run_id': RUN})}"


class Works:
    """A drain of which there is no process: its note, its lease and its files."""

    def __init__(self, root):
        self.paths = Paths(str(root), registry.load(NAME))
        self.paths.ensure_writable()
        self.began = datetime.now(UTC)
        self.spark = begin(self.paths.checkpoint, {0: 0})
        Begun(
            kind="drain", run_id=RUN, started_at=self.began, pid=1, host="worker-1", begins={0: 0},
            ends={0: 3000},
        ).write(self.paths.running)  # fmt: skip

    def batch(self, number):
        plan_batch(self.spark, number, {0: 1000 * (number + 1)}, 0, "flights", self.clock)
        commit_batch(self.spark, number)
        row = {
            "pipeline": NAME, "generation": "g", "batch_id": number, "run_id": RUN, "seconds": 4.0,
            "covered": 1000, "read": 1000, "malformed": 3, "accepted": 997, "duplicates": 0,
            "rows_out": 7, "offsets_start": f'{{"0": {1000 * number}}}',
            "offsets_end": f'{{"0": {1000 * (number + 1)}}}',
        }  # fmt: skip
        ops_tables.append(self.paths.root, "batches", [row])

    @property
    def clock(self):
        return int(self.began.timestamp() * 1000) + 1

    def end(self):
        self.paths.running.unlink()
        append_row(report(NAME, RUN, at=datetime.now(UTC)), str(self.paths.root))

    def forget(self):
        shutil.rmtree(str(self.paths.above))
        for table in ("runs", "batches"):
            ops_tables.remove(self.paths.root, table, ops_tables.equals({"run_id": RUN}))


@pytest.fixture
def works(installed) -> Iterator[tuple[Works, ExitStack]]:
    made = Works(installed.grows.root)
    try:
        with ExitStack() as held:
            held.enter_context(lease(made.paths.lease, RUN))
            yield made, held
    finally:
        made.forget()


def test_figures_and_drawing_follow_the_run_and_focus_and_place_stay_where_they_are(window, works):
    run, held = works
    run.batch(0)
    with window(width=900) as opened:
        page = opened.page
        opened.go(ADDRESS)
        left = page.locator("[data-tell=left]")
        assert left.inner_text() == "2,000 of 3,000 offsets"
        for dark in (False, True):
            page.emulate_media(color_scheme="dark" if dark else "light")
            for width in (900, 360, 2560):
                page.set_viewport_size({"width": width, "height": 500})
                found = audit(page)
                assert found.good, (dark, width, found)
        page.set_viewport_size({"width": 900, "height": 400})
        link = page.get_by_role("link", name="malformed")
        link.focus()
        page.evaluate("scrollTo(0, 150)")
        place = page.evaluate("scrollY")
        run.batch(1)
        page.wait_for_function(
            "document.querySelector('[data-tell=left]').textContent.startsWith('1,000 of')"
        )
        assert "500" not in page.locator("#so-far").inner_text()
        assert link.evaluate("(each) => each === document.activeElement"), "it is not thrown out"
        assert page.evaluate("scrollY") == place > 0
        page.evaluate("document.activeElement.blur()")
        page.wait_for_function(
            "document.querySelector('#so-far').textContent.includes('2,000 read')"
        )
        assert page.evaluate("scrollY") == place
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        run.end()
        held.close()
        page.wait_for_function("!document.querySelector('[data-live]')")
        assert page.get_by_role("heading", level=1).inner_text().startswith("What did this run do")
        asked.clear()
        page.wait_for_timeout(4000)
        assert asked == [], "it has ended"
        assert opened.wrong == []


def test_a_page_that_reaches_nobody_says_so_and_goes_on_when_it_does_and_a_dead_run_is_dead(
    window, works
):
    run, held = works
    with window() as opened:
        page = opened.page
        opened.go(ADDRESS)
        page.route("**/at_work", lambda route: route.abort())
        page.get_by_text("Not reached since").wait_for()
        page.unroute("**/at_work")
        run.batch(0)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_function(
            "document.querySelector('[data-tell=left]').textContent.startsWith('2,000 of')"
        )
        assert page.get_by_text("Not reached since").count() == 0
        page.evaluate("Object.defineProperty(document, 'hidden', {value: true})")
        page.wait_for_timeout(3500)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_timeout(3500)
        assert asked == [], "nobody looks"
        page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
        page.get_by_role("link", name="All pipelines").focus()
        held.close()
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.get_by_role("link", name="See what it did").click()
        page.get_by_text("It died: its process is gone").wait_for()
        assert page.locator("[data-live]").count() == 0
        assert [each for each in opened.wrong if "ERR_FAILED" not in each] == []
