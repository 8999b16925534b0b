"""What the planner of repairs refuses, in words with the value and the way out, over checkpoints,
Delta tables and ops tables as drains leave them, and a topic that is said: without Spark and
without a broker.
"""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.admin.rebuild.beside import begin as begin_beside
from spark_jobs.errors import (
    AccountBehind,
    RangeInvalid,
    RangeOpen,
    RecordsUnreachable,
    SluiceError,
    TopicRemade,
    VersionNotLive,
)
from spark_jobs.messages.kind import STAGED_KINDS, AskedKind
from spark_jobs.messages.request import Request
from spark_jobs.repair import planner
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.planner import plan_repair
from spark_jobs.settings.installation import Settings
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline
from tests.harness.refused import fails, has
from tests.harness.sources import says
from tests.unit.checkpoints import plan_batch
from tests.unit.repaired import SPEC, Root, hour, hours
from tests.unit.test_coverage import FINAL, root
from tests.unit.test_switch import NEXT, PLACES, Killed, Rebuilt, kill_at

__all__ = ["root"]  # the fixture: ten hours, each of a record, the first six of them final

READ = 10
"""Offsets that have been drained."""


@pytest.fixture(autouse=True)
def topic(monkeypatch):
    broker_says(monkeypatch)


def broker_says(patch: pytest.MonkeyPatch, earliest: int = 0, topic_id: str = "topic-1") -> None:
    """What the broker knows of the topic from now on."""
    said = SourceState(topic_id, Positions({0: earliest}), Positions({0: READ}))
    says(patch, said)


def asked(kind: AskedKind, first: int, last: int | None = None, **more: Any) -> Request:
    """One for these hours."""
    span = hours(first, last)
    return Request(kind=kind, start=span.start, end=span.end, who="tester", **more)


def refused(
    settings: Settings,
    request: Request,
    error: type[SluiceError],
    reason: str,
    /,
    spec: Pipeline = SPEC,
    **told: object,
) -> None:
    """Hold that the plan raises this error for this reason, and that nothing is staged."""
    with fails(error, reason, **told):
        plan_repair(spec, settings, request)
    assert not (Path(settings.root) / "staging").exists()


def planned(root: Root, request: Request) -> RepairPlan:
    return plan_repair(SPEC, root.settings, request)


NEVER = "nothing_committed"


def test_of_a_pipeline_that_never_ran_no_row_is_computed_again(tmp_path):
    settings = Settings(str(tmp_path), "broker:9092", tmp_path, "local[1]", "1g")
    for kind in STAGED_KINDS:
        refused(settings, asked(kind, 2), RangeOpen, NEVER)


def test_nor_while_its_first_batch_is_begun_and_not_committed(tmp_path):
    made = Root(tmp_path)
    refused(made.settings, asked("backfill", 2), RangeOpen, NEVER)
    plan_batch(made.folder, 0, {0: 1}, topic="sales")
    refused(made.settings, asked("backfill", 2), RangeOpen, NEVER)


def test_without_a_watermark_no_row_is_final(tmp_path):
    made = Root(tmp_path)
    made.drain(0, 1)
    refused(made.settings, asked("backfill", 0), RangeOpen, "no_watermark")


def test_a_range_that_drains_still_write_is_refused_with_the_time_up_to_which_rows_are_final(root):
    final = {"until": f"{hour(FINAL - 1):%F %H:%M:%S} UTC", "batch": 9}
    for kind in ("backfill", "verify"):
        for first in (FINAL - 1, FINAL):
            refused(root.settings, asked(kind, first, FINAL), RangeOpen, "still_written", **final)
        assert planned(root, asked(kind, FINAL - 1)).until == hour(FINAL - 1)


def test_while_a_batch_has_no_account_nobody_knows_what_was_late_and_the_next_drain_mends_it(root):
    root.moved(audited=8)
    refused(root.settings, asked("backfill", 2), AccountBehind, "not_accounted", batch=9)
    root.moved(audited=9)
    assert planned(root, asked("backfill", 2)).batch == 9


def test_so_it_is_while_a_batch_is_begun_and_not_committed(root):
    plan_batch(root.folder, 10, {0: READ}, topic="sales")
    refused(root.settings, asked("backfill", 2), AccountBehind, "not_accounted", batch=10)


def test_so_it_is_where_a_drain_writes_its_next_batch_while_the_plan_looks(root, monkeypatch):
    looked = planner.closed_by

    def then_drains(*given):
        found = looked(*given)
        root.commit(10)
        return found

    monkeypatch.setattr(planner, "closed_by", then_drains)
    refused(root.settings, asked("backfill", 2), AccountBehind, "not_accounted", batch=10)


def test_more_records_than_the_request_allows_are_refused_with_both_numbers(root):
    # The window's hour, and copies within the watermark delay, two hours, on either side.
    both = {"offsets": 5, "most_records": 4}
    wanted = asked("backfill", 2, most_records=4)
    refused(root.settings, wanted, RangeInvalid, "too_many_records", **both)
    assert planned(root, asked("backfill", 2, most_records=5)).offsets == 5


def test_the_records_of_a_topic_that_was_made_anew_are_no_repair_of_the_old_ones(root, monkeypatch):
    broker_says(monkeypatch, topic_id="topic-2")
    ids = {"topic": "sales", "made": "topic-1", "found": "topic-2"}
    for kind in STAGED_KINDS:
        refused(root.settings, asked(kind, 2), TopicRemade, "remade_since_checkpoint", **ids)


def test_records_that_kafka_has_no_longer_are_counted_and_the_rest_is_named(root, monkeypatch):
    broker_says(monkeypatch, earliest=3)
    lost = {"count": 3, "needed": 5, "places": has("partition 0: 3 (0 to 2)")}
    later = has("2026-03-01 02:20:00")
    wanted = asked("backfill", 2)
    refused(root.settings, wanted, RecordsUnreachable, "gone_from_kafka", later=later, **lost)
    assert planned(root, asked("backfill", 5)).parts == {0: ((3, 8),)}


def test_a_rebuild_that_is_not_switched_yet_stops_no_repair(root):
    begin_beside(root.paths, NEXT, "topic-1", "tester")
    assert planned(root, asked("backfill", 2)).spans == (hours(2),)


@pytest.mark.parametrize("place", [0, PLACES // 2, PLACES - 1])
def test_behind_a_switch_that_was_killed_the_new_table_is_asked_also_before_it_is_completed(
    tmp_path, monkeypatch, place
):
    rebuilt = Rebuilt(tmp_path)
    with monkeypatch.context() as active:
        kill_at(active, place)
        with pytest.raises(Killed):
            rebuilt.switch()
    settings, request = rebuilt.live.settings, asked("backfill", 2)
    live = has("state version 2, in ")
    for _ in range(2):
        refused(settings, request, VersionNotLive, "switched_meanwhile", live=live)
        # That it goes on to the next question; these batches have no watermark.
        refused(settings, request, RangeOpen, "no_watermark", spec=NEXT)
        rebuilt.complete(NEXT)
