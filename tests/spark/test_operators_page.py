"""docs/operators.md shows what the example pipelines do. `make operators` writes it; this holds it to a real run."""

from __future__ import annotations

import os
from pathlib import Path

from tests.harness.scene import Scene
from tests.spark import page

FOLDER = Path(__file__).parents[1] / "pipelines"


def test_the_page_shows_each_example_as_it_runs_now(kafka, tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")
    found = page.generated(lambda spec: Scene(kafka, tmp_path / spec.name, spec), FOLDER)
    written, mark, shown = page.PAGE.read_text().partition(page.MARK)
    if os.environ.get("SLUICE_WRITE_PAGE"):
        page.PAGE.write_text(f"{written.rstrip()}\n\n{page.MARK}{found}")
        return
    assert mark
    assert shown == found, "`make operators` writes the page anew"


def test_every_example_pipeline_is_on_the_page():
    assert sorted(page.EXAMPLES) == sorted(path.parent.name for path in FOLDER.glob("*/spec.py"))
