"""How the suite is laid over lanes and days: on small suites of their own, by pytest itself."""

import os
import re
import sys
from collections import defaultdict

import pytest

from tests.harness.costs import TESTS, Known, by_night, shares
from tests.harness.lanes import MINUTES, ORDER, Place, ordered, scope
from tests.harness.ran import ran
from tests.harness.turns import DAYS, TURNS, left, turns

CONFTEST = """
import subprocess, sys
import pytest
from tests.harness.lanes import JVM, Lanes, end_without_jvm, here, left

def pytest_ignore_collect(collection_path, config):
    return not here().may_have(str(collection_path.relative_to(config.rootpath))) or None

def pytest_terminal_summary(terminalreporter):
    for test in left(terminalreporter.config):
        terminalreporter.write_line(f"this run is late: {test}")

def pytest_xdist_make_scheduler(config, log):
    return Lanes(config, log)

def pytest_runtest_setup(item):
    end_without_jvm(item.config)

@pytest.fixture(scope="session")
def jvm(request):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    request.config.stash[JVM] = process
    yield process
    process.kill()
"""
SPARK = """
import pytest

@pytest.mark.parametrize("n", range(12))
def test_it(n, jvm, worker_id):
    print("LANE", worker_id)
    if n == 3:
        jvm.kill()
        jvm.wait()
        raise RuntimeError("the JVM has died")
"""
LIGHT = """
def test_it(worker_id):
    print("LANE", worker_id)
"""
AIRFLOW = 'import os\nassert os.environ["PYTEST_XDIST_WORKER"] == "gw2"\n' + LIGHT


def lanes(folder, *options: str) -> str:
    # Of the plugins lanes alone: each process would import all.
    env = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plain = ("-p", "xdist.plugin", "-p", "no:cacheprovider", "-rA", "--rootdir")
    return ran(sys.executable, "-m", "pytest", *plain, *options, folder, env=env).stdout


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "spark").mkdir()
    (folder / "spark/test_spark.py").write_text(SPARK)
    (folder / "unit").mkdir()
    for name in ("test_light.py", "test_any_order.py"):
        (folder / "unit" / name).write_text(LIGHT)
    (folder / "airflow").mkdir()
    (folder / "airflow/test_airflow.py").write_text(AIRFLOW)
    return folder


