"""Records that retention took before anybody read them: counted, refused, and let go only by the
spec's word.
"""

from __future__ import annotations

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from spark_jobs.runs.plan import plan


def test_records_that_nobody_read_are_counted_and_going_on_without_them_is_recorded(scene):
    made = scene("flight_events", events=900, deliveries=2)
    made.deliver()
    made.run("first")
    read = made.ledger.num_rows
    made.deliver()
    ends = {row["partition"]: row["offset"] + 1 for row in made.ledger.to_pylist()[:read]}
    unread = [(row["partition"], row["offset"]) for row in made.ledger.to_pylist()[read:]]
    partition = max(ends, key=lambda p: sum(place[0] == p for place in unread))
    start = min(offset for p, offset in unread if p == partition)
    client = AdminClient({"bootstrap.servers": made.kafka})
    [deleted] = client.delete_records([TopicPartition(made.topic, partition, start + 40)]).values()
    assert deleted.result().low_watermark == start + 40

    refused = made.drain("refused")
    assert refused.problem is not None
    assert refused.problem.code == "RECORDS_GONE"
    assert f"partition {partition}: 40 records ({start} to {start + 39})" in refused.problem.what

    made.change(on_lost_records="skip")
    assert any("40 records" in line for line in plan(made.spec, made.settings).lines)
    report = made.run("skipped")
    assert report.lost == {str(partition): (start, start + 39)}
    assert report.account.gaps == 40
    assert report.account.read == len(unread) - 40
    after = made.run("after")
    assert (after.lost, after.account.read) == ({}, 0)
