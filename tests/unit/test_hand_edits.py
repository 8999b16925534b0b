"""Hand edits: what somebody did to a table is found by its proofs within the nights that the budget
allows, also where the table's log does not tell of it.

No verify runs here: a stand-in reads the rows of an hour with DuckDB, from the files that the log
names, and compares them with the hour's records. tests/spark/test_proofs.py has real verifies.
"""

import shutil
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from spark_jobs.errors import CheckFailed
from spark_jobs.messages.report import Problem
from spark_jobs.prove.night import RUN_PREFIX, prove, tonight
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis import ranged as analysis
from spark_jobs.storage.root.path_forms import from_uri
from spark_jobs.storage.root.paths import Paths
from tests.harness import roots
from tests.harness.long_form import long_form
from tests.harness.sources import says
from tests.unit.repaired import DAY, FINAL, POSITION, SHOPS, SPEC, Root, hour, hours, row, ten_hours
from tests.unit.test_coverage import sliced
from tests.unit.test_proofs import HOURLY, NOW, published, verified

A_NIGHT = 2
"""Hours that a night may prove."""
DAY_LONG = timedelta(days=1)
COST = 50.0
"""Processor seconds of a verify."""


class Nights:
    """The nights over one root, each a day later."""

    def __init__(self, root: Root) -> None:
        self.root, self.now = root, NOW

    def verify(self, plan, run_id: str):
        [span] = plan.spans
        number = (span.start - DAY) // timedelta(hours=1)
        wrong = rows_of(self.root, number) != sorted((shop, 1) for shop in SHOPS)
        code = "CHANGE_UNEXPLAINED" if wrong else None
        verified(self.root, span, code, staged_at=self.now)
        took = {"started_at": self.now, "ended_at": self.now, "processor_seconds": COST}
        told = {"kind": "verify"} | took
        problem = Problem(code=code, what="") if code else None
        self.root.ended(run_id, problem, **told)
        return roots.report(SPEC.name, run_id, problem, **told)

    def work(self) -> str:
        """The wrong hours that the night tells; empty if there are none."""
        night = tonight(HOURLY, self.root.settings._replace(proof="10%"), self.root.paths, self.now)
        assert len(night.days) <= A_NIGHT
        assert len(night.days) * COST <= night.budget.tonight
        try:
            prove(HOURLY, self.root.settings, night, "test", self.verify, lambda _: None)
        except CheckFailed as error:
            return str(error.parameters["days"])
        finally:
            self.now += DAY_LONG
        return ""


@cache
def begun() -> TemporaryDirectory[str]:
    """A root whose final hours are all published and proved, with a week of drains to share."""
    folder = TemporaryDirectory(prefix="sluice-edited-")
    root = sliced(ten_hours(Path(folder.name)))
    published(root)
    verified(root, hours(0, FINAL - 1), staged_at=NOW - DAY_LONG)
    for day in range(-6, 7):
        at = NOW + timedelta(days=day, hours=-1)
        took = {"started_at": at, "ended_at": at, "processor_seconds": COST * A_NIGHT * 10}
        root.ended(f"drain {day}", **took)
    proved = {"started_at": NOW - DAY_LONG, "ended_at": NOW - DAY_LONG}
    root.ended(f"{RUN_PREFIX}0", kind="verify", processor_seconds=COST, **proved)
    return folder


def files(root: Root) -> list[str]:
    return [from_uri(uri) for uri in root.table.file_uris()]


def rows_of(root: Root, number: int) -> list[tuple[str, int]]:
    found = duckdb.sql(
        f"SELECT shop, sales FROM read_parquet({files(root)}) WHERE \"windowEnd\" = '{hour(number)}'"
    )
    return sorted(found.fetchall())


def at(number: int) -> str:
    return f"windowEnd = '{hour(number).isoformat()}' AND shop = 'a'"


def other_rows(path: str) -> pa.Table:
    was = pq.read_table(path)
    return was.set_column(was.schema.get_field_index("sales"), "sales", [[9] * was.num_rows])


def of_hour(root: Root, number: int) -> str:
    [found] = [
        path for path in files(root) if hour(number) in pq.read_table(path)["windowEnd"].to_pylist()
    ]
    return found


def swap_file(root: Root, number: int) -> None:
    """The same name, and other rows: no entry of the log tells of it."""
    path = of_hour(root, number)
    pq.write_table(other_rows(path), path)


def replace_entry(root: Root, number: int) -> None:
    """The commit of then names another file."""
    path = Path(of_hour(root, number))
    pq.write_table(other_rows(str(path)), path.with_name("other.parquet"))
    for commit in (root.paths.table / "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace(path.name, "other.parquet"))


BEHIND_THE_LOG = (swap_file, replace_entry)
EDITS = (
    lambda root, number: root.table.update({"sales": "9"}, predicate=at(number)),
    lambda root, number: root.table.delete(at(number)),
    lambda root, number: root.append([row(number, "z")]),
    lambda root, number: root.append([row(number, "a")]),
    lambda root, number: root.table.update(
        {"windowEnd": f"TIMESTAMP '{hour(8).isoformat()}'"}, predicate=at(number)
    ),
    *BEHIND_THE_LOG,
)


@pytest.fixture(scope="module", autouse=True)
def answers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "position_of", lambda _: POSITION)
        says(patch, SourceState("topic-1", Positions({0: 0}), Positions({0: 10})))
        yield


@pytest.mark.parametrize("n", range(len(EDITS)))
def test_a_hand_edit_is_found_within_the_nights_that_the_budget_allows(tmp_path, n):
    """Each at another hour and behind another number of nights."""
    assert_found(tmp_path / "edited", EDITS[n], n % FINAL, n % 4)


@long_form
@given(st.sampled_from(EDITS), st.integers(0, FINAL - 1), st.integers(0, 3))
def test_so_is_any_hand_edit_of_any_hour(tmp_path_factory, edit, number, before):
    assert_found(tmp_path_factory.mktemp("edited"), edit, number, before)


def assert_found(folder, edit, number, before):
    shutil.copytree(begun().name, folder, dirs_exist_ok=True)
    root = Root(folder, paths=Paths(str(folder), SPEC))
    nights = Nights(root)
    assert [nights.work() for _ in range(before)] == [""] * before
    edit(root, number)
    allowed = FINAL // A_NIGHT if edit in BEHIND_THE_LOG else 1
    told = [nights.work() for _ in range(allowed)]
    assert any(f"{hour(number) - timedelta(hours=1):%F %H:%M}" in each for each in told)
    assert nights.work(), "and each night, until its rows change"
