"""What `make costs` writes: on a small suite of its own, by pytest itself."""

import json
import os
import sys

import pytest

from tests.harness.costs import ASKED, DEAR, Known, lines
from tests.harness.ran import ran

CONFTEST = """
import time
from pathlib import Path
import pytest
from tests.harness import costs

costs.TESTS = Path(__file__).parent
costs.KEPT = costs.TESTS / "costs.json"
costs.DEAR_SECONDS = 0.15

def pytest_configure(config):
    config.pluginmanager.register(costs.Costs())

def burn():
    until = time.process_time() + 0.25
    while time.process_time() < until:
        pass

@pytest.fixture(scope="module")
def shared():
    burn()

@pytest.fixture
def own():
    burn()

@costs.made_once
def base(name):
    burn()
    return name
"""
SUITE = """
import pytest
from conftest import base, burn

def test_the_first_to_ask_for_what_several_use(shared):
    assert base("a") == base("a") == "a"

def test_with_a_fixture_of_its_own(own):
    pass

def test_dear(shared):
    burn()

def test_that_may_fail(shared):
    {last}
"""
SETUP = """
    pass

@pytest.fixture
def fails():
    assert False

def test_whose_fixture_fails(fails):
    pass
"""
BEFORE = {
    "also by night": ["a.py"],
    "gone.py": 3,
    "test_it.py": 7,
    DEAR: {"test_it.py::test_it": 5},
}
PASSES, FAILS, CUT = "pass", "assert False", "raise KeyboardInterrupt"
LEAVES = "pytest.exit('Spark is gone', returncode=1)"
DIES = "__import__('os')._exit(3)"
ENDS = {
    PASSES: "5 passed",
    FAILS: "1 failed, 4 passed",
    SETUP: "5 passed, 1 error",
    CUT: "KeyboardInterrupt",
    LEAVES: "Spark is gone",
    DIES: "crashed",
}


@pytest.fixture
def kept(tmp_path):
    """The body of the suite's last test, and lanes -> its costs.json behind a run."""
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text(CONFTEST)
    (tests / "costs.json").write_text(json.dumps(BEFORE))
    (tests / "test_beside.py").write_text("def test_beside():\n    pass\n")

    def run(last: str, lanes: str) -> dict:
        (tests / "test_it.py").write_text(SUITE.format(last=last))
        env = {name: value for name, value in os.environ.items() if "XDIST" not in name}
        env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", ASKED: "keep"}
        plain = ("-p", "xdist.plugin", "-p", "no:cacheprovider", "-n", lanes, "--rootdir")
        told = ran(sys.executable, "-m", "pytest", *plain, tmp_path, tests, env=env)
        assert ENDS[last] in told.stdout
        assert (told.returncode == 0) is (last == PASSES)
        return json.loads((tests / "costs.json").read_text())

    return run


def test_a_dear_test_has_a_line_without_what_it_makes_for_several(kept):
    found = kept(PASSES, "1")
    dear = {name.partition("::")[2] for name in found.pop(DEAR)}
    assert dear == {"test_with_a_fixture_of_its_own", "test_dear"}
    assert found.pop("also by night") == ["a.py"]
    assert {*found} == {"test_it.py", "test_beside.py"}, "a file that is gone has no line"
    assert found["test_it.py"] > 0.8, "what several use is the file's"


@pytest.mark.parametrize("lanes", ["0", "2"])
@pytest.mark.parametrize("last", [FAILS, SETUP], ids=["fails", "fixture fails"])
def test_a_file_with_a_test_that_fails_keeps_its_lines(kept, last, lanes):
    found = kept(last, lanes)
    assert found.pop("test_beside.py") < 3
    assert found == {name: BEFORE[name] for name in ("also by night", "test_it.py", DEAR)}


@pytest.mark.parametrize(
    ("last", "lanes"),
    [(CUT, "0"), (LEAVES, "0"), (DIES, "1")],
    ids=["cut off", "left", "a lane died"],
)
def test_a_run_that_did_not_come_to_its_end_keeps_nothing(kept, last, lanes):
    assert kept(last, lanes) == BEFORE


def test_what_was_not_measured_keeps_its_lines_while_it_is_there():
    there, other = "unit/test_costs.py", "unit/test_lanes.py"
    before = Known(
        {there: 9.0, other: 8.0, "gone.py": 7.0},
        {f"{there}::test_cheap_by_now": 3.0, f"{other}::test_it": 4.0, "gone.py::test_it": 5.0},
    )
    found = lines(before, {there: 9.46}, {f"{there}::test_cheap_by_now": 0.1, f"{there}::b": 6.66})
    dear = {f"{there}::b": 6.7, f"{other}::test_it": 4.0}
    assert found == {there: 9.5, other: 8.0, DEAR: dear}
