"""The state metrics of a run, from its account, its state and its cursor."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.audit.counting import Grouped
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import CheckpointBroken
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse
from spark_jobs.ops import ops_tables
from spark_jobs.runs.evaluation import OpenGroups, Unjudged, state_metrics, unjudged
from spark_jobs.runs.run_outcome import Drained
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.spec.checks.check import TIMELY, StateMetrics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.own_columns import TRUNCATED
from tests.harness.refused import fails
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import pipeline

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACCOUNT = Account(
    read=100,
    malformed=4,
    premature=1,
    filtered=15,
    late=5,
    accepted=75,
    duplicates=15,
    unaccounted=2,
)
NOTHING = Drained()


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@pytest.fixture
def run(tmp_path) -> Any:
    """One whose last batch ran under the watermark of noon, and left one of half an hour later."""
    folder = begin(tmp_path / "spark")
    plan_batch(folder, 0, {0: 12}, ms(NOON))
    commit_batch(folder, 0, ms(NOON + timedelta(minutes=30)))
    return SimpleNamespace(spec=pipeline(), checkpoint=Checkpoint(folder))


def measured(
    run: Any, drained: Drained, waiting: Unjudged | None = None, **cursor: Any
) -> StateMetrics:
    return state_metrics(run, Cursor(**cursor), waiting or Unjudged(), drained, OpenGroups())


def test_of_a_run_that_read_records(run):
    drained = Drained(state=StateUse(rows=50, bytes=900), watermark=NOON)
    found = measured(
        run,
        drained,
        Unjudged((7,), ACCOUNT, state_rows_before=10),
        last_event_time=NOON + timedelta(hours=2),
        still_batches=3,
        timers_waiting=100,
    )
    assert found.model_dump() == {
        "unaccounted": 2,
        "groups_unaccounted": None,
        "archive_lag": None,
        "rows_read": 100,
        "state_rows": 50,
        "state_bytes": 900,
        "state_growth": 0.5,
        "late_share": 5 / 96,
        "malformed_share": 0.04,
        "premature_share": 0.01,
        "rejected_share": 0.1,
        "nothing_accepted": 0,
        "truncates": 0,
        "duplicate_share": 0.2,
        "watermark_lag_seconds": 7200.0,
        "behind_watermark_seconds": 1800.0,
        "still_batches": 3,
        "timers_per_row": 2.0,
        "remembered_share": None,
        **dict.fromkeys(TIMELY),
    }


@pytest.mark.parametrize(
    ("account", "newest", "nothing"),
    [
        (Account(), None, 0),
        (Account(read=6114, malformed=6114), None, 1),
        (Account(read=1, malformed=1), NOON, 1),
        (Account(read=3, premature=1, late=1, filtered=1), NOON, 1),
        (Account(read=3, malformed=2, accepted=1), NOON, 0),
        (Account(read=3, filtered=3), NOON, 0),
        (Account(read=3, filtered=3), None, 1),
    ],
    ids=[
        "nothing was read", "all malformed", "one malformed", "each for its own reason", "one good",
        "the spec filters, and once there was something", "the spec filters all that ever was",
    ],
)  # fmt: skip
def test_a_run_that_accepts_nothing_of_what_it_read_says_so(run, account, newest, nothing):
    for found in (
        measured(run, NOTHING, Unjudged((7,), account), last_event_time=newest),
        measured(run, Drained(account=account), Unjudged((7,), account), last_event_time=newest),
    ):
        assert found.nothing_accepted == nothing


def test_good_batches_that_wait_do_not_hide_what_a_run_rejects(run):
    good = Account(read=1_000_000, accepted=1_000_000)
    bad = Account(read=6114, malformed=6000, late=114)
    found = measured(run, Drained(account=bad), Unjudged((7, 8), good + bad), last_event_time=NOON)
    assert (found.malformed_share, found.rejected_share) == (6000 / 6114, 1)
    assert found.nothing_accepted == 1
    few = Account(read=3, malformed=1, accepted=2)
    found = measured(run, Drained(account=few), Unjudged((7, 8), good + few), last_event_time=NOON)
    assert found.malformed_share < 0.01, "of three records one is a third, and says nothing"


def test_what_the_account_does_not_know_no_metric_says(run):
    lost = ACCOUNT.model_copy(update={"duplicates": None, "unaccounted": None})
    found = measured(run, NOTHING, Unjudged((7,), lost))
    assert (found.unaccounted, found.duplicate_share) == (None, None)


def test_of_a_run_that_read_none(run):
    found = measured(run, NOTHING)
    assert (found.state_growth, found.late_share, found.malformed_share, found.duplicate_share) == (
        0,
        0,
        0,
        0,
    )
    assert (found.watermark_lag_seconds, found.timers_per_row) == (None, None)


def test_without_a_batch_or_a_watermark_nothing_can_be_behind(run, tmp_path):
    without = pipeline().model_copy(update={"watermark_delay": None})
    known = SimpleNamespace(spec=without, checkpoint=run.checkpoint)
    assert measured(known, NOTHING).behind_watermark_seconds is None
    new = SimpleNamespace(spec=run.spec, checkpoint=Checkpoint(begin(tmp_path / "new")))
    assert measured(new, NOTHING).behind_watermark_seconds is None


def test_judged_is_what_has_not_passed_whichever_run_or_generation_it_is_of(tmp_path):
    paths = Paths(str(tmp_path), pipeline())
    for generation, batch, bad in [("old", 0, 0), ("old", 1, 5), ("new", 2, 0), ("other", 2, 9)]:
        account = Account(read=10, unaccounted=bad).row()
        row = {"pipeline": paths.table.name, "generation": generation}
        row |= {"batch_id": batch, "state_rows": batch}
        row |= {"groups_in": 3, "groups_out": batch} if generation != "old" else {}
        ops_tables.append(paths.root, "batches", [row | account])
    identity = Identity(generation="new", rewound=("old",), topic_id="t", fingerprint={})
    run: Any = SimpleNamespace(paths=paths, identity=identity)
    found = unjudged(run, Cursor(judged=0, audited=2))
    assert (found.batches, found.account.read, found.account.unaccounted) == ((1, 2), 20, 5)
    assert found.state_rows_before == 0
    assert found.grouped is None, "that of one batch is not known"
    later = unjudged(run, Cursor(judged=1, audited=2))
    assert (later.state_rows_before, later.grouped) == (1, Grouped(3, 2))
    assert unjudged(run, Cursor(judged=2, audited=2)) == Unjudged((), Account(), 2, Grouped(0, 0))
    with fails(CheckpointBroken, "account_absent"):
        unjudged(run, Cursor(judged=0, audited=3))


def test_a_truncate_of_the_source_fails_the_run_until_a_person_has_accepted_it(tmp_path, run):
    """Counted in the quarantine of the batches that have not passed, of Debezium's topics alone."""
    paths = Paths(str(tmp_path), pipeline())
    known = Identity(generation="new", rewound=("old",), topic_id="t", fingerprint={})
    given = [("new", 1, TRUNCATED), ("old", 2, TRUNCATED), ("new", 0, TRUNCATED), ("gone", 1, TRUNCATED), ("new", 1, "not JSON")]  # fmt: skip
    for offset, (generation, batch, reason) in enumerate(given):
        row = {"pipeline": paths.pipeline, "generation": generation, "batch_id": batch, "kind": "malformed", "reason": reason}  # fmt: skip
        ops_tables.append(paths.root, "quarantine", [row | {"partition": 0, "offset": offset}])
    topic = run.spec.topic.model_copy(update={"envelope": "debezium"})
    changes = SimpleNamespace(
        spec=run.spec.model_copy(update={"topic": topic}),
        paths=paths,
        identity=known,
        checkpoint=run.checkpoint,
    )
    waiting = Unjudged(batches=(1, 2), account=ACCOUNT)
    assert measured(changes, NOTHING, waiting).truncates == 2
    assert measured(changes, NOTHING, Unjudged()).truncates == 0
    assert measured(run, NOTHING, waiting).truncates == 0
    [check] = [each for each in state_checks_of(changes.spec) if each.columns == ("truncates",)]
    assert (check.severity, check.kwargs["max_value"]) == ("critical", 0)
    assert not [each for each in state_checks_of(run.spec) if each.columns == ("truncates",)]
