"""Pictures of docs/seeing.md: `make screenshots` takes them anew."""

import os
from typing import Any, NamedTuple

from spark_jobs.settings.installation import REPO

KEPT = REPO / "docs" / "img"
MOST_BYTES = 150_000
WIDTH = 1280
TAKEN = os.environ.get("SLUICE_SCREENSHOTS", "")
KEPT_DEMO = "kept"
"""As its value: of the demo that has run last, without another."""


class Picture(NamedTuple):
    """How a page is pictured: its upper part, so high and so wide in pixels."""

    page: str
    height: int
    dark: bool = False
    width: int = WIDTH
    at: str = ""
    """the element that it begins with; the page's top without one"""


PICTURES = {
    "overview": Picture("overview", 460, width=1400),
    "pipeline": Picture("pipeline", 890),
    "pipeline-dark": Picture("pipeline", 890, dark=True),
    "run": Picture("run", 900),
    "coverage": Picture("coverage", 640),
    "rejected": Picture("rejected", 700),
    "record": Picture("record", 820, dark=True),
    "state": Picture("state", 820),
    "rules": Picture("rules", 150, width=660, at="#rules"),
    "where": Picture("where", 140, width=660),
}
"""Name -> the page, of a demo that has just run (test_screenshots.py)."""
BACKFILL = {
    "drain-form": 540,
    "backfill-form": 900,
    "backfill-runs": 580,
    "backfill-approval": 1000,
    "backfill-run": 640,
}
"""Name -> the height of what a person sees in a real backfill (test_backfill.py)."""


def keep(page: Any, name: str) -> None:
    """A picture of a backfill. Does nothing unless pictures are to be taken."""
    if TAKEN:
        page.set_viewport_size({"width": WIDTH, "height": BACKFILL[name]})
        page.screenshot(path=KEPT / f"{name}.png")
