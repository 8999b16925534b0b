"""`sluice bisect`: since when a condition is true, over real tables, without Spark."""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import deltalake
import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from typer.testing import CliRunner
from upath import UPath

from spark_jobs.admin.rewind import rewind
from spark_jobs.cli import app
from spark_jobs.errors import QuestionRefused, SluiceError, TableChanged
from spark_jobs.ops import ops_tables
from spark_jobs.since.states import GRID, Flip, flips, states
from spark_jobs.since.tell import lines, told
from spark_jobs.storage.root.path_forms import from_uri
from spark_jobs.table.delta import door
from spark_jobs.table.delta.log_entries import GENERATION
from spark_jobs.table.delta.table import Delta
from tests.harness.command import sluice_here
from tests.harness.long_form import LONG, examples
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT, rows_of
from tests.unit.drains import SPEC, Drains
from tests.unit.repaired import NULLABLE, Root, row
from tests.unit.specs import OURS, deployed

BAD = 1_000
WRONG = f"sales >= {BAD}"


def asked(root: Root | Drains, sql: str = WRONG, key: str = "true", **between: int):
    return told(root.spec, root.settings.root, sql, key, **between)


def vacuumed(root: Root | Drains) -> None:
    """Without the files that the newest version does not need."""
    root.table.vacuum(0, dry_run=False, enforce_retention_duration=False)


@settings(max_examples=examples(300))
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

    def __init__(self, folder: str, last: int) -> None:
        """`last`: of the good batches with which it begins."""
        self.root = Root(Path(folder) / ROOT)
        self.root.drain(0, last)
        self.made_by = dict.fromkeys(range(1, self.root.version + 1), "good")
        self.swapped: list[str] = []
        self.batch = last

    def does(self, act: str) -> None:
        before = self.root.version
        getattr(self, act)()
        for version in range(before + 1, self.root.version + 1):
            self.made_by[version] = act

    def good(self) -> None:
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
        if (to := self.batch - 1 - len(self.made_by) % 3) >= 0:
            rewind(self.root.spec, self.root.settings, to).execute()
            self.batch = to
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


CAUSES = {"bad": "batch ", "good": "batch ", "person": "nothing"}


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from((0, 3, 30) if LONG else (0, 3)), st.lists(ACTS, min_size=3, max_size=9))
@example(GRID + 4, ["bad", "rewind", "repair", "good", "undo"])
def test_the_changes_are_duckdbs_beside_repairs_undo_rewinds_maintenance_and_people(last, acts):
    """Behind 30 batches most states are not asked."""
    with TemporaryDirectory() as folder:
        story = Story(folder, last)
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
        met = [(a, b) for a, b in changed if any(a < n.version <= b for n in found.changes)]
        assert len(found.changes) == len(met)
        assert met == changed or found.asked < found.states
        assert len(met) % 2 == len(changed) % 2, "each of the others has one that takes it back"
        for change, (a, b) in zip(reversed(found.changes), met, strict=True):
            assert (change.wrong, truth[change.before]) == (truth[b], truth[a])
            told_of = {version for version, *_ in change.causes}
            assert all(a < version <= b for version in told_of)
            assert {story.made_by[n] for n in told_of} - {"optimize", "vacuum"}
            if b == a + 1:
                assert told_of == {b}
                [(_, said, _)] = change.causes
                act = story.made_by[b]
                assert CAUSES.get(act, act) in said
        assert [*lines(found)]


LAST = 44


@pytest.fixture(scope="module")
def drained(tmp_path_factory):
    """Batch n has written the row n."""
    made = Drains(tmp_path_factory.mktemp("since") / ROOT)
    made.began((0, LAST))
    rows = [
        each | {"offsets_start": json.dumps({0: each["batch_id"]})} for each in made.told("batches")
    ]
    ops_tables.replace(made.paths.root, "batches", rows, "true")
    return made


@settings(max_examples=examples(24), deadline=None)
@given(batch=st.integers(0, LAST))
def test_a_change_is_found_at_any_version_by_few_questions(drained, batch):
    found = asked(drained, f"n >= {batch}")
    [change] = found.changes
    [(version, said, look)] = change.causes
    assert (version, change.before) == (batch + 1, batch)
    assert said == f"batch {batch} of run drain, with the records 0:{batch}-{batch}"
    assert look == f"sluice where {SPEC.name} 0:{batch}-{batch}"
    assert [row for row, _ in found.rows] == [{"n": batch}]
    assert change.rows == (0, 1)
    assert found.asked <= GRID + 1 + 3


