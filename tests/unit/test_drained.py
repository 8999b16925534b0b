"""What a run that ended early says is left, from offsets that are said."""

import pytest

from spark_jobs.runs.run_outcome import waits
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions

TOPIC = SourceState("topic-1", Positions({0: 0, 1: 0, 2: 40}), Positions({0: 10, 1: 20, 2: 45}))


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ({0: 10, 1: 16, 2: 45}, 4),
        ({0: 13, 1: 16, 2: 45}, 4),
        ({0: 10, 1: 20}, 5),
        ({0: 10, 1: 20, 2: 45, 3: 7}, 0),
        ({}, 35),
    ],
    ids=[
        "of one partition",
        "another was read past the end that it had",
        "no batch has read one, whose first records retention has removed",
        "one was added since",
        "before the first batch",
    ],
)
def test_what_waits_is_what_is_left_of_each_partition(end, left):
    assert sum(waits(TOPIC, Positions(end)).values()) == left
