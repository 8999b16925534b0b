"""Records that retention took before anybody read them: counted, refused, let go by the spec."""

import time

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from spark_jobs.errors import RecordsGone
from spark_jobs.runs.account.audit import Audit
from spark_jobs.runs.plan import plan
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from spark_jobs.storage import failpoint
from tests.harness.long_form import long_form
from tests.harness.refused import because, has
from tests.harness.turns import alike

taken = alike("records that retention took before they had their account")


def remove_before(made, partition: int, offset: int) -> None:
    """What retention does: these offsets are gone."""
    client = AdminClient({"bootstrap.servers": made.kafka})
    [deleted] = client.delete_records([TopicPartition(made.topic, partition, offset)]).values()
    assert deleted.result().low_watermark == offset


def records_of(made, partition: int) -> list[dict]:
    return [row for row in made.ledger.to_pylist() if row["partition"] == partition]


def killed_before_its_account(made, patch):
    def cut_off(*_):
        raise failpoint.Failure("cut off before the account")

    with patch.context() as cut:
        cut.setattr(Audit, "_account", cut_off)
        assert made.drain("killed").problem is not None


def test_records_that_nobody_read_are_counted_and_going_on_without_them_is_recorded(scene):
    made = scene("flight_events", events=900, deliveries=2, ran="first")
    read = made.ledger.num_rows
    made.deliver()
    ends = {row["partition"]: row["offset"] + 1 for row in made.ledger.to_pylist()[:read]}
    unread = [(row["partition"], row["offset"]) for row in made.ledger.to_pylist()[read:]]
    partition = max(ends, key=lambda p: sum(place[0] == p for place in unread))
    start = min(offset for p, offset in unread if p == partition)
    remove_before(made, partition, start + 40)

    refused = made.drain("refused")
    loss = has(f"partition {partition}: 40 records ({start} to {start + 39})")
    because(refused.problem, RecordsGone, "unread_removed", loss=loss)

    made.change(on_lost_records="skip")
    assert any("40 records" in line for line in plan(made.spec, made.settings).lines)
    report = made.run("skipped")
    assert report.lost == {str(partition): (start, start + 39)}
    assert (report.account.gaps, report.account.removed) == (40, 40)
    assert report.account.read == len(unread) - 40
    after = made.run("after")
    assert (after.lost, after.account.read) == ({}, 0)


@taken
def test_records_that_retention_took_between_a_commit_and_its_account_are_unknown_and_the_run_goes_on(
    scene, monkeypatch
):
    made = scene("flight_events", events=900, deliveries=1)
    made.deliver()
    killed_before_its_account(made, monkeypatch)
    assert made.ops("quarantine") == []
    gone = records_of(made, 1)[:50]
    remove_before(made, 1, gone[-1]["offset"] + 1)
    lines: list[str] = []
    report = made.drain("next", lines.append)
    assert report.status == "succeeded", report.problem
    assert report.account.unknown == 50
    assert report.account.read == made.ledger.num_rows - 50
    assert (report.account.gaps, report.account.unaccounted) == (0, 0)
    assert any("50 records are unknown" in line for line in lines)
    bad = [row for row in made.ledger.to_pylist() if row["kind"] in ("malformed", "premature")]
    places = {(row["partition"], row["offset"]) for row in bad}
    places -= {(row["partition"], row["offset"]) for row in gone}
    assert {(row["partition"], row["offset"]) for row in made.ops("quarantine")} == places
    ids = {row["event_id"] for row in made.table()}
    assert {row["event_id"] for row in gone if row["kind"] == "good"} <= ids
    assert made.run("after").account.unknown == 0


@taken
def test_what_a_cut_off_account_had_kept_of_such_records_stays(scene, monkeypatch):
    made = scene("flight_events", events=900, deliveries=1, partitions=4)
    made.deliver()
    with monkeypatch.context() as cut:
        cut.setitem(failpoint.ACTIVE, "audit", "raise")
        assert made.drain("killed").problem is not None
    kept = {(row["partition"], row["offset"]) for row in made.ops("quarantine")}
    ends = {p: records_of(made, p)[-1]["offset"] + 1 for p in (0, 1)}
    assert any(partition in ends for partition, _ in kept)
    remove_before(made, 0, ends[0])
    remove_before(made, 1, ends[1] // 2)
    report = made.run("next")
    assert report.account.unknown == ends[0] + ends[1] // 2
    again = {(row["partition"], row["offset"]) for row in made.ops("quarantine")}
    assert again == kept
    assert len(made.ops("quarantine")) == len(kept), "none is there twice"


@taken
def test_a_batch_of_which_nothing_is_left_has_an_account_all_the_same(scene, monkeypatch):
    made = scene("flight_events", events=300, deliveries=1)
    made.deliver()
    killed_before_its_account(made, monkeypatch)
    for partition in range(made.partitions):
        remove_before(made, partition, records_of(made, partition)[-1]["offset"] + 1)
    account = made.run("next").account
    assert (account.unknown, account.read) == (made.ledger.num_rows, 0)
    assert account.rows_out == len(made.table()) > 0


@long_form  # the broker's cleaner wakes every 15 seconds
def test_records_that_compaction_took_between_a_commit_and_its_account_are_no_false_alarm(
    scene, monkeypatch
):
    made = scene("flight_events", events=300, deliveries=1)
    admin = AdminClient({"bootstrap.servers": made.kafka})
    eager = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.0",
        "segment.ms": "100",
        "max.compaction.lag.ms": "100",
    }
    admin.create_topics([NewTopic(made.topic, 4, 1, config=eager)])[made.topic].result()
    made.deliver()
    killed_before_its_account(made, monkeypatch)
    before, deadline = readable(made), time.monotonic() + 120
    while readable(made) >= before:  # a later record lets the broker close a segment and compact it
        assert time.monotonic() < deadline
        send(made, 1)
        before += 4
        time.sleep(0.2)
    report = made.run("next")
    recovered = made.ops("batches", "batch_id")[0]
    assert recovered["covered"] == recovered["gaps"] + recovered["unknown"] + recovered["read"]
    assert recovered["unknown"] > 0
    assert report.account.rows_out == len(made.table())


def send(made, records: int) -> None:
    """So many more to each partition: malformed, all with one key. It is no fault here."""
    made.change(state_checks_off=tuple(REJECTIONS))
    for partition in range(made.partitions):
        made.send(*[b"{}"] * records, key=b"same", partition=partition)


def readable(made) -> int:
    """Records that a consumer finds in the topic now."""
    consumer = Consumer({"bootstrap.servers": made.kafka, "group.id": "count"})
    try:
        found = 0
        for partition in range(made.partitions):
            first, end = consumer.get_watermark_offsets(TopicPartition(made.topic, partition))
            consumer.assign([TopicPartition(made.topic, partition, first)])
            at = first
            while at < end:
                message = consumer.poll(5)
                assert message.error() is None
                found, at = found + 1, message.offset() + 1
        return found
    finally:
        consumer.close()
