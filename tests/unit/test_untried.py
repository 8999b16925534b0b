"""Untried: which late records start a repair behind a drain, and which do not start another one."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.checkpoint.notes.live import Live
from spark_jobs.errors import KafkaUnreachable, RangeInvalid, RecordsUnreachable
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.find.ranges_due import RUN_PREFIX, untried
from spark_jobs.spec import Ranges
from tests.unit.repaired import SPEC, Root, add_late, hours, row, set_watermark, ten_hours


@pytest.fixture
def root(tmp_path) -> Root:
    return ten_hours(tmp_path)


def computed(root, state, span, horizon, kind="repair", repair_id="") -> None:
    """A repair of these positions, of the records before this offset."""
    known: dict[str, Any] = {"pipeline": SPEC.name, "generation": "g1"}
    known |= {"repair_id": repair_id or f"{state}1"}
    repairs.put(
        root.paths.root,
        [
            known
            | {"kind": kind, "state": state, "ranges": [span._asdict()]}
            | {"horizon": json.dumps({"0": horizon})}
        ],
    )


def refused(root: Root, error: Any, run_id: str, ended: datetime | None = None) -> None:
    known = {"pipeline": SPEC.name, "kind": "repair", "status": "failed", "problem": error.code}
    times = {"ended_at": ended or datetime.now(UTC)}
    ops_tables.append(root.paths.root, "runs", [known | times | {"run_id": run_id}])


def test_late_records_whose_rows_are_final_start_a_repair_and_others_wait(root):
    assert untried(SPEC, root.paths) == 0
    add_late(root, (3, 1.5), (4, 2.5), (5, 8.5))
    assert untried(SPEC, root.paths) == 2


@pytest.mark.parametrize("state", ["staged", "failed", "undone", "rejected"])
def test_records_that_a_repair_has_tried_start_no_other_one_until_a_new_one_is_late(root, state):
    add_late(root, (3, 1.5))
    computed(root, state, hours(1), horizon=10)
    if state == "undone":
        assert untried(SPEC, root.paths) == 1, "a rewind took it back, and no person"
        computed(root, "swapped", hours(1), 0, repair_id="undone1/undo")
    assert untried(SPEC, root.paths) == 0
    add_late(root, (11, 1.6))
    assert untried(SPEC, root.paths) == 1, "it was not there yet"
    add_late(root, (4, 3.5))
    assert untried(SPEC, root.paths) == 2, "that repair did not compute its hour"


def test_a_verify_or_a_backfill_is_no_repair(root):
    add_late(root, (3, 1.5))
    computed(root, "failed", hours(1), horizon=10, kind="verify")
    assert untried(SPEC, root.paths) == 1


def test_records_for_which_a_repair_was_refused_start_no_other_one_until_a_later_batch(root):
    add_late(root, (3, 1.5))
    refused(root, RangeInvalid, "manual__1-repair-try1")
    refused(root, KafkaUnreachable, f"{RUN_PREFIX}1-repair-try1")
    refused(root, RecordsUnreachable, f"{RUN_PREFIX}0-try1", datetime(2026, 1, 1, tzinfo=UTC))
    assert untried(SPEC, root.paths) == 1, "by hand, not for ever, or before it was late"
    refused(root, RecordsUnreachable, f"{RUN_PREFIX}2-repair-try1")
    assert untried(SPEC, root.paths) == 0
    root.drain(10, 10)
    set_watermark(root, 10)
    late = ops_tables.query(root.paths.root, "late", "SELECT * FROM late").to_pylist()
    ops_tables.append(root.paths.root, "late", [late[0] | {"batch_id": 10, "offset": 10}])
    assert untried(SPEC, root.paths) == 1


def test_after_a_reset_a_refusal_of_before_holds_back_none_of_the_new_records(root):
    """Batches are counted from 0 again, and the accounts of the old ones are still there."""
    old = {"pipeline": SPEC.name, "generation": "g0", "batch_id": 500}
    ops_tables.append(
        root.paths.root, "batches", [old | {"audited_at": datetime(2026, 1, 1, tzinfo=UTC)}]
    )
    refused(root, RecordsUnreachable, f"{RUN_PREFIX}0-try1", datetime(2026, 1, 2, tzinfo=UTC))
    add_late(root, (3, 1.5))
    assert untried(SPEC, root.paths) == 1


@pytest.mark.parametrize(("approval", "starts"), [("not needed", 1), ("needed", 0)])
def test_a_repair_whose_swap_failed_starts_again_and_one_that_a_person_declined_does_not(
    root, approval, starts
):
    add_late(root, (3, 1.5))
    root.stage("staged1", [(row(1, "a"), row(1, "a", 2))], approval=approval)
    computed(root, "staged", hours(1), horizon=10)
    assert untried(SPEC, root.paths) == starts


def test_before_the_first_batch_nothing_waits(tmp_path):
    assert untried(SPEC, Root(tmp_path).paths) == 0
    assert Ranges().repair == "by hand"


def test_a_refusal_from_before_a_place_was_live_holds_back_none_of_its_records(root):
    """A rebuild has drained beside it, and has batches that were accounted for before."""
    add_late(root, (3, 1.5))
    refused(root, RecordsUnreachable, f"{RUN_PREFIX}0-try1")
    assert untried(SPEC, root.paths) == 0
    since = datetime.now(UTC) + timedelta(seconds=1)
    place = root.paths.place
    live = Live(version=1, since=since, folder=place.folder, table=place.table, number=1)
    live.write(root.paths.live)
    assert untried(SPEC, root.paths) == 1
