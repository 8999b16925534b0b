"""The published table over real tables of delta-rs: what DuckDB, Arrow and delta-rs's own SQL read is the judged version, whatever was done to the pipeline's table."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pytest

from spark_jobs.checkpoint.notes.live import following, refuse_dead
from spark_jobs.errors import PublishedTableRefused
from spark_jobs.storage.root.live_place import Place
from spark_jobs.storage.root.path_forms import from_uri
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.published import table
from spark_jobs.table.published.table import behind, move
from tests.harness import roots
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.unit.specs import pipeline

SPEC = pipeline()


class Root(roots.Root):
    """A root with a pipeline's table; each `do` is a version of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SPEC)
        self.live = str(self.paths.table)
        self.published = str(self.paths.published_table)

    def begin_again(self) -> None:
        """In another place, as a reset does."""
        live = following(self.paths, 1, Place("v1.2", f"{SPEC.name}.v1.2"))
        live.write_whole(self.paths.above, None)
        self.paths = Paths(str(self.paths.root), SPEC)
        self.live = str(self.paths.table)

    def append(self, *numbers: int) -> int:
        rows = pa.table({"n": pa.array(numbers, pa.int64())})
        deltalake.write_deltalake(self.live, rows, mode="append")
        return self.version

    def move(self, version: int | None = None) -> bool:
        return move(self.paths, self.version if version is None else version, refuse_dead)

    def shown(self) -> list[int]:
        """What consumers read, in four ways that must agree."""
        found = deltalake.DeltaTable(self.published)
        numbers = sorted(found.to_pyarrow_table()["n"].to_pylist())
        sql = deltalake.QueryBuilder().register("t", found).execute("SELECT n FROM t").read_all()
        assert sorted(pa.table(sql)["n"].to_pylist()) == numbers
        files = [from_uri(uri) for uri in found.file_uris()]
        of_files = duckdb.read_parquet(files).fetchall() if files else []
        assert sorted(row[0] for row in of_files) == numbers
        rows = found.to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name
        assert sorted(row[0] for row in duckdb.sql("SELECT n FROM rows").fetchall()) == numbers
        return numbers

    def commits(self) -> list[list[dict[str, Any]]]:
        log = Log.of(self.paths.published_table)
        return [log.commit(version) for version in sorted(log.commits)]

    def data_changes(self) -> set[bool]:
        """Of the files in the newest commit."""
        return {
            action[kind]["dataChange"]
            for action in self.commits()[-1]
            for kind in ("add", "remove")
            if kind in action
        }


@pytest.fixture
def root(tmp_path) -> Root:
    return Root(tmp_path / ROOT)


def test_it_shows_the_judged_version_and_no_row_of_a_later_one(root):
    judged = root.append(1, 2)
    root.append(3)
    assert behind(root.paths, judged)
    assert root.move(judged)
    assert root.shown() == [1, 2]
    assert not behind(root.paths, judged)


def test_it_has_no_data_of_its_own(root):
    for number in range(3):
        root.append(number)
    root.move()
    files = [path for path in Path(root.published).rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {"_delta_log"}


def test_a_move_that_is_repeated_changes_nothing(root):
    """A task that was killed after the commit, and before it wrote published.json."""
    root.append(1)
    assert root.move()
    assert not root.move()
    assert len(root.commits()) == 1


def test_it_never_goes_back_to_an_older_version(root):
    older, newer = root.append(1), root.append(2)
    root.move(newer)
    assert not root.move(older)
    assert root.shown() == [1, 2]


def test_two_moves_at_once_show_the_newer_version_once(root):
    older = [root.append(number) for number in range(4)][1]
    newer = root.version
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: root.move((older, newer)[each % 2]), range(16)))
    assert root.shown() == [0, 1, 2, 3]
    assert len(root.commits()) <= 2


def test_a_move_that_a_newer_one_overtakes_before_its_commit_leaves_it_alone(root, monkeypatch):
    older, newer = root.append(1), root.append(2)
    put = Log.put

    def overtaken(log: Log, version: int, actions: list[dict[str, Any]]) -> bool:
        monkeypatch.setattr(Log, "put", put)
        assert root.move(newer)
        return put(log, version, actions)

    monkeypatch.setattr(Log, "put", overtaken)
    assert not root.move(older)
    assert root.shown() == [1, 2]
    assert len(root.commits()) == 1


