"""The page of late and quarantined records, over Kafka timestamps of any year."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.ops.json_of_tables import OTHERS
from spark_jobs.ops.rejected import MOST_DAYS, Only, rejected

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


HOSTILE = "no '; DROP \u202e% _ \n\x1b[31m " + "x" * 500


@pytest.mark.parametrize(
    ("table", "only", "offsets"),
    [
        ("late", Only(), {0, 1, 2, 3}),
        ("late", Only(run_id="a"), {0, 2}),
        ("late", Only(run_id="a' OR 'a'='a"), set()),
        ("late", Only(kind="deduplicate"), {0, 1}),
        ("late", Only(run_id="b", reason="aggregate"), {3}),
        ("quarantine", Only(run_id="b", kind="malformed"), {1}),
        ("quarantine", Only(kind="premature"), {2, 3}),
        ("quarantine", Only(reason=f"malformed: {HOSTILE}"[:300]), {0, 1}),
        ("quarantine", Only(reason="malformed: no"), set()),
    ],
)
def test_only_those_of_a_run_a_kind_or_a_reason_are_counted_and_shown(
    tmp_path, table, only, offsets
):
    why = {
        "late": lambda n: {"step": "aggregate" if n > 1 else "deduplicate"},
        "quarantine": lambda n: {"kind": "premature" if n > 1 else "malformed", "reason": HOSTILE},
    }[table]
    rows = [
        {"pipeline": "sales", "generation": "g", "batch_id": 1, "run_id": "ab"[n % 2]}
        | {"partition": 0, "offset": n, "kafka_timestamp": NOW, "value": b"x"}
        | why(n)
        for n in range(4)
    ]
    ops_tables.append(UPath(tmp_path), table, rows)
    found = rejected(UPath(tmp_path), "sales", table, 10, 0, only)
    assert {line.offset for line in found.records} == offsets
    assert sum(day.records for day in found.days) == len(offsets)
    paged = rejected(UPath(tmp_path), "sales", table, 1, 1, only)
    assert paged.more == (len(offsets) > 2)


def test_reasons_beyond_those_that_are_told_one_by_one_are_counted_all_the_same(tmp_path):
    root = UPath(tmp_path)
    rows = [
        {"pipeline": "p", "generation": "g", "batch_id": 1, "topic": "t", "run_id": "r",
         "partition": 0, "offset": n, "kind": "malformed", "reason": f"'{n}'",
         "kafka_timestamp": datetime(2026, 3, 1 + n // MOST_DAYS, tzinfo=UTC)}
        for n in range(MOST_DAYS + 7)
    ]  # fmt: skip
    ops_tables.append(root, "quarantine", rows)
    found = rejected(root, "p", "quarantine", 1, 0)
    by_day = Counter[str]()
    for each in found.days:
        by_day[each.day] += each.records
    assert by_day == {"2026-03-01": MOST_DAYS, "2026-03-02": 7}
    assert found.days[-1].reason == OTHERS
