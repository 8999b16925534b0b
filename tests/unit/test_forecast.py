"""When the state reaches its budget: known series, and what holds for all."""

import math
from random import Random

import pytest
from hypothesis import given, strategies as st

from spark_jobs.ops.forecast import FAR, LEAST, Forecast, Point, forecast, trend

HOUR, DAY = 3600.0, 86_400.0
BEGAN = 1_790_000_000.0


def every(hours: float, values) -> list[Point]:
    """Runs at even times, with the state after each."""
    return [Point(BEGAN + place * hours * HOUR, value) for place, value in enumerate(values)]


def noise(count: int, size: float) -> list[float]:
    random = Random(5)
    return [size * random.uniform(-1, 1) for _ in range(count)]


def saw(teeth: int, runs: int, height: float, growth: float = 0) -> list[float]:
    return [
        1000 + growth * tooth + height * run / runs for tooth in range(teeth) for run in range(runs)
    ]


def test_of_a_straight_line_the_day_is_exact():
    points = every(6, [1000 + 250 * run for run in range(40)])
    found = forecast(points, 20_750)
    assert (found.verdict, found.of, found.points) == ("grows", "runs", 40)
    assert found.slope * DAY == pytest.approx(1000)
    assert found.soonest == found.latest == pytest.approx(points[-1].at + 10 * DAY)


def test_noise_on_a_line_makes_a_range_that_has_the_true_day():
    values = [1000 + 250 * run + more for run, more in enumerate(noise(60, 300))]
    points = every(6, values)
    true = BEGAN + (50_000 - 1000) / 250 * 6 * HOUR
    found = forecast(points, 50_000)
    assert found.verdict == "grows"
    assert found.soonest < true < found.latest
    assert found.latest - found.soonest < 20 * DAY


def test_outliers_do_not_turn_the_line():
    values = [1000.0 + 250 * run for run in range(40)]
    for place in (7, 18, 33):
        values[place] += 900
    found = forecast(every(6, values), 20_750)
    assert found.slope * DAY == pytest.approx(1000)
    assert found.verdict == "grows"


@pytest.mark.parametrize("cut", range(12))
def test_a_saw_that_does_not_grow_is_flat_wherever_its_last_tooth_is_cut(cut):
    values = saw(9, 12, 5000)[: 9 * 12 - cut]
    found = forecast(every(2, values), 8000)
    assert (found.verdict, found.of, found.soonest, found.latest) == ("flat", "tops", None, None)


@pytest.mark.parametrize("cut", range(12))
def test_the_tops_of_a_saw_that_grows_reach_the_budget(cut):
    points = every(2, saw(9, 12, 5000, growth=300)[: 9 * 12 - cut])
    found = forecast(points, 12_000)
    assert (found.verdict, found.of) == ("grows", "tops")
    assert found.slope * DAY == pytest.approx(300)  # a tooth is a day
    top = 1000 + 5000 * 11 / 12  # of tooth 0, at run 11
    true = BEGAN + 22 * HOUR + (12_000 - top) / 300 * DAY
    assert found.soonest == found.latest == pytest.approx(true)


def test_three_teeth_are_too_few_whatever_the_line_through_them_says():
    found = forecast(every(2, saw(4, 12, 5000)[:-3]), 8000)
    assert (found.verdict, found.of, found.soonest) == ("few", "tops", None)


def test_a_saw_that_no_longer_falls_is_told_by_its_rise():
    values = saw(8, 10, 1000) + [1000 + 100 * run for run in range(30)]
    found = forecast(every(1, values), 10_000)
    assert (found.verdict, found.of, found.points) == ("grows", "rise", 30)
    assert found.slope * HOUR == pytest.approx(100)


def test_growth_after_one_fall_is_told_once_it_is_longer_than_all_before():
    before, since = [500 * run for run in range(10)], [150 * run for run in range(30)]
    short = forecast(every(1, before + since[:9]), 50_000)
    long = forecast(every(1, before + since), 50_000)
    assert (short.verdict, short.of) == ("few", "tops")
    assert (long.verdict, long.of) == ("grows", "rise")
    assert long.slope * HOUR == pytest.approx(150)


def test_of_a_step_no_day_is_told_by_which_it_must_be_reached():
    found = forecast(every(6, [1000] * 20 + [5000] * 20), 8000)
    assert (found.verdict, found.latest) == ("unclear", None)


def test_a_step_long_ago_is_flat():
    found = forecast(every(6, [1000] * 20 + [5000] * 120), 8000)
    assert found.verdict == "flat"


def test_growth_that_has_stopped_is_not_certain_to_go_on():
    found = forecast(every(6, [100 * run for run in range(40)] + [4000] * 40), 8000)
    assert (found.verdict, found.latest) == ("unclear", None)
    assert found.soonest is not None


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([], "few"),
        ([7], "few"),
        ([7] * (LEAST - 1), "few"),
        ([7] * LEAST, "flat"),
        ([0] * 30, "flat"),
        ([30 - run for run in range(30)], "falls"),
        ([1e6 + more for more in noise(60, 1000)], "flat"),
        ([99, 99, 100], "reached"),
        ([math.inf] * 9, "reached"),
    ],
    ids=["empty", "one", "four", "five", "zero", "falling", "noise", "there", "no number"],
)
def test_where_there_is_no_day_it_is_said_why(values, verdict):
    found = forecast(every(6, values), 100 if max(values, default=0) < 1000 else 2e6)
    assert (found.verdict, found.soonest, found.latest) == (verdict, None, None)


def test_without_a_budget_the_growth_is_told_all_the_same():
    found = forecast(every(24, range(0, 100, 10)), None)
    assert (found.verdict, found.soonest, found.latest) == ("grows", None, None)
    assert found.slope * DAY == pytest.approx(10)


def test_runs_of_one_time_have_no_slope():
    assert trend([Point(BEGAN, value) for value in range(9)]) is None
    assert forecast([Point(BEGAN, value) for value in range(9)], 100).verdict == "few"


VALUES = st.lists(st.integers(0, 10**9), min_size=1, max_size=40)
GAPS = st.lists(st.integers(1, 10**6), min_size=40, max_size=40)


def at_gaps(values, gaps) -> list[Point]:
    at, points = BEGAN, []
    for value, gap in zip(values, gaps, strict=False):
        points.append(Point(at, float(value)))
        at += gap
    return points


@given(VALUES, GAPS, st.integers(1, 2 * 10**9))
def test_no_forecast_is_in_the_past_or_turned_round(values, gaps, budget):
    points = at_gaps(sorted(values), gaps)
    found = forecast(points, float(budget))
    times = [each for each in (found.soonest, found.latest) if each is not None]
    assert times == sorted(times)
    assert all(points[-1].at <= each <= points[-1].at + FAR * 1.001 for each in times)
    assert found.verdict != "falls"
    assert found.latest is None or found.verdict == "grows"


@given(VALUES, GAPS, st.integers(1, 2 * 10**9), st.integers(-40, 40))
def test_the_unit_does_not_count(values, gaps, budget, power):
    """Of powers of two, by which floats are scaled exactly."""
    by = 2.0**power
    points = at_gaps(values, gaps)
    found = forecast(points, float(budget))
    scaled = forecast([Point(at, value * by) for at, value in points], budget * by)
    assert scaled == found._replace(slope=found.slope * by)


@given(VALUES, GAPS, st.integers(1, 2 * 10**9))
def test_what_falls_is_never_said_to_grow(values, gaps, budget):
    found = forecast(at_gaps(sorted(values, reverse=True), gaps), float(budget))
    assert found.verdict != "grows"
    assert isinstance(found, Forecast)
