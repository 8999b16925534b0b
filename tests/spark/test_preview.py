"""A preview, as the application does it: what a drain makes of a sample, and nothing left."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.draft.sample import Sampled, write
from spark_jobs.messages.job import Preview
from spark_jobs.proof.answer import FILE, SAMPLE, Answer, Rejected
from spark_jobs.proof.preview import preview
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings
from tests.harness.turns import alike
from tests.unit.test_new import CLOCK, NOON

pytestmark = [pytest.mark.usefixtures("spark"), alike("late shares")]


def departure(n, minutes):
    """Of an event, so many minutes past noon."""
    value = {"event_id": f"e{n}", "event_type": "departure", "carrier": "UA", "flight": 1,
             "event_time": (NOON + timedelta(minutes=minutes)).isoformat(),
             "scheduled_time": NOON.isoformat(), "tail_number": "N1", "origin": "EWR",
             "destination": "IAH", "cancelled": False, "distance_miles": 9, "delay_minutes": n}  # fmt: skip
    return json.dumps(value).encode()


def test_a_preview_shows_open_windows_late_shares_and_what_is_malformed_where(tmp_path):
    values = [departure(1, 0), departure(2, 30), departure(3, 25), departure(1, 0), b"no json"]
    sample = [
        Sampled(1, 70 + n, int(CLOCK) + 3_600_000 + n, None, value, [("h", b"\xff")])
        for n, value in enumerate(values)
    ]  # fmt: skip
    write(tmp_path / SAMPLE, sample)
    job = Preview(pipeline="departure_delays", folder=str(tmp_path))
    assert [*preview(job, registry.load(job.pipeline), Settings.from_environment())] == []
    told = Answer.model_validate_json((tmp_path / FILE).read_bytes())
    assert {name: n for name, n in told.counts.items() if n} == {
        "malformed": 1, "accepted": 4, "duplicates": 1,
    }  # fmt: skip
    [row] = (dict(zip(told.columns, each, strict=True)) for each in told.rows)
    assert (row["flights"], row["max_delay_minutes"], told.row_count, told.open_rows) == (
        3,
        3,
        1,
        1,
    )
    [bad] = told.rejected
    assert bad == Rejected(kind="malformed", reason=bad.reason, records=1, partition=1, offset=74)
    assert told.state_rows == 4  # three ids, one group
    assert told.state_bytes > 0
    # In the order of arrival 3 is five minutes behind, and the copy of 1 thirty: at the watermark.
    shares = [told.late[each] for each in ("30 minutes", "1 hour", "2 hours")]
    assert shares == [0.25, 0, 0]


def test_windows_of_this_hour_are_shown_beside_those_that_the_sample_closed(tmp_path):
    now = datetime.now(UTC) - NOON
    minutes = (0, 1, now / timedelta(minutes=1))  # a day or more lies between: the first is closed
    arrived = int(CLOCK + now.total_seconds() * 1000)
    sample = [Sampled(0, n, arrived, None, departure(n, at)) for n, at in enumerate(minutes)]
    write(tmp_path / SAMPLE, sample)
    job = Preview(pipeline="departure_delays", folder=str(tmp_path))
    assert [*preview(job, registry.load(job.pipeline), Settings.from_environment())] == []
    told = Answer.model_validate_json((tmp_path / FILE).read_bytes())
    assert (told.counts["accepted"], told.row_count, told.open_rows) == (3, 2, 1)
