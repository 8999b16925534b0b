"""What else there is to a swapped repair: the event that tells it, a rewind or a reset that takes it
back, and what is left of its staging.
"""

import json
import os
import time
from collections import defaultdict
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.intent import Intent
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.lease import lease
from spark_jobs.errors import LeaseHeld, SwapRefused
from spark_jobs.ops import repairs
from spark_jobs.repair.exchange.staging import Leftover, leftovers, remove_leftovers
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.published import table as published_table
from tests.harness.listener import Listener
from tests.harness.refused import fails
from tests.harness.turns import held_by
from tests.unit.repaired import DAY, SPEC, Changes, Root, again, hour, hours, late, row

pytestmark = held_by("simulation/test_simulation.py")

WRONG: Changes = [(row(1, "a"), row(1, "a", 2)), (None, row(1, "d"))]
OTHER: Changes = [(row(3, "c"), None)]


@pytest.fixture
def root(tmp_path) -> Root:
    """Batches 0 to 5 have passed and were published."""
    made = again(published, tmp_path / "root")
    LISTENERS[made.paths.root] = deepcopy(FIRST)
    return made


FIRST = Listener()
"""Who has the first event, of each root."""


def published(folder: Path) -> Root:
    made = Root(folder)
    made.drain(0, 5)
    FIRST.publish(made.paths, SPEC)
    return made


LISTENERS: dict[Any, Listener] = defaultdict(Listener)
"""Root -> who has the events of it."""


def told(root: Root) -> list[dict[str, Any]] | None:
    """The repairs of the next event; None without an event."""
    event = LISTENERS[root.paths.root].publish(root.paths, SPEC)
    return None if event is None else event.model_dump(mode="json")["repairs"]


def ids(found: list[dict[str, Any]] | None) -> list[str]:
    return [each["repair_id"] for each in found]


def execute(intent: Intent) -> None:
    intent.execute()


def go_back(root: Root, batch: int) -> tuple[str, ...]:
    intent = rewind(SPEC, root.settings, batch)
    execute(intent)
    return intent.lines


