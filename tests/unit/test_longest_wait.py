"""The longest wait between two runs of a schedule, against croniter, by which Airflow schedules."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile

import pytest
from croniter import croniter

from spark_jobs.spec.cron import longest_wait

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("* * * * *", 2),
        ("*/7 * * * *", 3),
        ("0 * * * *", 3),
        ("15,45 9-17 * * mon-fri", 400),
        ("30 6 * * *", 40),
        ("0 0 * * sun", 40),
        ("0 0 * * 7", 40),
        ("0 12 1 * *", 1500),
        ("0 0 31 * *", 1500),
        ("0 0 29 2 *", 4000),
        ("0 6 1,15 * mon", 1500),
        ("0 6 */10 * *", 1500),
        ("0 4 * jan,jul *", 1500),
    ],
)
def test_it_is_what_airflow_s_parser_finds(text, days):
    times = croniter(text, BEGIN).all_next(datetime)
    within = [*takewhile(lambda at: at < BEGIN + timedelta(days=days), times)]
    assert longest_wait(text) == max(later - one for one, later in pairwise(within))
