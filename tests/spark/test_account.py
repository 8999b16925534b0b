"""An account that does not balance: one source of a real drain is changed, and the run fails."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.audit.progress import Progress
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.decode import slices as noting
from spark_jobs.errors import CheckFailed
from spark_jobs.messages.report import CheckResult, Report
from spark_jobs.ops import ops_tables
from spark_jobs.runs.account import audit
from spark_jobs.runs.plan import plan
from spark_jobs.runs.watch.follower import Follower
from spark_jobs.sink import writer
from spark_jobs.table import history
from spark_jobs.table.delta import added
from spark_jobs.table.delta.table import Delta
from tests.harness.crash import copied
from tests.harness.refused import because, has
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.spark.test_slices import assert_nothing_is_lost, assert_tiled

held = held_by("unit/test_balance.py", "unit/test_audited_batch.py")

Event = dict[str, Any]


def delta_says_one_row_more(active: pytest.MonkeyPatch, batch: int) -> None:
    commits = history.commits

    def more(table: Any, owners: Any) -> Any:
        for found, entry in commits(table, owners):
            yield found, entry._replace(rows=entry.rows + 1) if found == batch else entry

    active.setattr(history, "commits", more)


def spark_says(change: Callable[[Event], None]) -> Callable[[pytest.MonkeyPatch, int], None]:
    """Of that batch's progress."""

    def corrupt(active: pytest.MonkeyPatch, batch: int) -> None:
        read = Progress.of  # where Spark's own words come in

        def changed(event: Event) -> Progress:
            if event["batchId"] == batch:
                change(event)
            return read(event)

        active.setattr(Progress, "of", staticmethod(changed))

    return corrupt


def one_duplicate_less(event: Event) -> None:
    event["stateOperators"][0]["customMetrics"]["numDroppedDuplicateRows"] -= 1


def one_malformed_record_more(event: Event) -> None:
    event["observedMetrics"]["fate"]["malformed"] += 1


def two_records_more(event: Event) -> None:
    event["numInputRows"] += 2


@pytest.mark.parametrize(
    ("corrupt", "unaccounted"),
    [
        (delta_says_one_row_more, 1),
        (spark_says(one_duplicate_less), 1),
        (spark_says(one_malformed_record_more), 2),
        (spark_says(two_records_more), 4),
    ],
    ids=["Delta's history", "a metric of the state", "an observed count", "the rows of the source"],
)
def test_a_source_that_does_not_agree_fails_the_run_by_as_much_as_it_is_off(
    drained, monkeypatch, corrupt, unaccounted
):
    batch = 2
    judged = read_cursor(drained.paths.cursor).judged
    with monkeypatch.context() as off:
        corrupt(off, batch)
        report = drained.drain("off")
    failed = has("expect_column_values_to_be_between(unaccounted)")
    because(report.problem, CheckFailed, "account_failed", count=1, failed=failed)
    assert report.account.unaccounted == unaccounted
    of_batches = {row["batch_id"]: row["unaccounted"] for row in drained.ops("batches")}
    assert of_batches == {0: 0, 1: 0, batch: unaccounted, 3: 0}
    of_runs = [row["unaccounted"] for row in drained.ops("runs") if row["run_id"] == "off"]
    assert of_runs == [unaccounted]
    assert read_cursor(drained.paths.cursor).judged == judged
    assert not plan(drained.spec, drained.settings).idle, (
        "rows that were never judged good must not be forgotten"
    )
    if corrupt is delta_says_one_row_more:
        assert_red_until_somebody_decides(drained, report)


def assert_red_until_somebody_decides(drained: Scene, failed: Report):
    """The run that follows reads nothing and balances: it must not pass what failed."""
    said: list[str] = []
    again = drained.drain("again", said.append)
    assert (again.batches, again.account.unaccounted) == ((), 0)
    assert again.problem.code == "CHECK_FAILED"
    [check] = [result for result in again.checks if result.column == "unaccounted"]
    assert (check.outcome, check.observed) == ("failed", "1")
    assert any("also judging batches [2, 3] of earlier runs" in line for line in said)
    assert again.table_version_before == failed.table_version_before
    assert not plan(drained.spec, drained.settings).idle


@held
def test_an_audit_that_falls_behind_holds_the_query_back(scene, monkeypatch):
    """Spark keeps the log entries of the last hundred batches, without which there is no account."""
    made = scene("flight_events", events=500, deliveries=1, max_offsets_per_batch=100)
    made.deliver()
    most = 2
    monkeypatch.setattr(writer, "MOST_BEHIND", most)
    replace = ops_tables.replace

    far_ahead = threading.Event()

    def slow(root: Any, name: str, *rows: Any, **key: Any):
        if name == "batches" and not far_ahead.is_set():
            assert far_ahead.wait(60), "the query did not come so far"
            time.sleep(3)  # in which it would go on, if nothing held it
        replace(root, name, *rows, **key)

    monkeypatch.setattr(ops_tables, "replace", slow)
    behind = []
    newest = Delta.newest_batch

    def seen(*where: Any) -> int:
        done = newest(*where)
        behind.append(done + 1 - read_cursor(made.paths.cursor).audited)
        if behind[-1] >= most:
            far_ahead.set()
        return done

    monkeypatch.setattr(Delta, "newest_batch", seen)
    batches = made.run().batches
    assert len(batches) > 2 * most
    assert max(behind) == most, "the query did not wait"
    made.assert_exact()