def test_a_swap_is_published_and_told_without_a_batch_and_once(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    [found] = told(root) or []
    assert found == {
        "repair_id": "r1",
        "kind": "repair",
        "ranges": [[f"2026-03-01T0{hour}:00:00Z" for hour in (1, 2)]],
        "added": 1,
        "removed": 0,
        "changed": 1,
        "merged": 1,
    }
    assert not published_table.behind(root.paths, 7)
    assert told(root) is None
    root.drain(6, 6)
    assert told(root) == [], "the next event is about what is new since"


def test_an_event_has_every_repair_since_the_one_before_in_their_order(root):
    root.stage("r2", WRONG)
    root.stage("r1", OTHER)
    root.swap("r2")
    root.drain(6, 6)
    root.swap("r1")
    assert ids(told(root)) == ["r2", "r1"]


def test_an_undo_is_told_with_its_repair_or_alone_if_that_was_told(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    root.undo("r1")
    both = told(root)
    assert ids(both) == ["r1", "r1/undo"]
    assert [(each["added"], each["removed"]) for each in both or ()] == [(1, 0), (0, 1)]
    root.drain(6, 6)  # a run judges what an undo is to give back
    root.stage("r2", WRONG)
    root.swap("r2")
    assert ids(told(root)) == ["r2"]
    root.undo("r2")
    assert ids(told(root)) == ["r2/undo"]


def test_what_nobody_has_judged_yet_is_told_when_the_next_drain_has(root):
    root.drain(6, 6, red=True)
    root.stage("r1", WRONG)
    assert not root.swap("r1").passed
    assert told(root) is None
    root.drain(7, 7)
    assert ids(told(root)) == ["r1"]


def test_a_rewind_to_before_a_swap_takes_it_back_and_says_so(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    root.drain(6, 7)
    root.stage("r2", OTHER)
    root.swap("r2")
    lines = go_back(root, 5)
    assert [line for line in lines if "repair r" in line] == [
        "undo repair r1, of table version 7: its late records wait for a repair again",
        "undo repair r2, of table version 10: its late records wait for a repair again",
    ]
    assert root.rows() == root.rows(6)
    assert root.states() == {"r1": "undone", "r2": "undone"}
    assert root.merged() == []
    assert told(root) == [], "nobody was told of them, and nobody is"
    with fails(SwapRefused, "repair_ended"):
        root.swap("r1")


def test_a_rewind_takes_back_what_changed_no_row_if_it_knew_later_records(root):
    """Else ops.merged would say of records that the next drain reads anew that they are done."""
    for repair, end in (("r1", 4), ("r2", 6)):
        root.stage(repair, [], spans=(hours(end),), merged=(late(end - 1, hour(end)),))
        begun = {"pipeline": SPEC.name, "repair_id": repair, "generation": "g1", "state": "staged"}
        repairs.put(root.paths.root, [begun | {"horizon": json.dumps({0: end})}])
        assert root.swap(repair).state == "canonical"
    told_lines = [line for line in go_back(root, 3) if "repair r" in line]
    assert told_lines == [
        "undo repair r2, which changed no row: its late records wait for a repair again"
    ]
    assert root.states() == {"r1": "canonical", "r2": "undone"}
    assert root.merged() == [("r1", 3)]


def test_a_rewind_to_before_an_undo_puts_the_repair_back(root):
    root.stage("r1", WRONG)
    root.swap("r1")
    root.drain(6, 6)
    root.undo("r1")
    assert "undo the undo of repair r1, of table version 9" in go_back(root, 6)
    assert root.states() == {"r1": "swapped", "r1/undo": "undone"}
    assert root.rows() == root.rows(8)


def test_a_reset_removes_what_was_staged_for_the_old_table(root):
    root.stage("r1", WRONG)
    intent = reset(SPEC, root.settings)
    assert f"remove {root.paths.stagings}: repairs of the old table" in intent.lines
    with lease(root.paths.staging_lease, "a stage"):
        execute(intent)
        assert root.paths.staging("r1").exists(), "it is at work: maintain removes it later"
    again = Paths(root.settings.root, SPEC)
    again.staging("r2").mkdir(parents=True)
    execute(reset(SPEC, root.settings))
    assert not again.stagings.exists()


def aged(folder: Any, days: float) -> None:
    for path in Path(str(folder)).iterdir():
        os.utime(path, (time.time() - days * 86_400,) * 2)


def test_doctor_lists_and_removes_what_a_repair_has_left(root):
    for name, days, whole in (
        ("old", 31, True),
        ("kept", 29, True),
        ("cut", 2, False),
        ("begun", 0, False),
    ):
        root.stage(name, OTHER)
        folder = root.paths.staging(name)
        (folder / "plan.json").write_text("{}")
        if not whole:
            (folder / "manifest.json").unlink()
        aged(folder, days)
    root.paths.staging("empty").mkdir()
    with lease(root.paths.staging_lease, "a stage"):
        assert doctor(SPEC, root.settings).execute is None, "a stage is at work"
    found = doctor(SPEC, root.settings)
    told = [line for line in found.lines if line.startswith("fix: remove")]
    assert [line.rsplit("/", 1)[1] for line in told] == [
        "cut: it has no manifest.json: the repair was cut off",
        "empty: it is older than 30 days",
        "old: it is older than 30 days",
    ]
    execute(found)
    assert {folder.name for folder in root.paths.stagings.iterdir()} == {"kept", "begun"}
    assert doctor(SPEC, root.settings).execute is None


def test_nothing_is_removed_beneath_a_stage_that_has_begun_since(root):
    root.stage("r1", OTHER)
    found = leftovers(root.paths, datetime.now(UTC) + timedelta(days=31))
    assert found == [Leftover(root.paths.staging("r1"), "it is older than 30 days")]
    with lease(root.paths.staging_lease, "a stage"), pytest.raises(LeaseHeld):
        remove_leftovers(root.paths, found, "sluice doctor")
    assert root.paths.staging("r1").exists()


def test_a_rewind_that_takes_a_told_repair_back_tells_its_days_again(tmp_path):
    root = Root(tmp_path / "root", hourly=True)
    root.drain(0, 30)
    listener = Listener()
    listener.publish(root.paths, SPEC)
    root.stage("r1", [(row(1, "a"), row(1, "a", 2))])
    root.swap("r1")
    told_of_it = listener.publish(root.paths, SPEC)
    assert told_of_it.days == (DAY.date(),)
    go_back(root, 30)
    event = listener.publish(root.paths, SPEC)
    assert event.days == (DAY.date(),), "their rows are those of before"
    assert listener.publish(root.paths, SPEC) is None
    root.drain(31, 31)
    following = listener.publish(root.paths, SPEC)
    assert following.days == (), "they are told once"
    assert [each.number for each in listener.events] == [1, 2, 3, 4]


@pytest.mark.parametrize("restored", [31, 32])
def test_a_persons_restore_that_is_kept_tells_the_days_of_the_repair_or_the_undo_it_took_out(
    tmp_path, restored
):
    root = Root(tmp_path / "root", hourly=True)
    root.drain(0, 30)
    root.stage("r1", [(row(1, "a"), row(1, "a", 2))])
    root.swap("r1")
    if restored == 32:
        root.undo("r1")
    listener = Listener()
    listener.publish(root.paths, SPEC)
    root.table.restore(restored)
    assert listener.publish(root.paths, SPEC) is None, "no verdict is about these rows"
    go_back(root, 30)
    event = listener.publish(root.paths, SPEC)
    assert event.days == (DAY.date(),)
