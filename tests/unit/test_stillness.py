"""When a run has stood still for too long, from looks at times that are said."""

from spark_jobs.runs.watch.stall import Stillness


def looks(stillness: Stillness, *found: tuple[float, str]) -> list[bool]:
    return [stillness.too_long((moved,), at) for at, moved in found]


def test_it_is_too_long_once_nothing_has_moved_for_the_limit():
    steps = [(float(at), "a") for at in range(1, 33)]
    assert looks(Stillness(30, 0), *steps).index(True) == 30, "30 s after the first look"


def test_what_moves_begins_it_anew():
    steps = [(float(at), "a" if at < 20 else "b") for at in range(1, 45)]
    assert not any(looks(Stillness(30, 0), *steps))


def test_time_in_which_nobody_looked_does_not_count():
    """The thread that looks was at work elsewhere, in the audit for example."""
    assert looks(Stillness(30, 0), (1, "a"), (2, "a"), (200, "a"), (201, "a")) == [False] * 4


def test_it_looks_thirty_times_in_the_limit_and_not_more_often_than_each_second():
    assert (Stillness(1800, 0).interval, Stillness(4, 0).interval) == (60, 1)
    assert not Stillness(1800, 0).due(59)
    assert Stillness(1800, 0).due(60)
