"""A batch with its account: what ops.batches has of it, and how far the cursor has come with it."""

from datetime import UTC, datetime

import pytest

from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.audit.record_counts import RecordCounts
from spark_jobs.audit.written import Written
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse
from spark_jobs.ops.operator_metrics import REPORTED
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.runs.account.audited_batch import AuditedBatch, event_times
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions

HOUR = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(3)]
BEFORE = Cursor(
    audited=2, judged=1, judged_table_version=5, table_version=6,
    state=StateUse(rows=9, bytes=90), last_event_time=HOUR[1], still_batches=3, timers_waiting=4,
)  # fmt: skip
OPERATOR = OperatorProgress(
    "dedupe", dict.fromkeys(REPORTED, 0) | {"numRowsTotal": 7, "memoryUsedBytes": 70}, {}
)
PROGRESS = Progress(
    3, 1.5, 10, {"entered": {"first_event_us": 0, "last_event_us": 1_000_000}}, (OPERATOR,)
)


def batch(last: datetime | None = HOUR[2], *, accepted: int = 1, **known: object) -> AuditedBatch:
    usual: dict[str, object] = {
        "progress": PROGRESS, "seconds": 1.5, "written": Written(1, 8), "operators": [],
        "grouped": None,
    }  # fmt: skip
    usual |= {"account": Account(accepted=accepted), "event_times": (HOUR[0], last)}
    return AuditedBatch(
        **{"batch": Batch(3, Positions({0: 0}), Positions({0: 10}), 2000, 1000)} | usual | known
    )  # type: ignore[arg-type]


def test_its_row_has_every_column_of_ops_batches_but_those_that_name_it():
    where = {"pipeline", "generation", "batch_id", "run_id"}
    assert batch().row(BEFORE).keys() | where == set(SCHEMAS["batches"].names)


def test_the_cursor_moves_past_it_and_what_the_checks_have_passed_stays():
    assert batch().cursor_after(BEFORE) == BEFORE.model_copy(
        update={
            "audited": 3, "state": StateUse(rows=7, open=7, bytes=70), "last_event_time": HOUR[2],
            "still_batches": 0, "timers_waiting": 0,
        }
    )  # fmt: skip


def test_what_a_batch_does_not_tell_stays_as_it_was():
    lost = batch(None, accepted=0, progress=None, written=None, operators=None)
    assert lost.cursor_after(BEFORE) == BEFORE.model_copy(update={"audited": 3})
    assert (lost.row(BEFORE)["source"], lost.row(BEFORE)["state_rows"]) == ("reread", 9)


@pytest.mark.parametrize(
    ("last", "accepted", "still"),
    [(HOUR[2], 1, 0), (HOUR[1], 1, 4), (HOUR[0], 1, 4), (HOUR[0], 0, 3)],
)
def test_a_batch_that_takes_records_in_and_no_newer_time_stands_still(last, accepted, still):
    after = batch(last, accepted=accepted).cursor_after(BEFORE)
    assert (after.still_batches, after.last_event_time) == (still, max(last, HOUR[1]))


def test_event_times_are_those_that_spark_observed_else_those_that_were_read_again():
    epoch, second = datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert event_times(PROGRESS, None) == (epoch, second)
    assert event_times(None, RecordCounts(first_event_us=0, last_event_us=1_000_000)) == (
        epoch,
        second,
    )
    assert event_times(None, None) == event_times(Progress(3, 1.0, 0, {}, ()), None) == (None, None)
