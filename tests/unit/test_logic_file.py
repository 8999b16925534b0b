"""A logic.py as text: what Spark would fail at with certainty."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry import logic
from spark_jobs.spec import State, Transform
from tests.harness.long_form import examples
from tests.harness.refused import fails, has
from tests.unit.specs import group_state, in_buckets, pipeline

SHOPS = pipeline(steps=(group_state(processor="Shops"),))
BUCKETS = pipeline(steps=(in_buckets(),), state=State(budget_rows=1000))
TRANSFORMED = pipeline(steps=(Transform(function="wider"), *pipeline().steps))
SHOP = """
class Shops(StatefulProcessor):
    def init(self, handle): pass
    def handleInputRows(self, key, rows, timerValues): yield
"""


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.fixture
def path(tmp_path) -> Path:
    (folder := tmp_path / "sales_hourly").mkdir()
    return folder / "logic.py"


@pytest.mark.parametrize(
    "text",
    [
        SHOP,
        SHOP.replace("yield", "yield") + "    def close(self): pass\n",
        SHOP.replace("key, rows, timerValues", "a, b, c"),
        SHOP + "    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo): yield\n",
        SHOP + "    def handleExpiredTimer(self, key, *, timerValues, expiredTimerInfo): yield\n",
        SHOP + "    def handleExpiredTimer(self, **given): yield\n",
        SHOP + "    def handleExpiredTimer(self, key=None, /, **given): yield\n",
        SHOP.replace("class Shops", "class Base") + "class Shops(Base): pass\n",
        SHOP.replace("StatefulProcessor", "library.Processor"),
        "from elsewhere import Shops\n",
        "from elsewhere import *\n",
        "Shops = made()\n",
        "P, Shops = made()\n",
        "(Shops := made())\n",
        "for Shops in made(): pass\n",
        "def make():\n    global Shops\n    Shops = made()\nmake()\n",
        "globals()['Shops'] = made()\n",
        "def __getattr__(name): return made(name)\n",
        "class Shops: pass\n" + SHOP,
        "class Shops: pass\nif ours:\n" + indented(SHOP),
        "def Shops(): pass\nShops = made()\n",
        "@made\nclass Shops: pass\n",
        "class Shops(metaclass=Made): pass\n",
        SHOP.replace("class Shops", "class Base")
        + "class Shops(Base): pass\nclass Base(Shops): pass\n",
        SHOP.replace("self, key, rows, timerValues", "key, rows, timerValues").replace(
            "    def handleI", "    @staticmethod\n    def handleI"
        ),
        SHOP.replace("    def handleI", "    @given(1)\n    def handleI").replace(
            "rows, timerValues", "rows, timerValues, one"
        ),
        SHOP.replace(
            "def handleInputRows(self, key, rows, timerValues): yield", "handleInputRows = shared"
        ),
        SHOP.partition("    def handleI")[0] + "Shops.handleInputRows = shared\n",
        "class One:\n    def handleInputRows(self, key, rows, timerValues): pass\n"
        + SHOP.replace("class Shops", "class Base").replace("rows, ", "")
        + "class Shops(One, Base): pass\n",
        "\ufeff" + SHOP,
        SHOP + f"SUM = {'+'.join(['1'] * 900)}\n",
        "if True:\n    class Shops(StatefulProcessor):\n"
        "        def init(self, handle): pass\n"
        "        def handleInputRows(self, key, rows, timerValues): yield\n",
    ],
)
def test_what_may_work_is_left_to_spark(path, text):
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
        (f"def made():\n{indented(SHOP)}", "Shops: it defines made"),
        (f"class Others:\n{indented(SHOP)}", "Shops: it defines Others"),
        ("class Shops(Shops): pass\nclass Shops: pass\n", "not derived from StatefulProcessor"),
        (
            SHOP + EXPIRED.replace("timers, info", "/, timerValues, expiredTimerInfo"),
            "Spark passes self, key, timerValues, expiredTimerInfo by name",
        ),
        ("SUM = " + "+".join(["1"] * 5000), "logic.py has an expression that is nested too deeply"),
        ("Shops = '\0'\n", "logic.py is not valid Python: source code string cannot contain null"),
        (SHOP + EXPIRED, "Spark passes self, key, timerValues, expiredTimerInfo by name"),
    ],
)
def test_what_cannot_work_is_refused_with_the_line_and_what_is_wanted(path, text, says):
    if text is not None:
        path.write_text(text)
    with pytest.raises(SpecInvalid) as refused:
        logic.refuse_unfit(SHOPS, path)
    assert says in str(refused.value)


def test_a_file_in_another_encoding_is_read_as_python_reads_it(path):
    text = "# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n" + SHOP
    path.write_bytes(text.encode("latin-1"))
    logic.refuse_unfit(SHOPS, path)
    path.write_bytes(b"NAME = '\xe9'\n")
    with fails(SpecInvalid, "not_python", file=has("logic.py")):
        logic.refuse_unfit(SHOPS, path)


NAMES = st.sampled_from("ABCD")
CLASSES = st.lists(st.tuples(NAMES, st.lists(NAMES | st.just(logic.BASE), max_size=3)), max_size=12)


@settings(max_examples=examples(200), suppress_health_check=list(HealthCheck), deadline=None)
@given(CLASSES)
def test_what_python_runs_is_told_as_python_has_it_whatever_the_hierarchy(path, classes):
    """A class is refused exactly if Python has it without the method, or not at all."""
    lines = [
        f"class {name}({', '.join(bases)}):\n    {BODIES[at % len(BODIES)]}\n"
        for at, (name, bases) in enumerate(classes)
    ]
    path.write_text("".join(lines))
    found: dict[str, Any] = {logic.BASE: type(logic.BASE, (), {})}
    runs = True
    try:
        exec("".join(lines), found)
    except (NameError, TypeError):
        runs = False  # a base that is not there, or bases that do not go together
    made = found.get("A")
    fits = bool(
        made
        and issubclass(made, found[logic.BASE])
        and all(hasattr(made, name) for name in logic.REQUIRED)
    )
    try:
        logic.refuse_unfit(pipeline(steps=(group_state(processor="A"),)), path)
    except SpecInvalid:
        assert not (runs and fits)
    else:
        assert fits or not runs


BODIES = (
    "pass",
    "def init(self, handle): pass",
    "def handleInputRows(self, key, rows, timerValues): pass",
)


@pytest.mark.parametrize(
    ("spec", "text", "says"),
    [
        (TRANSFORMED, "def wider(rows, more): return rows\n", "Spark passes 1 parameters"),
        (BUCKETS, "def shops(rows): return rows\n", "Spark passes 2 parameters"),
        (BUCKETS, "def shops(key, frames, state): yield\n", "Spark passes 2 parameters"),
        (BUCKETS, "class shops: pass\n", "calls a function, and this is a class"),
        (TRANSFORMED, "class wider: pass\n", "calls a function, and this is a class"),
    ],
)
def test_a_function_must_take_what_the_step_passes(path, spec, text, says):
    path.write_text(text)
    with fails(SpecInvalid, "function_unfit"):
        logic.refuse_unfit(spec, path)


def test_a_pipeline_without_code_needs_no_file(path):
    logic.refuse_unfit(pipeline(), path)


def test_every_pipeline_of_the_tests_and_the_product_fits(monkeypatch):
    from spark_jobs.registry import find as registry  # noqa: PLC0415 - the package is set by the variable

    for package in ("spark_jobs.pipelines", "tests.pipelines"):
        monkeypatch.setenv("SLUICE_PIPELINES", package)
        specs: list[Any] = registry.load_all()
        assert specs
