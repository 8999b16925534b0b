"""Roots that the code of commit 08a652d has made, before there was a journal and a place
(tests/frozen/make.py), go on; what it left half done is completed, or refused in words.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.reset import reset
from spark_jobs.checkpoint.identity import Present, read_identity
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import CheckpointBroken
from spark_jobs.journal.runner import leased
from spark_jobs.storage.root.paths import Paths
from tests.harness.listener import Listener
from tests.harness.roots import ROOT
from tests.unit.drains import Drains
from tests.unit.repaired import SPEC, Root
from tests.unit.test_switch import NEXT

ARCHIVE = Path(__file__).parent.parent / "frozen" / "08a652d.tar.xz"
Frozen = Callable[[str], Path]
SOLD = {1: {"a": 2, "b": 1, "c": 1, "d": 1}}
"""What differs from one sale an hour and shop: the repair that is in the table."""


@pytest.fixture
def frozen(tmp_path) -> Frozen:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path / ROOT, filter="data")
    return lambda name: tmp_path / ROOT / name


def opened(folder: Path) -> Root:
    return Root(folder, paths=Paths(str(folder), SPEC))


def sales(folder: Path) -> dict[int, dict[str, int]]:
    """Hour -> shop -> what DuckDB reads: the newest version's files, by the log."""
    con = duckdb.connect()
    files = [str(folder / each) for each in _files(folder)]
    con.execute("SET TimeZone = 'UTC'")
    rows = con.execute(
        "SELECT (epoch(\"windowEnd\") - epoch(TIMESTAMPTZ '2026-03-01 01:00:00Z')) // 3600, shop, "
        "sales FROM read_parquet(?)",
        [files],
    ).fetchall()
    found: dict[int, dict[str, int]] = {}
    for number, shop, sold in rows:
        assert shop not in found.setdefault(int(number), {}), "a row is doubled"
        found[int(number)][shop] = sold
    return found


def _files(folder: Path) -> list[str]:
    log = "SELECT add.path AS added, remove.path AS removed, filename FROM read_json(?, "
    log += "columns = {add: 'STRUCT(path VARCHAR)', remove: 'STRUCT(path VARCHAR)'}, "
    log += "filename = true, format = 'newline_delimited') ORDER BY filename"
    there: dict[str, None] = {}
    commits: dict[str, list[tuple[str | None, str | None]]] = {}
    for added, removed, name in (
        duckdb.connect().execute(log, [str(folder / "_delta_log" / "*.json")]).fetchall()
    ):
        commits.setdefault(name, []).append((added, removed))
    for actions in commits.values():
        for _, removed in actions:
            there.pop(removed or "", None)
        there |= {added: None for added, _ in actions if added}
    return [*there]


def expected(last: int, *more: tuple[int, str, int]) -> dict[int, dict[str, int]]:
    made = {number: dict.fromkeys("abc", 1) for number in range(last + 1)}
    made |= {number: dict(shops) for number, shops in SOLD.items()}
    for number, shop, sold in more:
        made[number][shop] = sold
    return made


def test_one_with_a_staged_repair_drains_on_and_swaps_it(frozen):
    folder, listener = frozen("staged"), Listener()
    root = opened(folder)
    assert standing(Present(SPEC), root.paths).changes == ()
    listener.publish(root.paths, SPEC)
    with leased(root.paths, "a drain"):
        root.drain(6, 7)
    assert root.swap("r2").passed
    assert root.states() == {"r1": "swapped", "r2": "swapped"}
    assert sales(folder / "tables" / SPEC.name) == expected(7, (3, "b", 9))
    event = listener.publish(root.paths, SPEC)
    assert event is not None
    assert ([each.repair_id for each in event.repairs], event.account.read) == (["r2"], 2)
    assert sales_shown(folder) == expected(7, (3, "b", 9))
    root.undo("r1")
    assert sales(folder / "tables" / SPEC.name)[1] == dict.fromkeys("abc", 1)


def sales_shown(folder: Path) -> dict[int, dict[str, int]]:
    return sales(folder / "published" / SPEC.name)


def test_a_swap_that_was_killed_behind_its_commit_is_completed_before_a_drain(frozen):
    folder, listener = frozen("swapped"), Listener()
    root = opened(folder)
    listener.publish(root.paths, SPEC)
    assert root.states() == {"r1": "swapped", "r2": "staged"}
    with leased(root.paths, "a drain"):
        assert root.states() == {"r1": "swapped", "r2": "swapped"}
        root.drain(6, 6)
    event = listener.publish(root.paths, SPEC)
    assert event is not None
    assert [each.repair_id for each in event.repairs] == ["r2"]
    assert sales_shown(folder) == expected(6, (3, "b", 9))


def test_so_is_an_undo(frozen):
    root = opened(frozen("undone"))
    with leased(root.paths, "a drain"):
        assert root.states() == {"r1": "undone", "r1/undo": "swapped", "r2": "staged"}


def test_one_that_was_switched_drains_on_in_its_one_table(frozen):
    folder = frozen("switched") / "root"
    root = str(folder)
    assert live_spec(NEXT, root) == NEXT
    paths = Paths(root, NEXT)
    assert (paths.table.name, paths.version.name) == (NEXT.name, "v2")
    drains = Drains.of(root, NEXT)
    before = drains.rows
    with leased(paths, "a drain"):
        drains.drain(6, 7)
    assert drains.rows == [*before, 6, 7] == [*range(8)]


@pytest.mark.parametrize(
    ("name", "reason"), [("rewinding", "older_change"), ("switching/root", "older_switch")]
)
def test_what_was_half_done_in_another_way_is_refused_in_words(frozen, name, reason):
    folder = frozen(name)
    root = opened(folder)
    for command in (
        lambda: read_identity(root.paths),
        lambda: reset(SPEC, root.settings),
        lambda: maintain(SPEC, root.settings),
    ):
        with pytest.raises(CheckpointBroken) as refused:
            command()
        assert refused.value.reason == reason
    assert not root.paths.journal.exists()