def test_a_move_commits_what_is_new_and_not_the_whole_table(root):
    for number in range(5):
        root.append(number)
    root.move()
    root.append(5)
    root.move()
    added = [action for action in root.commits()[-1] if "add" in action]
    assert len(added) == 1
    assert json.loads(added[0]["add"]["stats"])["numRecords"] == 1
    assert root.shown() == [0, 1, 2, 3, 4, 5]


def test_rows_that_were_deleted_updated_or_merged_are_shown_as_they_were_judged(root):
    root.append(1, 2, 3)
    root.move()
    root.append(4)
    root.table.delete("n = 1")
    root.table.update(updates={"n": "20"}, predicate="n = 2")
    merged = root.table.merge(pa.table({"n": pa.array([3, 5], pa.int64())}), "t.n = s.n", "s", "t")
    merged.when_matched_delete().when_not_matched_insert_all().execute()
    root.move()
    assert root.shown() == [4, 5, 20]
    assert root.data_changes() == {True}


def test_rows_of_a_failed_batch_that_were_deleted_before_they_passed_are_never_shown(root):
    root.append(1)
    root.move()
    root.append(-1)
    root.table.delete("n < 0")
    root.append(2)
    root.move()
    assert root.shown() == [1, 2]
    for version in range(len(root.commits())):
        rows = deltalake.DeltaTable(root.published, version=version).to_pyarrow_table()
        assert -1 not in rows["n"].to_pylist()


def test_a_table_that_is_replaced_by_each_batch_is_shown_as_a_whole(root):
    for number in range(3):
        rows = pa.table({"n": pa.array([number], pa.int64())})
        deltalake.write_deltalake(root.live, rows, mode="overwrite")
        root.move()
        assert root.shown() == [number]


def test_optimize_is_followed_without_a_new_judgement_and_changes_no_data(root):
    """VACUUM removes the files from before it; a topic may be idle for longer than they are kept."""
    for number in range(3):
        judged = root.append(number)
    root.move(judged)
    root.table.optimize.compact()
    assert behind(root.paths, judged)
    assert root.move(judged)
    assert root.data_changes() == {False}
    root.table.vacuum(0, enforce_retention_duration=False, dry_run=False)
    assert root.shown() == [0, 1, 2]


@pytest.mark.parametrize(
    ("at_once", "commits", "changes"), [(False, 3, {False}), (True, 2, {True})]
)
def test_rows_that_were_new_and_compacted_between_two_moves_count_as_new(
    root, at_once, commits, changes
):
    """A stream that reads the published table would else not see them."""
    root.append(1)
    root.move()
    root.append(2)
    root.table.optimize.compact()
    assert move(root.paths, root.version, refuse_dead, at_once=at_once)
    assert root.shown() == [1, 2]
    assert (len(root.commits()), root.data_changes()) == (commits, changes)


def test_rows_after_an_optimize_are_not_shown_before_they_are_judged(root):
    root.append(1)
    judged = root.append(2)
    root.table.optimize.compact()
    root.append(3)
    root.move(judged)
    assert root.shown() == [1, 2]


