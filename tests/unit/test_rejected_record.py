"""Rejected records: captured while their batch ran, all of them or none; and what ops tables have
of them.
"""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.rejected.rejected_record import RejectedRecord
from spark_jobs.runs.account.audited_batch import captured
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.classify import Outcome
from spark_jobs.values.times import at_micros
from tests.unit.specs import topic

POLICY = CapturePolicy(1000, 1, 0)
HEADERS = [{"key": "a", "value": b"\xff"}, {"key": "a", "value": None}]
BATCH = Batch(3, Positions({0: 0}), Positions({0: 10}), 2000, 1000)


def told(fate: str, offset: int = 0, **more: Any) -> dict[str, Any]:
    raw = {"key": None, "value": b64encode(b"\xff{").decode()}
    return (
        {"partition": 0, "offset": offset, "kafka_us": 1_500_000, "event_us": 500_000, "fate": fate}
        | raw
        | more
    )


def progress(
    bad: list[Any], late: list[Any], dropped: int = 0, others: int = 0, **counts: int
) -> Progress:
    fates = {"malformed": 0, "premature": 0, "kept": bad} | counts
    entered = {"rows": 8, "late": len(late) + others, "kept": late}
    deduplicate = OperatorProgress("dedupe", {"numRowsDroppedByWatermark": dropped}, {})
    return Progress(3, 1.0, 10, {"fate": fates, "entered": entered}, (deduplicate,))


def test_bytes_and_times_come_back_as_they_were():
    # Spark's JSON leaves out what is null.
    headers = [{"key": "a", "value": b64encode(b"\xff").decode()}, {"key": "a"}]
    malformed = told("malformed", 4, event_us=None, malformed="not JSON", headers=headers)
    found = captured(
        BATCH, progress([malformed], [told("late", 5)], dropped=1, malformed=1), POLICY
    )
    sent, happened = (
        datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
        datetime(1970, 1, 1, 0, 0, 0, 500_000, UTC),
    )
    assert found == [
        RejectedRecord(
            0, 4, sent, None, None, None, b"\xff{", HEADERS, Outcome.MALFORMED, "not JSON"
        ),
        RejectedRecord(0, 5, sent, None, happened, None, b"\xff{", None, Outcome.LATE, None),
    ]


def test_a_batch_without_rows_observed_nothing_and_has_nothing_to_keep():
    assert captured(BATCH, Progress(3, 1.0, 0, {}, ()), POLICY) == []


@pytest.mark.parametrize(
    "more", [{"malformed": 2}, {"malformed": 1, "premature": 1}, {"malformed": 1, "others": 1}]
)
def test_where_more_were_counted_than_kept_it_says_nothing(more):
    assert (
        captured(BATCH, progress([told("malformed")], [told("late")], dropped=1, **more), POLICY)
        is None
    )


def test_late_by_another_watermark_than_the_one_the_query_began_with_are_not_known():
    later = BATCH._replace(late_before_ms=1001)
    assert (
        captured(later, progress([told("malformed")], [], dropped=1, malformed=1), POLICY) is None
    )


def test_where_spark_dropped_none_they_need_not_be():
    later = BATCH._replace(late_before_ms=1001)
    found = captured(later, progress([told("malformed")], [told("late")], malformed=1), POLICY)
    assert [record.outcome for record in found or ()] == [Outcome.MALFORMED]


SENT = datetime(2026, 1, 1, tzinfo=UTC)
SENT_MS = int(SENT.timestamp() * 1000)
PREMATURE = RejectedRecord(
    0, 7, SENT, None, SENT + timedelta(hours=1), b"key", b"value", HEADERS, Outcome.PREMATURE, None
)


