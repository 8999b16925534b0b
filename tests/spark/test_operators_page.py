"""docs/operators.md shows what the examples do: `make operators` writes, this holds it."""

import os
from pathlib import Path

import pytest

from tests.harness.long_form import long_form
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark import page

FOLDER = Path(__file__).parents[1] / "pipelines"
ONLY_IN_THE_LONG_FORM = ("aircraft_tours",)
NAMES = [
    pytest.param(name, marks=long_form) if name in ONLY_IN_THE_LONG_FORM else name
    for name in page.EXAMPLES
]

pytestmark = pytest.mark.usefixtures(
    "compiled"
)  # as a drain runs: the other tests interpret, to save time


def shows(name: str, found: str) -> None:
    if os.environ.get("SLUICE_WRITE_PAGE"):
        page.write(name, found)
    assert page.read()[name] == found, "`make operators` writes the page anew"


@alike("a form of an operator")
@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_an_example_as_it_runs_and_duckdb_has_it(kafka, tmp_path, monkeypatch, name):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")
    shows(name, page.example(lambda spec: Scene(kafka, tmp_path, spec), FOLDER, name))


def test_the_page_shows_what_all_examples_read_and_each_of_them_once():
    shows("", page.beginning())
    assert [*page.read()] == ["", *page.EXAMPLES]
    generated = page.PAGE.read_text().partition(page.MARK)[2]
    assert generated.count("\n### ") == len(page.EXAMPLES)