@held
def test_a_batch_whose_progress_is_lost_amid_others_is_accounted_for_in_turn(scene, monkeypatch):
    made = scene("flight_events", events=500, deliveries=1, max_offsets_per_batch=100)
    made.deliver()
    of = Follower.progress
    monkeypatch.setattr(
        Follower, "progress", lambda it: {b: p for b, p in of(it).items() if b not in {1, 3}}
    )
    made.run()
    rows = sorted(made.ops("batches"), key=lambda row: row["batch_id"])
    assert [row["batch_id"] for row in rows] == [*range(len(rows))]
    assert [row["batch_id"] for row in rows if row["source"] == "reread"] == [1, 3]
    made.assert_exact()


def one_record_less_in_the_groups_written(event: Event) -> None:
    for seen in event["observedMetrics"].values():
        if seen.get("counted"):
            seen["counted"] -= 1


def of_the_groups(report: Report) -> CheckResult:
    [check] = [check for check in report.checks if check.column == "groups_unaccounted"]
    return check


def test_records_that_entered_an_aggregate_are_in_its_state_or_its_rows(delays, monkeypatch):
    """The state store is read, and what it has is held against what Spark observed."""
    made = delays
    assert sum(row["groups_out"] for row in made.ops("batches")) > 0
    assert read_cursor(made.paths.cursor).open_records == sum(
        row["groups_in"] - row["groups_out"] for row in made.ops("batches")
    )
    with monkeypatch.context() as off:
        for batch in range(1, 9):
            spark_says(one_record_less_in_the_groups_written)(off, batch)
        report = made.drain("off")
    failed = has("groups_unaccounted")
    because(report.problem, CheckFailed, "account_failed", failed=failed)
    assert report.account.unaccounted == 0, "no other source can tell"
    again = made.drain("again")
    assert of_the_groups(again).outcome == "failed", "a red verdict stays red"


def progress_is_lost(off: pytest.MonkeyPatch) -> None:
    """As a kill between a batch's commit and its account loses it."""
    off.setattr(Follower, "progress", lambda _: {})


def delta_says_one_row_less(active: pytest.MonkeyPatch, batch: int) -> None:
    written = audit.written_by

    def fewer(*of: Any) -> Any:
        found = written(*of)
        return found | {batch: found[batch]._replace(rows=found[batch].rows - 1)}

    active.setattr(audit, "written_by", fewer)


@held
def test_a_batch_whose_progress_is_lost_is_held_against_the_state_before_it(
    drained, tmp_path, monkeypatch
):
    """A Deduplicate lets each key through once that its state did not have."""
    made, other = drained, copied(drained, tmp_path / "other")
    with monkeypatch.context() as lost:
        progress_is_lost(lost)
        report = made.run("lost")
    again = [row for row in made.ops("batches") if row["source"] == "reread"]
    assert sum(row["duplicates"] for row in again) == report.account.duplicates > 0
    assert report.account.accepted - report.account.duplicates == report.account.rows_out > 0
    with monkeypatch.context() as off:
        progress_is_lost(off)
        delta_says_one_row_less(off, min(row["batch_id"] for row in again))
        report = other.drain("off")
    assert report.problem.code == "CHECK_FAILED"
    assert report.account.unaccounted == 1


@held
def test_where_progress_is_lost_an_aggregate_is_balanced_and_has_its_slices(
    delays, tmp_path, monkeypatch
):
    """Kafka and the state before say what entered, the table's rows what was written."""
    monkeypatch.setattr(noting, "LEAST_OFFSETS", 20)
    made, other = delays, copied(delays, tmp_path / "other")
    seen = made.ops("batches")
    with monkeypatch.context() as lost:
        progress_is_lost(lost)
        report = made.run("lost")
    assert (of_the_groups(report).outcome, of_the_groups(report).observed) == ("passed", "0")
    again = [row for row in made.ops("batches") if row["source"] == "reread"]
    assert len(again) == len(made.ops("batches")) - len(seen) > 0
    assert sum(row["groups_in"] for row in again) > 0 < sum(row["groups_out"] for row in again)
    assert {row["unaccounted"] for row in again} == {None}, "no second source says it"
    assert_tiled(made)
    assert_nothing_is_lost(made)
    rows_of_commit = added.sum_of
    with monkeypatch.context() as off:
        progress_is_lost(off)
        off.setattr(added, "sum_of", lambda *of: max(rows_of_commit(*of) - 1, 0))
        report = other.drain("off")
    failed = has("groups_unaccounted")
    because(report.problem, CheckFailed, "account_failed", failed=failed)