def test_an_ops_table_has_a_record_as_kafka_had_it_and_why_it_was_rejected():
    raw = {
        "topic": "sales",
        "partition": 0,
        "offset": 7,
        "kafka_timestamp": SENT,
        "kafka_millis": None,
        "event_time": SENT + timedelta(hours=1),
        "key": b"key",
        "value": b"value",
        "headers": HEADERS,
        "element": None,
    }
    reason = "event time is 1:00:00 past the Kafka timestamp; at most 0:10:00 is allowed"
    kept = raw | {"kind": "premature", "reason": reason, "planned_at": None, "left_out": None}
    assert PREMATURE.quarantined(Topics([topic()]), BATCH) == kept, "nobody knows when"
    both = PREMATURE._replace(kafka_timestamp=PREMATURE.event_time)
    planned = BATCH._replace(clock_ms=int(SENT.timestamp() * 1000))
    assert both.quarantined(Topics([topic()]), planned)["planned_at"] == SENT
    assert both.quarantined(Topics([topic()]), planned)["reason"] == (
        "event time is 1:00:00 past the moment at which its batch was planned; at most 0:10:00 is "
        "allowed"
    )
    missed = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    late = PREMATURE._replace(outcome=Outcome.LATE)
    assert late.late(Topics([topic()]), BATCH, "deduplicate") == raw | {
        "watermark_missed": missed,
        "step": "deduplicate",
    }


def test_a_kafka_timestamp_that_is_no_time_is_kept_as_the_number_that_it_is():
    """2**63 - 1 is one, and what a producer stamps that takes microseconds for milliseconds."""
    far = [{"kafka_millis": millis, "event_us": None} for millis in (2**63 - 1, SENT_MS * 1000)]
    records = [told("malformed", n, malformed="x") | each for n, each in enumerate(far)]
    for each in records:
        del each["kafka_us"]  # Spark's JSON leaves out what is null
    found = captured(BATCH, progress(records, [], malformed=2), POLICY)
    rows = [record.quarantined(Topics([topic()]), BATCH) for record in found or ()]
    assert [(row["kafka_timestamp"], row["kafka_millis"]) for row in rows] == [
        (None, 2**63 - 1),
        (None, SENT_MS * 1000),
    ]


def test_it_is_then_premature_by_its_batchs_clock():
    undated = PREMATURE._replace(kafka_timestamp=None, kafka_millis=2**63 - 1)
    planned = BATCH._replace(clock_ms=SENT_MS)
    assert undated.quarantined(Topics([topic()]), planned)["reason"] == (
        "event time is 1:00:00 past the moment at which its batch was planned; at most 0:10:00 is "
        "allowed"
    )


def test_a_malformed_record_has_the_decoders_reason():
    malformed = PREMATURE._replace(outcome=Outcome.MALFORMED, event_time=None, malformed="not JSON")
    row = malformed.quarantined(Topics([topic()]), BATCH)
    assert (row["kind"], row["reason"], row["event_time"]) == ("malformed", "not JSON", None)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("quarantine", PREMATURE.quarantined(Topics([topic()]), BATCH)),
        ("late", PREMATURE.late(Topics([topic()]), BATCH, "deduplicate")),
    ],
)
def test_every_column_of_a_rejected_record_is_one_of_its_table(table, row):
    where = {"pipeline", "generation", "batch_id", "run_id"}
    assert row.keys() | where == set(SCHEMAS[table].names)


US = int((SENT + timedelta(hours=1)).timestamp()) * 1_000_000


def test_a_record_that_was_read_again_is_the_same_as_one_that_was_captured():
    row = PREMATURE._asdict() | {"outcome": "premature", "event_time": US}
    assert RejectedRecord.of_row(row) == PREMATURE


@pytest.mark.parametrize(
    ("us", "year"), [(-62135596800000001, 1), (253402300800000000, 9999), (2**63 - 1, 9999)]
)
def test_an_event_time_that_python_has_not_is_the_first_or_the_last_that_it_has(us, year):
    """A Transform may make it of a time of the year 1: an audit that raised would raise for ever."""
    found = at_micros(us)
    assert found.year == year
