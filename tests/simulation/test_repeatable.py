"""A schedule is a seed: it is the same in another process, whatever this one has done before."""

import os
import re

from tests.harness.ran import python
from tests.harness.turns import alike
from tests.simulation.simulate import played

OBJECTS, DISK = 1003, 1002
"""Seeds, the first of which came once to another end than ever after."""
ALONE = f"from tests.simulation.test_repeatable import trace; print(*trace({OBJECTS}), sep='\\n')"
_OF_A_RUN = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|now-\S+")
"""Numbers that are made anew each time, in names."""


def trace(seed: int) -> list[str]:
    """Who went on from which write in a schedule."""
    outcome = played(seed)
    lines = (str(each) for each in (*outcome.trace, outcome.violation))
    return [_OF_A_RUN.sub("", line) for line in lines]


@alike("what make simulate found")
def test_a_schedule_is_the_same_alone_and_behind_another_one():
    alone = python(ALONE, env=os.environ | {"PYTHONHASHSEED": "1"}).stdout.splitlines()
    assert len(alone) > 100
    played(DISK)
    assert trace(OBJECTS) == alone
