"""Rotations: what becomes known of an aircraft depends on its departures and the watermark, never
on batches.
"""

from datetime import timedelta
from itertools import pairwise

from hypothesis import example, given, strategies as st

from spark_jobs.pipelines.aircraft_rotations.logic import UNSEEN_AFTER, Departure, Rotation, advance

HOUR = timedelta(hours=1) // timedelta(milliseconds=1)
UNSEEN = UNSEEN_AFTER // timedelta(milliseconds=1)
Batch = tuple[list[Departure], int]
"""The departures that arrive in a batch, and the watermark that they are judged by."""


def departure(hour: float, name: str = "") -> Departure:
    return Departure(int(hour * HOUR), f"{hour:g}{name}", "JFK", "LAX")


def fed(batches: list[Batch]) -> tuple[Departure | None, list[Departure], list[Rotation]]:
    """The state after all batches, and all that became known, in order."""
    out: Departure | None = None
    waiting: list[Departure] = []
    known: list[Rotation] = []
    for arrived, watermark_ms in batches:
        out, waiting, more = advance(out, [*waiting, *arrived], watermark_ms)
        known += more
    return out, waiting, known


def oracle(departures: list[Departure], watermark_ms: int) -> list[Rotation]:
    """What is known of these departures at a watermark: each with its successor, if that came in
    time.
    """
    due = sorted(departure for departure in departures if departure.at_ms <= watermark_ms)
    known = [
        Rotation(one, other, other.at_ms)
        if other.at_ms - one.at_ms <= UNSEEN
        else Rotation(one, None, one.at_ms + UNSEEN)
        for one, other in pairwise(due)
    ]
    last = due[-1:]
    return known + [
        Rotation(one, None, one.at_ms + UNSEEN)
        for one in last
        if one.at_ms + UNSEEN <= watermark_ms
    ]


@st.composite
def batches(draw: st.DrawFn) -> list[Batch]:
    """Watermarks that never go back, and departures that arrive in any batch before which the
    watermark had not passed them.
    """
    watermarks = sorted(draw(st.lists(st.integers(0, 200), min_size=1, max_size=6)))
    arrived: list[Batch] = [([], hour * HOUR) for hour in watermarks]
    for number, hour in enumerate(draw(st.lists(st.integers(1, 200), max_size=12))):
        possible = [
            index for index in range(len(arrived)) if index == 0 or watermarks[index - 1] < hour
        ]
        arrived[draw(st.sampled_from(possible))][0].append(departure(hour, f"#{number:02d}"))
    return arrived


@given(batches())
@example([([departure(1)], 49 * HOUR)])
@example([([departure(1), departure(49)], 49 * HOUR)])
@example([([departure(1)], 48 * HOUR), ([departure(49)], 49 * HOUR)])
def test_any_batching_gives_what_is_known_at_the_last_watermark(fed_in):
    everything = [departure for arrived, _ in fed_in for departure in arrived]
    assert fed(fed_in)[2] == oracle(everything, fed_in[-1][1])


@given(batches())
def test_any_batching_leaves_the_same_state_as_all_at_once(fed_in):
    everything = [departure for arrived, _ in fed_in for departure in arrived]
    assert fed(fed_in) == fed([(everything, fed_in[-1][1])])


@given(batches())
def test_every_departure_is_in_the_end_closed_exactly_once(fed_in):
    everything = [departure for arrived, _ in fed_in for departure in arrived]
    out, waiting, known = fed([*fed_in, ([], 1000 * HOUR)])
    assert (out, waiting) == (None, [])
    assert sorted(rotation.out for rotation in known) == sorted(everything)
    assert all(rotation.closed_at_ms - rotation.out.at_ms <= UNSEEN for rotation in known)
