"""A logic.py as text: its digest on every Python, and what Spark would fail at with certainty."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract import logic
from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Transform
from tests.unit.specs import group_state, pipeline

SHOPS = pipeline(steps=(group_state(processor="Shops"),))
TRANSFORMED = pipeline(steps=(Transform(function="wider"), *pipeline().steps))
SHOP = """
class Shops(StatefulProcessor):
    def init(self, handle): pass
    def handleInputRows(self, key, rows, timerValues): yield
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (folder := tmp_path / "sales_hourly").mkdir()
    return folder / "logic.py"


def test_the_digest_of_a_text_is_this_on_every_python(path: Path) -> None:
    path.write_text(
        SHOP + "\n\ndef f(x: int = 1) -> str:\n    return f'{x:>3} {x!r}' if x else ''\n"
    )
    assert logic.digest(path) == "2-364db9fc7931"


def test_fields_that_a_newer_python_adds_and_leaves_empty_change_nothing(path: Path) -> None:
    path.write_text(SHOP)
    before = logic._plain(ast.parse(SHOP))  # noqa: SLF001 - the form that is hashed
    tree = ast.parse(SHOP)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            node._fields = (*node._fields, "type_params")  # type: ignore[misc]
            node.type_params = []  # type: ignore[attr-defined]
    assert logic._plain(tree) == before  # noqa: SLF001 - as above


@pytest.mark.parametrize(
    "text",
    [
        SHOP,
        SHOP.replace("yield", "yield") + "    def close(self): pass\n",
        SHOP.replace("key, rows, timerValues", "a, b, c"),
        SHOP + "    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo): yield\n",
        SHOP + "    def handleExpiredTimer(self, key, *, timerValues, expiredTimerInfo): yield\n",
        SHOP + "    def handleExpiredTimer(self, **given): yield\n",
        SHOP.replace("class Shops", "class Base") + "class Shops(Base): pass\n",
        SHOP.replace("StatefulProcessor", "library.Processor"),
        "from elsewhere import Shops\n",
        "from elsewhere import *\n",
        "Shops = made()\n",
        "if True:\n    class Shops(StatefulProcessor):\n"
        "        def init(self, handle): pass\n"
        "        def handleInputRows(self, key, rows, timerValues): yield\n",
    ],
)
def test_what_may_work_is_left_to_spark(path: Path, text: str) -> None:
    path.write_text(text)
    logic.refuse_unfit(SHOPS, path)


EXPIRED = "    def handleExpiredTimer(self, key, timers, info): yield\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "logic.py: Shops: there is no such file"),
        ("class Shops(:\n", "logic.py line 1 is not valid Python"),
        ("class Others: pass\n", "Shops: it defines Others"),
        ("class Shops: pass\n", "not derived from StatefulProcessor"),
        ("def Shops(key): pass\n", "needs a class derived from StatefulProcessor"),
        (SHOP.replace("init", "initialise"), "it lacks the method init(self, handle)"),
        (
            SHOP.replace(", timerValues", ""),
            "Spark passes self, key, rows, timerValues by position",
        ),
        (SHOP + EXPIRED, "Spark passes self, key, timerValues, expiredTimerInfo by name"),
    ],
)
def test_what_cannot_work_is_refused_with_the_line_and_what_is_wanted(
    path: Path, text: str | None, says: str
) -> None:
    if text is not None:
        path.write_text(text)
    with pytest.raises(SpecInvalid) as refused:
        logic.refuse_unfit(SHOPS, path)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "text", "says"),
    [
        (TRANSFORMED, "def wider(rows, more): return rows\n", "Spark passes 1 parameters"),
        (TRANSFORMED, "class wider: pass\n", "calls a function, and this is a class"),
    ],
)
def test_a_function_must_take_what_the_step_passes(
    path: Path, spec: Pipeline, text: str, says: str
) -> None:
    path.write_text(text)
    with pytest.raises(SpecInvalid, match=says):
        logic.refuse_unfit(spec, path)


def test_a_pipeline_without_code_needs_no_file(path: Path) -> None:
    logic.refuse_unfit(pipeline(), path)


def test_every_pipeline_of_the_tests_and_the_product_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_jobs.contract import registry  # noqa: PLC0415 - the package is set by the variable

    for package in ("spark_jobs.pipelines", "tests.pipelines"):
        monkeypatch.setenv("SLUICE_PIPELINES", package)
        specs: list[Any] = registry.load_all()
        assert specs
