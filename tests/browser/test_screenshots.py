"""The pictures of docs/seeing.md and of the README, of a demo that runs: `make screenshots` takes them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from typing import Any
from urllib.parse import urlencode

import pytest

from local import airflow, broker
from local.airflow_settings import of_tasks
from local.demo import HOME, REPAIRED
from local.properties import AN_HOUR_AHEAD
from spark_jobs.settings.installation import REPO
from tests.browser.pictures import BACKFILL, KEPT, KEPT_DEMO, MOST_BYTES, PICTURES, TAKEN
from tests.browser.window import logged_in, opened

DELIVERIES = 8
"""More than the demo has by itself: so many runs are to be seen."""
WARM = {"SLUICE_WARM": "on", "SLUICE_WARM_IDLE_MINUTES": "1"}
"""They need not start a JVM each; the worker ends by itself."""
RULED = "flight_events"
OF_IT = f"/sluice/pipelines/{REPAIRED}"
DATA = f"/sluice/api/pipelines/{REPAIRED}"


@pytest.fixture(scope="module")
def window(browser) -> Iterator[Callable[..., Any]]:
    """On an Airflow and a Kafka that have what the demo has left."""
    root = HOME / "root"
    if TAKEN != KEPT_DEMO:
        words = [sys.executable, "-m", "local.demo", "--deliveries", str(DELIVERIES)]
        subprocess.run(words, cwd=REPO, env=os.environ | WARM, check=True)
    try:
        brokers = broker.start(HOME / "kafka", REPO / "jars" / "kafka", ahead_ms=AN_HOUR_AHEAD)
        ours = of_tasks(brokers, root) | {"SLUICE_RECORD_BYTES": "shown"}
        if TAKEN != KEPT_DEMO:
            words = [sys.executable, "-m", "spark_jobs.cli", "state", REPAIRED, "--keep"]
            subprocess.run(words, cwd=REPO, env=os.environ | ours, check=True)
        running = airflow.start(HOME / "airflow", ours, schedule=False)
        yield partial(opened, browser, running, logged_in(browser, running))
    finally:
        airflow.stop(HOME / "airflow")
        broker.stop(HOME / "kafka")


def address(page: str, there: Any) -> str:
    """Of the last drain and of the last late record, by the JSON of the pages."""

    def newest(what: str, table: str) -> dict[str, Any]:
        found: dict[str, Any] = there.page.context.request.get(f"{DATA}/{what}").json()[table][0]
        return found

    match page:
        case "rules":
            return _last_run(there, RULED)
        case "overview":
            return "/sluice/"
        case "pipeline":
            return OF_IT
        case "run":
            return _last_run(there, REPAIRED)
        case "record":
            record = newest("late?limit=1", "records")
            place = {name: record[name] for name in ("generation", "partition", "offset")}
            return f"{OF_IT}/rejected?{urlencode({'table': 'late', **place})}"
    return f"{OF_IT}/{page}"


def _last_run(there: Any, pipeline: str) -> str:
    asked = there.page.context.request.get(f"/sluice/api/pipelines/{pipeline}/runs")
    drain = next(each for each in asked.json()["runs"] if each["kind"] == "drain" and each["late"])
    return f"/sluice/pipelines/{pipeline}/run?{urlencode({'run_id': drain['run_id']})}"


def fate(there: Any) -> str:
    """What a person sees who asks for the newest late record, in a terminal."""
    late = there.page.context.request.get(f"{DATA}/late?limit=1").json()["records"][0]
    words = ("where", REPAIRED, f"{late['partition']}:{late['offset']}")
    ours = os.environ | of_tasks(str(broker.running(HOME / "kafka")), HOME / "root")
    asked = (sys.executable, "-m", "spark_jobs.cli", *words)
    told = subprocess.run(asked, cwd=REPO, env=ours, check=True, capture_output=True, text=True)
    return escape(f"$ sluice {' '.join(words)}\n{told.stdout}")


@pytest.mark.skipif(not TAKEN, reason="pictures: make screenshots")
@pytest.mark.parametrize("name", PICTURES)
def test_a_page_has_a_picture(window, name):
    picture = PICTURES[name]
    with window(picture.width, dark=picture.dark) as there:
        there.page.set_viewport_size({"width": picture.width, "height": picture.height})
        if picture.page == "where":
            there.page.set_content(f"<pre>{fate(there)}</pre>")
        else:
            there.go(address(picture.page, there))
        if picture.at:
            there.page.eval_on_selector(picture.at, "found => found.scrollIntoView()")
        there.page.screenshot(path=KEPT / f"{name}.png")
        assert there.wrong == []


def test_every_picture_is_small_and_is_shown_and_there_is_no_other():
    shown = (REPO / "docs" / "seeing.md").read_text()
    sizes = {file.stem: file.stat().st_size for file in KEPT.glob("*.png")}
    assert sizes.keys() == {*PICTURES, *BACKFILL}
    assert max(sizes.values()) <= MOST_BYTES
    assert all(f"(img/{name}.png)" in shown for name in sizes)