def test_a_condition_is_of_a_row_or_of_all_and_a_key_says_which_are_looked_at(drained):
    for sql, key, version in (
        ("sum(n) > 10", "true", 6),
        ("count(*) FILTER (WHERE n % 2 = 0) >= 3", "true", 5),
        ("n > (SELECT 7)", "true", 9),
        ("n >= 10", "n % 7 = 0", 15),
        ("count(*) >= 3", "n % 7 = 0", 15),
        ("n > 3 -- as it is", "true", 5),
    ):
        found = asked(drained, sql, key)
        assert found.changes[0].version == version
        assert bool(found.rows) is ("(*)" not in sql and "sum" not in sql)


@pytest.mark.parametrize(
    "sql",
    ["n", "m > 1", "n >", "sum(n)", "n > 1) FROM t --", "count(*) > 1 AND n > 1", "", "1 / n"],
)
def test_what_is_no_condition_is_refused_in_the_words_of_the_engine(drained, sql):
    with fails(QuestionRefused, "condition_fails", version=LAST + 1):
        asked(drained, sql)
    with fails(QuestionRefused, "condition_fails"):
        asked(drained, "n > 1", sql)


@pytest.mark.parametrize("null", ["n > NULL", "NULL", "sum(n) > NULL"])
def test_what_is_never_true_is_not_wrong(drained, null):
    """delta-rs 1.6 keeps each row where a WHERE comes to null."""
    with fails(QuestionRefused, "not_wrong", version=LAST + 1):
        asked(drained, null)
    with fails(QuestionRefused, "not_wrong"):
        asked(drained, "n >= 0", null.replace("sum(n)", "n"))


def test_what_was_so_from_the_oldest_on_and_what_is_not_so_are_refused(drained):
    with fails(QuestionRefused, "always_wrong", version=0):
        asked(drained, "count(*) >= 0")
    with fails(QuestionRefused, "not_wrong", version=LAST + 1):
        asked(drained, "n > 100")
    with fails(QuestionRefused, "always_wrong", version=30):
        asked(drained, "n = 7", right=30)
    for version in (LAST + 2, -1):
        no = {"version": version, "why": "the log has no such version"}
        for between in ("right", "wrong"):
            with fails(QuestionRefused, "no_version", **no):
                asked(drained, "n = 7", **{between: version})


def test_what_came_and_went_is_met_between_versions_that_a_person_names(drained):
    between = "max(n) BETWEEN 12 AND 25"
    with fails(QuestionRefused, "not_wrong"):
        asked(drained, between)
    found = asked(drained, between, wrong=20)
    assert [(each.wrong, each.version) for each in found.changes] == [(True, 13)]
    assert found.newest == 20
    twice = "max(n) BETWEEN 12 AND 25 OR max(n) > 35"
    met = [(each.wrong, each.version) for each in asked(drained, twice).changes]
    assert met == [(True, 37), (False, 27), (True, 13)]
    assert [each.version for each in asked(drained, twice, right=30).changes] == [37]


def test_of_vacuumed_versions_all_that_may_have_made_it_are_named(tmp_path):
    root = Drains(tmp_path / ROOT)
    root.began((0, 19))
    root.table.optimize.compact()
    root.drain(20, 22)
    vacuumed(root)
    found = asked(root, "n = 12")
    assert found.unread == 19
    [change] = found.changes
    assert (change.before, change.version) == (0, 20)
    assert [version for version, *_ in change.causes] == [*range(20, 0, -1)]
    said = [*lines(found)]
    assert sum(each.startswith("  version ") for each in said) == 10
    assert "  and 10 versions before these" in said
    assert "VACUUM" in said[-1]
    with fails(QuestionRefused, "no_version", version=7, why="VACUUM has removed files of it"):
        asked(root, "n = 12", right=7)
    torn = Path(from_uri(root.table.file_uris()[0]))
    torn.write_bytes(torn.read_bytes()[:-9])
    with fails(TableChanged, "file_resized", file=has(torn.name)):
        asked(root, "n = 12")


def test_the_rows_that_files_were_joined_of_are_read_behind_it(tmp_path):
    root = Drains(tmp_path / ROOT)
    root.began((0, 5))
    root.table.optimize.compact()
    found = states(Delta(root.paths.table), 0, root.version)
    assert [each.versions for each in found[-2:]] == [(5,), (6, 7)]
    vacuumed(root)
    last = states(Delta(root.paths.table), 0, root.version)[-1]
    assert (last.version, last.read_at) == (6, root.version)


