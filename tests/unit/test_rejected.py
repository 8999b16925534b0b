"""The page of late and quarantined records, over Kafka timestamps of any year."""

from datetime import UTC, datetime

import pytest
from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.ops.rejected import rejected

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TIMES = {
    "1969-12-31": datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
    "2026-01-01": NOW,
    "2300-01-01": datetime(2300, 1, 1, tzinfo=UTC),
    "9999-12-31": datetime(9999, 12, 31, 23, tzinfo=UTC),
}
"""Day -> a time of it. Those behind 2199 an older Sluice has stored."""
UNDATED = 1_700_000_000_000_000


@pytest.mark.parametrize("table", ["late", "quarantine"])
def test_a_record_of_any_year_is_a_line_and_has_its_day(tmp_path, table):
    own = {"late": {"watermark_missed": NOW, "step": "deduplicate"}}
    rows = [
        {"pipeline": "sales", "generation": "g", "batch_id": 1, "run_id": "r", "partition": 0}
        | {"offset": offset, "kafka_timestamp": at, "kafka_millis": millis, "value": b"x"}
        | own.get(table, {"kind": "malformed", "reason": "not JSON"})
        for offset, (at, millis) in enumerate(
            [*((at, None) for at in TIMES.values()), (None, UNDATED)]
        )
    ]
    ops_tables.append(UPath(tmp_path), table, rows)
    found = rejected(UPath(tmp_path), "sales", table, 10, 0)
    assert [(day.day, day.records) for day in found.days] == [
        *((day, 1) for day in sorted(TIMES, reverse=True)),
        ("", 1),
    ]
    assert [(line.kafka_timestamp, line.kafka_millis) for line in found.records] == [
        *((at, None) for at in sorted(TIMES.values(), reverse=True)),
        (None, UNDATED),
    ]
