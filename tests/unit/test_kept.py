"""What was kept of a batch while it ran: all that is to be kept, or nothing."""

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest

from spark_jobs.checkpoint import Batch
from spark_jobs.stages.kept import collected
from spark_jobs.stages.progress import Progress
from spark_jobs.stages.raw_filter import CapturePolicy

KEEPING = CapturePolicy(1000, 1)
BATCH = Batch(3, {0: 0}, {0: 10}, 2000, 1000)


def told(fate: str, offset: int = 0, **more: Any) -> dict[str, Any]:
    raw = {"key": None, "value": b64encode(b"\xff{").decode()}
    return {"partition": 0, "offset": offset, "kafka_us": 1_500_000, "event_us": 500_000, "fate": fate} | raw | more


def progress(bad: list[Any], late: list[Any], dropped: int = 0, others: int = 0, **counts: int) -> Progress:
    fates = {"malformed": 0, "premature": 0, "kept": bad} | counts
    entered = {"rows": 8, "late": len(late) + others, "kept": late}
    return Progress(3, 1.0, 10, {"fate": fates, "entered": entered}, ({"numRowsDroppedByWatermark": dropped},))


def test_bytes_and_times_come_back_as_they_were():
    malformed = told("malformed", 4, event_us=None, malformed="not JSON")
    found = collected(BATCH, progress([malformed], [told("late", 5)], dropped=1, malformed=1), KEEPING)
    at = {"partition": 0, "kafka_timestamp": datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC), "key": None, "value": b"\xff{"}
    assert found == [
        at | {"offset": 4, "event_time": None, "fate": "malformed", "malformed": "not JSON"},
        at | {"offset": 5, "event_time": datetime(1970, 1, 1, 0, 0, 0, 500_000, UTC), "fate": "late", "malformed": None},
    ]


def test_a_batch_without_rows_observed_nothing_and_has_nothing_to_keep():
    assert collected(BATCH, Progress(3, 1.0, 0, {}, ()), KEEPING) == []


@pytest.mark.parametrize("more", [{"malformed": 2}, {"malformed": 1, "premature": 1}, {"malformed": 1, "others": 1}])
def test_where_more_were_counted_than_kept_it_says_nothing(more):
    assert collected(BATCH, progress([told("malformed")], [told("late")], dropped=1, **more), KEEPING) is None


def test_late_by_another_watermark_than_the_one_the_query_began_with_are_not_known():
    later = BATCH._replace(late_before_ms=1001)
    assert collected(later, progress([told("malformed")], [], dropped=1, malformed=1), KEEPING) is None


def test_where_spark_dropped_none_they_need_not_be():
    later = BATCH._replace(late_before_ms=1001)
    found = collected(later, progress([told("malformed")], [told("late")], malformed=1), KEEPING)
    assert [row["fate"] for row in found or ()] == ["malformed"]