def test_what_a_vacuum_removed_too_early_is_an_error_for_readers_and_never_other_rows(root):
    root.append(1)
    root.move()
    root.append(2)
    root.table.optimize.compact()
    root.table.vacuum(0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(FileNotFoundError):
        root.shown()
    root.move()
    assert root.shown() == [1, 2]


def test_a_vacuum_of_the_published_table_leaves_the_files_of_the_pipelines_table(root):
    judged = root.append(1)
    root.append(2)
    root.move(judged)
    published = deltalake.DeltaTable(root.published)
    assert published.vacuum(0, enforce_retention_duration=False, dry_run=True) == []
    published.vacuum(0, enforce_retention_duration=False, dry_run=False)
    assert sorted(root.table.to_pyarrow_table()["n"].to_pylist()) == [1, 2]
    assert root.shown() == [1]


def test_a_restored_table_is_shown_as_it_was_restored(root):
    """As `sluice rewind` does it: what it takes back is gone from the published table as well."""
    before = root.append(1)
    root.append(2)
    root.move()
    root.table.restore(before)
    root.move()
    assert root.shown() == [1]
    root.append(3)
    root.move()
    assert root.shown() == [1, 3]


def test_a_new_column_is_shown_with_the_version_that_has_it(root):
    root.append(1)
    root.move()
    rows = pa.table({"n": pa.array([2], pa.int64()), "carrier": ["AA"]})
    deltalake.write_deltalake(root.live, rows, mode="append", schema_mode="merge")
    root.move()
    shown = deltalake.DeltaTable(root.published).to_pyarrow_table().sort_by("n").to_pydict()
    assert shown == {"n": [1, 2], "carrier": [None, "AA"]}


def test_after_a_reset_the_old_rows_are_shown_until_the_new_table_is_published(root):
    root.append(1)
    root.move()
    root.begin_again()
    assert root.shown() == [1]
    root.append(10)
    assert root.shown() == [1], "the new table is not judged yet"
    root.move()
    assert root.shown() == [10]
    assert root.data_changes() == {True}


def test_a_log_whose_first_entries_are_gone_is_read_from_its_checkpoint(root):
    for number in range(3):
        root.append(number)
    root.move(0)
    root.table.create_checkpoint()
    for version in (0, 1):
        Path(root.live, "_delta_log", f"{version:020d}.json").unlink()
    root.append(3)
    root.move()
    assert root.shown() == [0, 1, 2, 3]
    shutil.rmtree(root.published)
    root.move()
    assert root.shown() == [0, 1, 2, 3]


def test_a_version_that_the_log_no_longer_has_is_refused_in_words(root):
    for number in range(3):
        root.append(number)
    root.table.create_checkpoint()
    for version in (0, 1):
        Path(root.live, "_delta_log", f"{version:020d}.json").unlink()
    with fails(PublishedTableRefused, "judged_file_gone"):
        root.move(1)
    root.move(2)
    assert root.shown() == [0, 1, 2]


def test_its_own_log_gets_checkpoints_and_is_moved_on_from_them(root, monkeypatch):
    monkeypatch.setattr(table, "CHECKPOINT_EVERY", 4)
    for number in range(6):
        root.append(number)
        root.move()
    assert list(Log.of(root.paths.published_table).checkpoints) == [4]
    for version in range(4):
        Path(root.published, "_delta_log", f"{version:020d}.json").unlink()
    assert root.shown() == [0, 1, 2, 3, 4, 5]
    deltalake.DeltaTable(root.published).optimize.compact()  # so that the move compares everything
    root.table.delete("n >= 1")
    root.move()
    assert root.shown() == [0]


def test_what_somebody_else_wrote_into_it_is_undone_by_the_next_move(root):
    for number in range(2):
        root.append(number)
    root.move()
    deltalake.DeltaTable(root.published).optimize.compact()
    deltalake.DeltaTable(root.published).delete("n = 0")
    assert behind(root.paths, root.version)
    root.move()
    assert root.shown() == [0, 1]


def test_a_table_at_its_place_that_sluice_did_not_make_is_left_alone(root):
    root.append(1)
    deltalake.write_deltalake(root.published, pa.table({"other": [7]}))
    with fails(PublishedTableRefused, "foreign_table"):
        root.move()
    assert deltalake.DeltaTable(root.published).version() == 0


def test_a_version_that_the_table_does_not_have_is_refused(root):
    root.append(1)
    with fails(PublishedTableRefused, "judged_version_gone", judged=7):
        root.move(7)


def test_a_root_that_was_moved_is_read_and_moved_on_there(root, tmp_path):
    root.append(1)
    root.move()
    Path(str(root.paths.root)).rename(tmp_path / "elsewhere")
    there = Root(tmp_path / "elsewhere")
    assert there.shown() == [1]
    there.append(2)
    there.move()
    assert there.shown() == [1, 2]


def test_a_root_that_is_named_by_a_url_is_read_alike(tmp_path):
    root = Root(tmp_path / "root")
    root.append(1)
    assert move(Paths(f"file://{tmp_path}/root", SPEC), 0, refuse_dead)
    assert not root.move()
    assert root.shown() == [1]


def test_without_links_the_names_lead_through_the_root_and_sql_reads_them(root, monkeypatch):
    """As on an object store: delta-rs's SQL follows them, its Arrow reader does not."""

    def no_links(*_: Any, **__: Any):
        raise OSError("this file system has no links")

    monkeypatch.setattr(Path, "symlink_to", no_links)
    root.append(1)
    root.move()
    root.append(2)
    root.move()
    found = deltalake.DeltaTable(root.published)
    sql = deltalake.QueryBuilder().register("t", found).execute("SELECT n FROM t ORDER BY n")
    assert pa.table(sql.read_all())["n"].to_pylist() == [1, 2]
    with pytest.raises(FileNotFoundError):
        found.to_pyarrow_table()
    monkeypatch.undo()  # the root is copied to a disk that has them
    root.append(3)
    root.move()
    assert root.shown() == [1, 2, 3]
