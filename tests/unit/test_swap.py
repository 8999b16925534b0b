"""Staged rows into the table and back: real Delta tables and a checkpoint, without Spark."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import deltalake
import pytest
from typer.testing import CliRunner

from spark_jobs.checkpoint.lease import lease
from spark_jobs.cli import app
from spark_jobs.cli.terminal import NOT_DONE
from spark_jobs.errors import (
    ApprovalMissing,
    LeaseHeld,
    RepairOverlapped,
    RepairUnknown,
    StagingStale,
    SwapRefused,
)
from spark_jobs.journal.runner import leased
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.exchange import commit, exchange
from spark_jobs.repair.exchange.commit import Base
from spark_jobs.repair.find.plan import digest
from spark_jobs.repair.manifest import MergedRecord
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.storage import failpoint
from spark_jobs.table import history
from spark_jobs.table.delta.log_entries import entries
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.spans import Span
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.repaired import DAY, POSITION, SPEC, Changes, Root, hour, hours, late, row, texts

SOURCES = Path(__file__).parents[2]
WRONG: Changes = [(row(1, "a"), row(1, "a", 2)), (None, row(1, "d")), (row(4, "c"), None)]
"""A sale of hour 1 was late, a shop of that hour was missing, and one of hour 4 is too many."""


@pytest.fixture
def root(tmp_path) -> Root:
    """Batches 0 to 5 have passed."""
    made = Root(tmp_path / ROOT)
    made.drain(0, 5)
    return made


def expected(root: Root, version: int, changes: Changes) -> list[str]:
    """The rows of the version, with the changes."""
    rows = Counter(root.rows(version))
    rows -= Counter(texts([before for before, _ in changes if before]))
    rows += Counter(texts([after for _, after in changes if after]))
    return sorted(rows.elements())


def test_the_rows_that_differ_are_replaced_in_one_commit_and_all_others_stay(root):
    before = root.version
    root.stage("r1", WRONG)
    done = root.swap("r1")
    assert (done.state, done.table_version, done.passed) == ("swapped", 7, True)
    assert root.version == before + 1
    assert root.rows() == expected(root, before, WRONG)
    assert done.leased_seconds < 5


def test_the_commit_is_no_batch_and_says_whose_it_is(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    entry = next(entries(root.paths.table))
    assert json.loads(entry["userMetadata"]) == {"sluice_repair": "r1", "sluice_passed": 6}
    owners = root.identity.owners(SPEC.name)
    found = history.commits(Delta(root.paths.table), owners)
    assert [batch for batch, _ in found] == [5, 4, 3, 2, 1, 0]
    assert root.table.transaction_version(f"{SPEC.name}/g1") == 5
    assert root.table.transaction_version(f"{SPEC.name}/g1/repair/r1") == 0


def test_the_change_feed_has_what_went_and_what_came_and_its_sum_is_the_change(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    feed = root.feed(7)
    gone = Counter(text for kind, text in feed if kind == "delete")
    came = Counter(text for kind, text in feed if kind == "insert")
    assert {kind for kind, _ in feed} == {"delete", "insert"}
    assert came - gone == Counter(texts([after for _, after in WRONG if after]))
    assert gone - came == Counter(texts([before for before, _ in WRONG if before]))
    assert sum(gone.values()) == 6, "the rows of hours 1 and 4, and no others"


def test_the_record_has_what_was_done_and_keeps_what_the_stage_wrote(root):
    root.stage("r1", WRONG, approval="needed", approved_by="ana", spec_digest=digest(SPEC))
    staged = {"pipeline": SPEC.name, "repair_id": "r1", "state": "staged", "read": 70}
    repairs.put(root.paths.root, [staged | {"spec_digest": "d"}])
    root.swap("r1")
    [found] = repairs.stored(root.paths.root, SPEC.name)
    assert (found["read"], found["spec_digest"], found["approved_by"]) == (70, "d", "ana")
    assert (found["state"], found["generation"], found["kind"]) == ("swapped", "g1", "repair")
    assert (found["table_version_before"], found["table_version"]) == (6, 7)
    assert found["swapped_at"] == history.committed_at(Delta(root.paths.table), 7)
    assert (found["added"], found["removed"], found["changed"]) == (1, 1, 1)
    assert (found["late_merged"], found["replayed"]) == (1, 0)
    assert [each["start"] for each in found["ranges"]] == [hours(1).start, hours(4).start]
    assert root.merged() == [("r1", 7)]


def test_a_second_swap_does_nothing(root):
    root.stage("r1", WRONG)
    first = root.swap("r1")
    again = root.swap("r1")
    assert again._replace(leased_seconds=0) == first._replace(leased_seconds=0)
    assert (root.version, root.states(), root.merged()) == (7, {"r1": "swapped"}, [("r1", 7)])


def test_where_nothing_differs_nothing_is_committed_and_the_range_is_canonical(root):
    root.stage("r1", [], spans=(hours(0, 3),))
    done = root.swap("r1")
    assert (done.state, done.table_version, done.passed) == ("canonical", None, False)
    assert (root.version, root.cursor.judged_table_version) == (6, 6)
    assert (root.states(), root.merged()) == ({"r1": "canonical"}, [("r1", 7)])


def test_a_range_that_loses_all_rows_and_one_that_gets_its_first_are_swapped(root):
    gone: Changes = [(row(2, shop), None) for shop in ("a", "b", "c")]
    root.stage("gone", gone)
    root.swap("gone")
    assert root.rows() == expected(root, 6, gone)
    back: Changes = [(None, row(2, "z"))]
    root.stage("back", back, spans=(hours(0, 5),))
    root.swap("back")
    assert root.rows() == expected(root, 7, back)


@pytest.mark.parametrize("most", [1_000, 3])
def test_many_ranges_are_replaced_by_their_positions_or_as_they_are(root, monkeypatch, most):
    monkeypatch.setattr(commit, "MOST_POSITIONS", most)
    root.drain(6, 20)
    gone: Changes = [
        (row(hour, shop), None) for hour in range(0, 20, 4) for shop in ("a", "b", "c")
    ]
    more: Changes = [(None, row(hour, "d")) for hour in range(2, 40, 4)]
    root.stage("r1", gone + more)
    root.swap("r1")
    assert root.rows() == expected(root, 21, gone + more)
    condition = next(entries(root.paths.table))["operationParameters"]["predicate"]
    assert ("IN" in condition.upper().split()) == (most > 3)


def test_drains_after_the_comparison_do_not_hinder_it(root):
    root.stage("r1", WRONG)
    root.drain(6, 8)
    base = Base(Delta(root.paths.table), 6, POSITION, (hours(1), hours(4)))
    assert not base.touched(), "the log alone tells: no row is read"
    assert root.swap("r1").table_version == 10
    assert repairs.one(root.paths.root, SPEC.name, "r1")["table_version_before"] == 9
    assert root.rows() == expected(root, 9, WRONG)


def test_nor_do_optimize_and_changes_of_other_rows(root):
    root.stage("r1", WRONG)
    root.table.optimize.compact()
    assert not Base(Delta(root.paths.table), 6, POSITION, (hours(1), hours(4))).touched()
    root.table.delete("sales = 1 AND shop = 'b' AND \"windowEnd\" = '2026-03-01T03:00:00Z'")
    assert Base(Delta(root.paths.table), 6, POSITION, (hours(1), hours(4))).touched(), (
        "nobody knows"
    )
    before = root.version
    root.swap("r1")
    assert root.rows() == expected(root, before, WRONG)


@pytest.mark.parametrize("gone", [False, True])
def test_rows_that_changed_since_the_comparison_are_stale(root, gone):
    root.stage("r1", WRONG, spans=(hours(0, 4),))
    if gone:
        root.table.delete("shop = 'b'")
    else:
        root.append([row(3, "b")])
    rows = root.rows()
    with fails(StagingStale, "rows_changed") as refused:
        root.swap("r1")
    assert refused.value.retry
    assert (root.rows(), root.states(), root.merged()) == (rows, {}, [])


def test_rows_that_nobody_can_compare_any_more_are_stale(root):
    root.stage("r1", WRONG)
    root.table.update({"sales": "1"}, predicate="shop = 'a'")
    root.table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    with fails(StagingStale, "rows_changed"):
        root.swap("r1")


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        ({"table_id": "another"}, "table_moved_on"),
        ({"spec_digest": "0"}, "spec_changed_since_stage"),
        ({"spec_digest": "z"}, "spec_changed_since_stage"),
    ],
)
def test_another_table_is_stale_and_so_is_another_spec(root, of, reason):
    root.stage("r1", WRONG, **of)
    with fails(StagingStale, reason):
        root.swap("r1")


@pytest.mark.parametrize(
    "changes", [{"generation": "g2", "rewound": ("g1",)}, {"generation": "g3"}]
)
def test_another_generation_is_stale(root, changes):
    root.stage("r1", WRONG)
    root.identity.model_copy(update=changes).write(root.paths.identity)
    with fails(StagingStale, "table_moved_on"):
        root.swap("r1")


def test_a_column_that_was_added_since_is_stale(root):
    root.stage("r1", WRONG)
    root.table.alter.add_columns([deltalake.Field("note", "string")])
    with pytest.raises(StagingStale):
        root.swap("r1")


def test_a_repair_of_sessions_is_stale_when_rows_before_its_range_change(root):
    before, change = (hours(1, 3),), [(row(3, "a"), row(3, "a", 3))]
    root.stage("r1", change, spans=(hours(3),), around=before)
    root.append([row(4, "b")])
    root.swap("r1")
    root.stage("r2", [(row(3, "a", 3), row(3, "a", 4))], spans=(hours(3),), around=before)
    root.append([row(1, "b")])
    with fails(StagingStale, "rows_changed"):
        root.swap("r2")


def test_a_repair_of_sessions_overlaps_one_that_replaced_rows_before_its_range(root):
    def stage(repair_id: str, number: int, *around: Span):
        change = [(row(number, "a"), row(number, "a", 3))]
        root.stage(repair_id, change, spans=(hours(number),), around=around)

    stage("r1", 3, hours(1, 3))
    stage("r2", 3, hours(2, 3))
    stage("r3", 1)
    root.swap("r3")
    with fails(RepairOverlapped, "later_repair"):
        root.swap("r1")
    root.swap("r2")


def test_a_later_repair_of_the_range_is_in_the_way(root):
    root.stage("r1", WRONG)
    root.stage("r2", [(row(2, "a"), row(2, "a", 3))], spans=(hours(1, 2),))
    root.stage("r3", [(row(0, "a"), row(0, "a", 3))])
    root.swap("r3")
    root.swap("r2")
    with fails(RepairOverlapped, "later_repair"):
        root.swap("r1")
    root.undo("r2")
    root.swap("r1")
    assert root.states() == {"r1": "swapped", "r2": "undone", "r2/undo": "swapped", "r3": "swapped"}


def test_what_waits_for_a_person_is_not_swapped(root):
    made = root.stage("r1", WRONG, approval="needed")
    with pytest.raises(ApprovalMissing):
        root.swap("r1")
    approved = made.model_copy(update={"approved_by": "ana"})
    approved.write(root.paths.staging("r1") / "manifest.json")
    assert root.swap("r1").state == "swapped"


@pytest.mark.parametrize("state", ["rejected", "failed", "undone"])
def test_what_has_ended_is_not_swapped(root, state):
    root.stage("r1", WRONG)
    repairs.put(root.paths.root, [{"pipeline": SPEC.name, "repair_id": "r1", "state": state}])
    with fails(SwapRefused, "answered_no" if state == "rejected" else "repair_ended"):
        root.swap("r1")


def test_a_verification_is_not_swapped(root):
    root.stage("r1", WRONG, kind="verify")
    with fails(SwapRefused, "kind_never_swaps", kind="verify"):
        root.swap("r1")


@pytest.mark.parametrize("content", [None, "{"])
def test_what_was_not_staged_whole_is_unknown(root, content):
    root.stage("r1", WRONG)
    manifest = root.paths.staging("r1") / "manifest.json"
    manifest.unlink()
    if content:
        manifest.write_text(content)
    with pytest.raises(RepairUnknown):
        root.swap("r1")


def test_a_table_that_only_spark_writes_is_left_alone(root):
    root.table.alter.add_feature(
        deltalake.TableFeatures.RowTracking, allow_protocol_versions_increase=True
    )
    root.stage("r1", WRONG)
    with fails(SwapRefused, "feature_unwritable", unknown="rowTracking", first="rowTracking"):
        root.swap("r1")
    assert root.version == 7


def test_while_a_drain_works_the_swap_is_put_off(root):
    root.stage("r1", WRONG)
    with lease(root.paths.lease, "a drain"), fails(LeaseHeld, "held_by_drain"):
        root.swap("r1")
    assert (root.version, root.states()) == (6, {})
    root.swap("r1")


def test_rows_that_a_drain_moves_between_comparison_and_lease_are_compared_again(root, monkeypatch):
    root.stage("r1", WRONG)
    real, times = exchange.leased, []

    def lease_after_another(paths, run_id):  # type: ignore[no-untyped-def]
        if not times:
            root.table.update({"sales": "9"}, predicate="shop = 'c' AND sales = 1")
        times.append(run_id)
        return real(paths, run_id)

    monkeypatch.setattr(exchange, "leased", lease_after_another)
    with pytest.raises(StagingStale):
        root.swap("r1")
    assert len(times) == 1, "it had the lease once, and gave it back to compare"
    assert root.version == 7


def test_a_repair_of_which_the_rows_always_move_is_put_off(root, monkeypatch):
    root.stage("r1", WRONG)
    monkeypatch.setattr(Base, "touched", lambda _: True)
    with fails(LeaseHeld, "writers_busy"):
        root.swap("r1")


@pytest.mark.parametrize("place", failpoint.SWAP_POINTS)
def test_a_process_that_is_killed_there_leaves_what_the_next_completes(root, place):
    root.stage("r1", WRONG)
    here = (
        "from spark_jobs.repair.swap import swap; from tests.unit.specs import pipeline; "
        f"swap(pipeline(), {root.settings.root!r}, 'r1', 'killed')"
    )
    killed = subprocess.run(
        [sys.executable, "-c", here],
        env=os.environ | {"SLUICE_FAILPOINTS": f"{place}=exit", "PYTHONPATH": str(SOURCES)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert root.version == (6 if place == "swap.leased" else 7)
    assert root.swap("r1").passed, "nobody holds the lease any more"
    assert (root.version, root.rows()) == (7, expected(root, 6, WRONG))
    assert (root.states(), root.merged()) == ({"r1": "swapped"}, [("r1", 7)])
    assert root.cursor.judged_table_version == 7


def test_of_two_swaps_at_once_one_commits(root):
    root.stage("r1", WRONG)
    root.stage("r2", [(row(3, "a"), row(3, "a", 5))], merged=(late(8, hour(0)),))

    def patiently(repair_id: str):
        for _ in range(200):
            try:
                swap(SPEC, root.settings.root, repair_id, repair_id)
            except LeaseHeld:
                continue
            return
        raise AssertionError

    with ThreadPoolExecutor(6) as beside:
        list(beside.map(patiently, ["r1", "r2"] * 3))
    assert root.version == 8
    assert root.rows() == expected(root, 6, [*WRONG, (row(3, "a"), row(3, "a", 5))])
    assert root.states() == {"r1": "swapped", "r2": "swapped"}
    assert root.merged() == [("r1", 7), ("r2", 8)]


def test_one_that_another_try_overtakes_while_it_compares_completes_that(root, monkeypatch):
    root.stage("r1", WRONG)
    compared = Base.compared

    def overtaken(base: Base) -> Base:
        monkeypatch.setattr(Base, "compared", compared)
        root.swap("r1")
        return base.compared()

    monkeypatch.setattr(Base, "compared", overtaken)
    assert root.swap("r1").table_version == 7
    assert (root.version, root.states()) == (7, {"r1": "swapped"})


def test_what_waits_for_its_verdict_keeps_the_cursor_where_it_is(root):
    root.drain(6, 6, red=True)
    root.stage("r1", WRONG)
    done = root.swap("r1")
    assert not done.passed
    assert root.cursor.judged_table_version == 6


def test_a_compaction_before_it_does_not_keep_it_from_being_published(root):
    root.table.optimize.compact()
    root.stage("r1", WRONG)
    assert root.swap("r1").passed
    assert root.cursor.judged_table_version == root.version == 8


def test_the_undo_gives_the_rows_back_also_after_drains_and_lets_the_records_wait(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    root.drain(6, 7)
    done = root.undo("r1")
    assert (done.state, done.table_version, done.passed) == ("undone", 10, True)
    assert (done.added, done.removed, done.changed) == (1, 1, 1)
    reverse: Changes = [(after, before) for before, after in WRONG]
    assert root.rows() == expected(root, 9, reverse)
    assert [text for text in root.rows() if text in root.rows(6)] == root.rows(6)
    assert root.states() == {"r1": "undone", "r1/undo": "swapped"}
    assert root.merged() == []
    assert root.undo("r1").table_version == 10, "a second undo does nothing"
    assert root.version == 10
    with fails(SwapRefused, "repair_ended"):
        root.swap("r1")


def test_the_command_shows_an_undo_first_and_does_it_with_execute(root, monkeypatch):
    monkeypatch.setattr("spark_jobs.registry.find.load", lambda _: SPEC)
    root.stage("r1", WRONG)
    root.swap("r1")

    def undo(*words: str) -> str:
        where = {"SLUICE_ROOT": root.settings.root, "SLUICE_KAFKA": "127.0.0.1:1"}
        done = CliRunner().invoke(app, ["undo", SPEC.name, "r1", *words], env=where)
        assert done.exit_code == (0 if words else NOT_DONE), done.output
        return done.stdout

    told = undo()
    assert "would take back repair r1" in told
    assert "1 rows added, 1 removed, 1 changed" in told
    assert (root.version, root.states()) == (7, {"r1": "swapped"}), "nothing is done yet"
    assert undo("--execute") == "sales_hourly: repair r1 is undone, version 8\n"
    assert root.rows() == root.rows(6)
    assert root.states() == {"r1": "undone", "r1/undo": "swapped"}


def test_an_undo_is_whole_though_the_spec_has_no_ranges_any_more(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    without = SPEC.model_copy(update={"output_mode": "complete"})
    assert unranged(without)
    undo(without, root.settings.root, "r1", "undo")
    assert root.rows() == root.rows(6)
    assert (root.states(), root.merged()) == ({"r1": "undone", "r1/undo": "swapped"}, [])


def test_what_cannot_be_undone_is_left_in_words(root):
    root.stage("r1", WRONG)
    with fails(SwapRefused, "nothing_swapped_in", state="not recorded"):
        root.undo("r1")
    root.swap("r1")
    root.stage("r2", [(row(1, "b"), row(1, "b", 2))])
    root.swap("r2")
    with fails(RepairOverlapped, "later_repair"):
        root.undo("r1")
    root.undo("r2")
    root.undo("r1")
    assert root.rows() == root.rows(6)
    with pytest.raises(RepairUnknown):
        root.undo("r9")


def test_rows_that_a_person_changed_after_the_swap_are_not_undone(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    root.table.delete("shop = 'd'")
    with pytest.raises(StagingStale):
        root.undo("r1")


def test_an_undo_needs_no_file_of_an_older_version(root):
    root.stage("r1", WRONG, spans=(hours(0, 4),))
    root.swap("r1")
    elsewhere: Changes = [(row(5, "c"), None)]
    root.stage("r2", elsewhere)
    root.swap("r2")
    root.drain(6, 6)
    root.table.optimize.compact()
    root.table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    with fails(StagingStale, "rows_changed", how=has("VACUUM")):
        Base(Delta(root.paths.table), 7, POSITION, (hours(5),)).compared()
    before = root.version
    assert root.undo("r1").state == "undone"
    assert root.rows() == expected(root, before, [(after, was) for was, after in WRONG])


def test_an_undo_leaves_rows_alone_that_the_repair_did_not_replace(root):
    root.stage("r1", WRONG, spans=(hours(0, 4),))
    root.swap("r1")
    root.table.update({"sales": "7"}, predicate="\"windowEnd\" = '2026-03-01T03:00:00Z'")
    before = root.version
    root.undo("r1")
    assert root.rows() == expected(root, before, [(after, was) for was, after in WRONG])


def test_the_records_of_another_repair_stay(root):
    root.stage("r1", WRONG)
    root.stage("r2", [(row(3, "a"), None)], merged=(late(8, hour(0)),))
    root.swap("r1")
    root.swap("r2")
    root.undo("r1")
    assert root.merged() == [("r2", 8)]
    rows = ops_tables.query(root.paths.root, "merged", "SELECT * FROM merged").to_pylist()
    assert rows[0]["position"] == hour(0)
    assert [rows[0][name] for name in ("source", "fate", "topic_id")] == [
        "late",
        "merged",
        "topic-1",
    ]


def test_a_record_that_a_later_repair_found_in_the_rows_waits_too_when_they_go(root):
    root.stage("r1", [(None, row(1, "d"))], merged=())
    root.swap("r1")
    root.stage("elsewhere", [], spans=(hours(3),))
    root.swap("elsewhere")
    root.stage("r2", [], spans=(hours(0, 2),), merged=(late(8, hour(0)),))
    assert root.swap("r2").state == "canonical"
    assert root.merged() == [("elsewhere", 7), ("r2", 8)]
    root.undo("r1")
    undone = {"r1": "undone", "r1/undo": "swapped", "r2": "undone"}
    assert root.states() == undone | {"elsewhere": "canonical"}
    assert root.merged() == [("elsewhere", 7)]


@pytest.fixture
def copied(root) -> Root:
    """Copies may carry other times: the range of r2 has no row of r1, and its first copy lies
    within the watermark delay of that.
    """
    root.stage("r1", [(None, row(1, "d"))])
    root.swap("r1")

    def copy(offset: int, number: float) -> MergedRecord:
        at = {"fate": "duplicate", "event_time": DAY + timedelta(hours=number)}
        return late(offset, hour(0)).model_copy(update=at)

    root.stage("r2", [], spans=(hours(2, 5),), merged=(copy(8, 2.01), copy(9, 5.5)))
    root.swap("r2")
    return root


def test_a_copy_in_another_range_waits_too_when_what_it_is_a_copy_of_goes(copied):
    copied.undo("r1")
    assert copied.states() == {"r1": "undone", "r1/undo": "swapped", "r2": "canonical"}
    assert copied.merged() == [("r2", 9)]


@pytest.mark.parametrize(("noted", "left"), [(True, [("r2", 9)]), (False, [])])
def test_who_completes_an_undo_asks_its_note_which_copies_wait_and_without_one_all_do(
    copied, monkeypatch, noted, left
):
    """Whoever it is: the spec may have lost its ranges since."""
    with monkeypatch.context() as active:
        active.setattr(failpoint, "ACTIVE", {"swap.committed": "raise"})
        with pytest.raises(failpoint.Failure):
            copied.undo("r1")
    assert len(copied.merged()) == 3
    if not noted:
        copied.paths.journal.unlink()
    with leased(copied.paths, "a drain"):
        assert copied.merged() == left


def test_of_two_repairs_at_once_that_change_no_row_one_has_the_record(root):
    for repair in ("r1", "r2"):
        root.stage(repair, [], spans=(hours(3),))
    assert {root.swap("r1").state, root.swap("r2").state} == {"canonical"}
    assert root.merged() == [("r1", 7)]