@pytest.fixture(scope="module")
def told(suite):
    """What a run of it by three lanes says, which is late from its first test on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MINUTES, "0")
        return lanes(suite, str(suite), "-n", "3", "-k", "not 3")


def test_a_lane_whose_jvm_has_died_ends_and_another_has_the_rest(suite):
    told = lanes(suite / "spark", str(suite), "-n", "1")
    # The test that killed it; the one that the lane was about to begin failed with the lane, and
    # was run again.
    assert re.search("2 failed, 11 passed", told), told


def test_a_run_that_is_late_leaves_to_the_night_what_the_costs_say_and_names_it(told):
    assert "unit/test_any_order.py" in by_night()
    assert re.search("= 13 passed", told), told
    assert re.findall("this run is late: (.*)", told) == ["unit/test_any_order.py::test_it"]


def test_without_lanes_the_run_ends_where_the_jvm_has_died(suite):
    told = lanes(suite / "spark", str(suite))
    assert re.search("1 failed, 3 passed", told), told
    assert "JVM is gone" in told


def test_the_last_of_three_lanes_has_no_session(told):
    assert {*re.findall(r"_ test_it\[\d+\] _+\n\[(gw\d)\]", told)} == {"gw0", "gw1"}
    assert re.findall(r"_ test_it _+\n\[(gw\d)\]", told) == ["gw2"] * 2


@pytest.mark.parametrize(
    ("place", "folders"),
    [((0, 3), "spark unit"), ((2, 3), "airflow unit"), ((3, 4), "airflow unit"),
     ((3, 3), "airflow spark unit"), ((1, 2), "airflow spark unit"), ((0, 0), "airflow spark unit")],
)  # fmt: skip
def test_a_lane_collects_what_it_may_be_given_and_one_in_the_place_of_another_all(place, folders):
    found = [folder for folder in ("airflow", "spark", "unit") if Place(*place).may_have(folder)]
    assert " ".join(found) == folders


def test_the_tests_of_one_promise_are_all_collected_by_the_same_lanes():
    """Each lane leaves to another day what it has collected."""
    lanes_of = defaultdict(set)
    for path in TESTS.rglob("test_*.py"):
        file = str(path.relative_to(TESTS))
        for promise in re.findall(r'alike\("(.+?)"\)', path.read_text()):
            lanes_of[promise].add((*(Place(lane, 3).may_have(file) for lane in range(3)),))
    assert [promise for promise, lanes in lanes_of.items() if len(lanes) > 1] == []


def test_a_seed_shuffles_the_tests_and_gives_the_same_order_again():
    orders = []
    for seed in ("1", "1", "2"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(ORDER, seed)
            items = [*"abcdefgh"]
            ordered(items, {})
            orders.append("".join(items))
    assert orders[0] == orders[1] != orders[2]


def test_a_file_with_a_fixture_for_several_of_its_tests_stays_in_one_lane():
    assert scope("spark/test_buckets.py") == "spark/test_buckets.py"
    assert scope("unit/test_cursor_repair.py") == ""
    assert scope("airflow/test_told.py") == "airflow"


class Form:
    """A test of a suite, as the turns ask for it."""

    def __init__(self, path, name):
        self.path, self.nodeid = path, f"tests/{path.relative_to(TESTS)}::{name}"

    def iter_markers(self, _):
        return [pytest.mark.skipif("skipped" in self.nodeid, reason="the long form").mark]

    def get_closest_marker(self, _):
        named = "a fault" if "fault" in self.nodeid else ""
        return pytest.mark.alike(named).mark if named or "held" in self.nodeid else None


NAMES = [
    *(("test_dear.py", f"test_many[{n}]") for n in range(30)),
    *(("test_dear.py", f"test_three[{n}]") for n in range(3)),
    *(("test_dear.py", f"test_two[{n}]") for n in range(2)),
    *(("test_dear.py", f"test_two[skipped {n}]") for n in range(30)),
    *(("test_held.py", f"test_held_{n}") for n in range(9)),
    *((f"test_held_fault_{n % 3}.py", f"test_{n}") for n in range(9)),
    ("test_dear.py", "test_alone"),
    *(("test_cheap.py", f"test_many[{n}]") for n in range(30)),
]


@pytest.fixture
def items():
    return [Form(TESTS / file, name) for file, name in NAMES]


MOST = TURNS[-1]
FILES = {"test_dear.py": 36 * 0.15, "test_cheap.py": 0.5, "test_held.py": 20.0}
FILES |= {f"test_held_fault_{n}.py": 9.0 for n in range(3)}
COSTS = Known(FILES)


@pytest.mark.parametrize(
    ("forms", "seconds", "found"),
    [
        (30, 15, MOST),
        (30, 1.5, 3),
        (30, 3.5, 10),
        (5, 15, 5),
        (8, 3.5, 6),
        (3, 0.15, 1),
        (2, 18, 1),
    ],
)
def test_what_forms_cost_says_in_how_many_turns_they_come(forms, seconds, found):
    """Two forms of a test come together, and two tests of one promise do not."""
    assert turns(forms, seconds) == found
    assert turns(2, 18, least=2) == 2


def test_so_many_days_have_every_form(items):
    runs = [{*items} - {*left(items, day, COSTS)} for day in range(MOST)]
    assert set.union(*runs) == {*items}
    assert left(items, 9, Known({})) == []


@pytest.mark.parametrize("day", range(MOST))
def test_each_day_has_one_form_of_each_test_and_all_that_are_cheap(items, day):
    run = [item for item in items if item not in left(items, day, COSTS)]
    held = [item for item in run if "held" in item.nodeid]
    faults = sum("fault" in item.nodeid for item in held)
    assert {faults, len(held) - faults} <= {1, 2}
    run = [item for item in run if item not in held]
    assert {item.nodeid.partition("[")[0] for item in run} == {
        item.nodeid.partition("[")[0] for item in items if "held" not in item.nodeid
    }
    few = ("two", "three", "alone", "skipped")
    whole = [item for item in items if any(each in item.nodeid for each in few)]
    assert [item for item in run if item in whole] == whole
    dear, cheap = (sum(name in item.nodeid for item in run) for name in ("dear.py::test_m", "p.py"))
    assert (dear, cheap) == (3, 30)


def test_a_dear_test_has_its_own_seconds_and_the_others_share_what_it_leaves(items):
    dear = {"test_held.py::test_held_0": 16.0, "test_gone.py::test_it": 9.0}
    found = shares(items, COSTS._replace(tests=dear))
    held = [found[item] for item in found if item.path.name == "test_held.py"]
    assert held == [16.0] + 8 * [0.5]


DEAREST = [10.0 * (1 + n) for n in range(15)]


def test_no_day_has_the_dearest_forms_of_two_promises_where_there_are_days_enough():
    """One promise is shown in two folders; each other one in its own."""
    folders = ("spark", "e2e", "seams")
    files = [f"{folders[n % 3]}/test_held_{n}.py" for n in range(14)]
    names = [(file, f"test_held_{form}") for file in files for form in range(20)]
    names += [(f"{folders[n % 2]}/test_held_fault.py", f"test_held_{n}") for n in range(20)]
    items = [Form(TESTS / file, name) for file, name in names]
    dear = {
        f"{file}::{name}": seconds
        for (file, name), seconds in zip(names[1::20], DEAREST, strict=True)
    }
    costs = Known({file: 9.0 for file, _ in names}, dear)
    found = []
    for day in range(DAYS):
        out = {*left(items, day, costs)}
        run = [item.nodeid.removeprefix("tests/") for item in items if item not in out]
        found.append(sum(name in dear for name in run))
    assert sum(found) > 2 * len(dear), "each comes"
    assert max(found) == 1


@pytest.mark.parametrize(
    "dear",
    [
        {},
        {
            f"{folder}/test_held.py::test_held_{n}": 9.0
            for folder in ("airflow", "spark", "unit")
            for n in (2, 5)
        },
    ],
)
def test_a_lane_that_has_not_collected_a_folder_leaves_the_same_of_the_others(dear):
    folders = ("airflow", "spark", "unit")
    every = [
        Form(TESTS / folder / "test_held.py", f"test_held_{n}")
        for folder in folders
        for n in range(7)
    ]
    costs = Known({f"{folder}/test_held.py": 40.0 for folder in folders}, dear)
    for day in range(7):
        out = {*left(every, day, costs)}
        assert 0 < len(out) < len(every)
        for without in ("spark", "airflow"):
            some = [item for item in reversed(every) if without not in item.nodeid]
            assert {*left(some, day, costs)} == out & {*some}


def test_forms_of_one_promise_that_no_lane_collects_all_are_refused():
    forms = [Form(TESTS / folder / "test_held_fault.py", "test_it") for folder in ("spark", "unit")]
    with pytest.raises(ValueError, match="the same lanes"):
        left(forms, 0, Known({}))


def test_each_number_of_turns_divides_the_days():
    assert [turns for turns in TURNS if DAYS % turns] == []
