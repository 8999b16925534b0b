"""The pictures of docs/seeing.md and of the README: `make screenshots` writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract.settings import REPO
from tests.browser.installation import GROWS, PIPELINE, REFUSED, REFUSED_RUN

KEPT = REPO / "docs" / "img"
MOST_BYTES = 150_000
PICTURES = {
    "overview": ("/plugin/sluice", False),
    "pipeline": (f"/sluice/pipelines/{GROWS}", False),
    "pipeline-dark": (f"/sluice/pipelines/{GROWS}", True),
    "failed-check": (f"/sluice/pipelines/{REFUSED}/run?run_id={REFUSED_RUN}", False),
    "late": (f"/sluice/pipelines/{PIPELINE}/late", False),
}
"""Name -> the page, and whether it is dark."""


@pytest.mark.parametrize("name", PICTURES)
def test_a_page_has_a_picture_that_is_small(
    window: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    folder = KEPT if os.environ.get("SLUICE_SCREENSHOTS") else tmp_path
    folder.mkdir(exist_ok=True)
    path, dark = PICTURES[name]
    with window(dark=dark) as opened:
        opened.go(path)
        opened.page.screenshot(path=folder / f"{name}.png")
    assert 0 < (folder / f"{name}.png").stat().st_size <= MOST_BYTES


def test_the_pages_show_every_picture_that_is_kept_and_no_other() -> None:
    shown = (REPO / "docs" / "seeing.md").read_text()
    assert {f"{name}.png" for name in PICTURES} == {file.name for file in KEPT.glob("*.png")}
    assert all(f"(img/{name}.png)" in shown for name in PICTURES)
