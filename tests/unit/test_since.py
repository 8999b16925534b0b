"""`sluice bisect`: since when a condition is true, over real tables, without Spark."""

import json
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import deltalake
import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from upath import UPath

from spark_jobs.admin.rewind import rewind
from spark_jobs.errors import QuestionRefused, SluiceError
from spark_jobs.since.condition import Condition
from spark_jobs.since.search import GRID, Flip, flips
from spark_jobs.since.states import states
from spark_jobs.since.tell import lines, told
from spark_jobs.table.delta import door
from spark_jobs.table.delta.table import Delta
from tests.harness.command import answer as answer_of
from tests.harness.refused import fails
from tests.harness.roots import ROOT, rows_of
from tests.unit.drains import SPEC, Drains
from tests.unit.repaired import NULLABLE, Root, row, ten_hours

BAD = 1_000
WRONG = Condition(f"sales >= {BAD}")


def asked(root: Root | Drains, condition: Condition = WRONG, **between: int):
    return told(root.spec, root.settings.root, condition, **between)


def vacuumed(root: Root | Drains) -> None:
    """Without the files that the newest version does not need."""
    root.table.vacuum(0, dry_run=False, enforce_retention_duration=False)


@given(st.sets(st.integers(0, 200)), st.lists(st.booleans(), min_size=1, max_size=200))
def test_each_flip_that_is_told_is_one_and_none_is_missed_where_all_were_asked(gone, answers):
    askable = [n for n in range(len(answers)) if n not in gone]
    known: dict[int, bool] = {}

    def ask(number: int) -> bool:
        assert number not in known, "asked twice"
        known[number] = answers[number]
        return known[number]

    found = flips(askable, ask, near=gone)
    truth = [Flip(a, b, answers[b]) for a, b in pairwise(askable) if answers[a] != answers[b]]
    assert {*found} <= {*truth}
    assert len(found) % 2 == len(truth) % 2, "each of the others has one that takes it back"
    if len(askable) <= GRID + 1:
        assert found == truth


ACTS = st.sampled_from(("good", "bad", "repair", "undo", "rewind", "optimize", "vacuum", "person"))


class Story:
    """A root, and what its versions had when they were made, by DuckDB."""

    def __init__(self, folder: str) -> None:
        self.root = Root(Path(folder) / ROOT)
        self.made_by: dict[int, str] = {}
        self.swapped: list[str] = []
        self.batch = -1
        self.does("good")

    def does(self, act: str) -> None:
        before = self.root.version
        getattr(self, act)()
        for version in range(before + 1, self.root.version + 1):
            self.made_by[version] = act

    def good(self, shops: tuple[str, ...] = ()) -> None:
        self.batch += 1
        self.root.drain(self.batch, self.batch)

    def bad(self) -> None:
        """A batch of which a row is wrong."""
        self.batch += 1
        self.root.commit(self.batch, rows=[row(self.batch, "a", BAD + self.batch)])
        self.root.account(self.batch)
        self.root.moved(judged=self.batch, judged_table_version=self.root.version)

    def repair(self) -> None:
        """Mends the oldest wrong row, or makes one of the oldest hour wrong."""
        rows = [each for each in rows_of(self.root.paths.table) if each["shop"] == "a"]
        bad = [each for each in rows if each["sales"] >= BAD]
        before = min(bad or rows, key=lambda each: each["windowEnd"])
        after = before | {"sales": 1 if bad else BAD}
        repair_id = f"r{len(self.made_by)}"
        self.root.stage(repair_id, [(before, after)])
        self.root.swap(repair_id)
        self.swapped.append(repair_id)

    def undo(self) -> None:
        if self.swapped:
            self.root.undo(self.swapped.pop())

    def rewind(self) -> None:
        if self.batch > 0:
            rewind(self.root.spec, self.root.settings, self.batch - 1).execute()
            self.batch -= 1
            self.swapped = []
            self.root.folder = self.root.paths.checkpoint

    def optimize(self) -> None:
        self.root.table.optimize.compact()

    def vacuum(self) -> None:
        vacuumed(self.root)

    def person(self) -> None:
        self.root.table.update(updates={"sales": f"sales + {BAD}"}, predicate="shop = 'b'")


def wrong_by_duckdb(table: UPath, version: int) -> bool:
    rows = pa.Table.from_pylist(rows_of(table, version), NULLABLE)  # noqa: F841 - DuckDB finds it
    [(found,)] = duckdb.sql(f"SELECT bool_or(sales >= {BAD}) FROM rows").fetchall()
    return bool(found)


CAUSES = {"bad": "batch", "good": "batch", "person": "other"}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTS, min_size=3, max_size=9))
def test_the_changes_are_duckdbs_beside_repairs_undo_rewinds_maintenance_and_people(acts):
    with TemporaryDirectory() as folder:
        story = Story(folder)
        for act in acts:
            try:
                story.does(act)
            except SluiceError:  # as a rewind to what is vacuumed
                assert act in {"rewind", "repair", "undo"}
        table = story.root.paths.table
        whole = [n for n in range(story.root.version + 1) if Delta(table).is_whole(n)]
        assert Delta(table).whole(range(story.root.version + 1)) == frozenset(whole)
        truth = {n: wrong_by_duckdb(table, n) for n in whole}
        changed = [(a, b) for a, b in pairwise(whole) if truth[a] != truth[b]]
        if not truth[whole[-1]]:
            with pytest.raises(QuestionRefused) as refusal:
                asked(story.root)
            assert refusal.value.reason == "not_wrong"
            return
        if not changed:
            with pytest.raises(QuestionRefused) as refusal:
                asked(story.root)
            assert refusal.value.reason == "always_wrong"
            return
        found = asked(story.root)
        assert len(found.changes) == len(changed)
        for change, (a, b) in zip(reversed(found.changes), changed, strict=True):
            assert (change.wrong, truth[change.before]) == (truth[b], truth[a])
            told_of = {version for version, _ in change.causes}
            assert all(a < version <= b for version in told_of)
            assert {story.made_by[n] for n in told_of} - {"optimize", "vacuum"}
            if b == a + 1:
                assert told_of == {b}
                [(_, cause)] = change.causes
                act = story.made_by[b]
                assert cause.kind == CAUSES.get(act, act)
        assert [*lines(found)]