def test_a_state_is_read_before_files_were_joined_if_the_joined_one_is_gone(tmp_path):
    root = Drains(tmp_path / ROOT)
    root.began((0, 3))
    root.table.optimize.compact()
    [joined] = (Path(from_uri(each)) for each in root.table.file_uris())
    root.drain(4, 4)
    joined.unlink()
    found = states(Delta(root.paths.table), 0, root.version)
    assert [(each.version, each.read_at) for each in found[-2:]] == [(4, 4), (6, None)]
    assert asked(root, "n = 2", wrong=4).changes[0].version == 3


def test_both_sides_of_what_no_drain_wrote_are_asked(drained, tmp_path):
    """Among many versions halves alone would not meet it."""
    root = Drains(tmp_path / ROOT)
    shutil.copytree(drained.settings.root, root.settings.root, dirs_exist_ok=True)
    version = root.version
    root.table.update(updates={"n": "n + 1000"}, predicate="n = 7")
    root.table.update(updates={"n": "n - 1000"}, predicate="n = 1007")
    root.drain(LAST + 1, LAST + 30)
    root.table.update(updates={"n": "n + 1000"}, predicate="n = 7")
    found = asked(root, "n >= 1000")
    met = [(each.wrong, each.version) for each in found.changes]
    assert met == [(True, root.version), (False, version + 2), (True, version + 1)]
    assert found.asked < 30 < found.states


def test_a_rewind_of_before_there_was_a_journal_is_none_of_a_persons(tmp_path):
    """It gave the table to a generation in the commit behind it, which `wrong` leaves out."""
    root = Drains(tmp_path / ROOT)
    root.began((0, 3))
    for given_away in (True, False):
        root.table.restore(2)
        restored = root.version
        if given_away:
            root.table.alter.set_table_properties({GENERATION: "g2"}, raise_if_not_exists=False)
        [change, *_] = asked(root, "max(n) < 3", wrong=restored).changes
        [(_, said, _)] = change.causes
        assert said.startswith("a rewind to version 2" if given_away else "a person's RESTORE")
        root.drain(4, 4)


def test_a_column_that_came_later_is_null_before(tmp_path):
    root = Drains(tmp_path / ROOT)
    root.began((0, 3))
    far = pa.array([0, 253_402_300_800_000_000], pa.timestamp("us", "UTC"))
    more = pa.table({"n": [50, 51], "late": [1.5, -2.0], "far": far})
    deltalake.write_deltalake(root.table, more, mode="append", schema_mode="merge")
    for sql in ("late < 0", "sum(late) < 0", "late IS NOT NULL", "count(late) > 1"):
        [change] = asked(root, sql).changes
        assert [said.partition(":")[0] for _, said, _ in change.causes] == ["nothing of Sluice"]
    with fails(QuestionRefused, "not_wrong"):
        asked(root, "late < -9")
    [change] = asked(root, "n = 2 AND late IS NULL").changes
    assert change.version == 3
    [(seen, _)] = asked(root, "late < 0").rows
    assert seen["far"] == "+10000-01-01T00:00:00Z", "a time that Python has not"


def test_a_log_that_was_cleaned_up_begins_at_its_checkpoint(tmp_path):
    root = Drains(tmp_path / ROOT)
    root.began((0, 11))
    table = deltalake.DeltaTable(str(root.paths.table), version=5)
    table.create_checkpoint()
    for version in range(5):
        (Path(str(root.paths.table)) / "_delta_log" / f"{version:020}.json").unlink()
    known = Delta(root.paths.table)
    assert known.whole(range(13)) == frozenset(
        n for n in range(13) if door.version_is_whole(root.paths.table, n)
    )
    assert asked(root, "n = 7").changes[0].version == 8
    with fails(QuestionRefused, "always_wrong", version=5):
        asked(root, "n = 2")


def test_before_the_first_drain_there_is_no_table(tmp_path):
    with fails(QuestionRefused, "no_table"):
        told(SPEC, str(tmp_path), WRONG)


def test_the_command_says_it_to_a_person(drained, tmp_path, monkeypatch):
    deployed(tmp_path, monkeypatch, OURS)
    monkeypatch.setenv("SLUICE_ROOT", drained.settings.root)
    done = sluice_here({}, "bisect", SPEC.name, "n >= 42")
    assert done.returncode == 0, done.stderr
    assert "since version 43" in done.stdout
    assert f"sluice where {SPEC.name} 0:42-42" in done.stdout
    for words, status in ((("m > 1",), QuestionRefused.exit_status),
                          (("n >= 42", "--right", "9", "--wrong", "8"), 2)):  # fmt: skip
        assert CliRunner().invoke(app, ["bisect", SPEC.name, *words]).exit_code == status
