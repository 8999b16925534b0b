"""The benchmark's several inputs: what its rivals must treat alike, and which days a correction has."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from bench import joined
from bench.aircraft import tail
from bench.corrected import CORRECTED, DAYS, EVERY, HAVING, year
from local.flights import flight_events_many

DELAY = timedelta(hours=2)


def test_of_two_topics_no_delivery_has_a_record_that_is_late_by_both():
    topics = joined.topics(Path("nowhere"), "no.broker:9", (5000, 3, 400))
    cut = [
        [sorted(r.event.event_time for r in part if r.event) for part in t.waiting] for t in topics
    ]
    left, right = cut
    assert len(left) == len(right) == 4
    for before, after in pairwise(range(4)):
        watermark = min(max(left[before]), max(right[before])) - DELAY
        assert min(left[after][0], right[after][0]) > watermark
    ids = [{r.event.event_id for part in t.waiting for r in part if r.event} for t in topics]
    assert len(ids[0] & ids[1]) > 2000


def test_each_eighteenth_day_of_a_year_has_the_corrected_keys_and_no_other_one():
    corrected = {tail(key) for key in range(CORRECTED)}
    flights = [*flight_events_many(2 * CORRECTED)]
    having = {event.event_time.date() for event in year(flights) if event.tail_number in corrected}
    assert len(having) == HAVING == -(-DAYS // EVERY)
