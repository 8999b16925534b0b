"""A schedule is a seed: it is the same in another process, whatever that has done before."""

import os
import re

from tests.harness.ran import python

PLAY = """
import sys
from tests.simulation.simulate import played
for seed in map(int, sys.argv[1:]):
    outcome = played(seed)
print(*outcome.trace, outcome.violation, sep="\\n")
"""
OBJECTS, DISK = 1003, 1002
"""Seeds, the first of which came once to another end than ever after."""
_OF_A_RUN = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|now-\S+")
"""Numbers that are made anew each time, in names."""


def trace(*seeds: int, hashes: str) -> list[str]:
    """Who went on from which write, in the last of these schedules, in a process of its own."""
    done = python(PLAY, *map(str, seeds), env=os.environ | {"PYTHONHASHSEED": hashes})
    return _OF_A_RUN.sub("", done.stdout).splitlines()


def test_a_schedule_is_the_same_alone_and_behind_another_one():
    alone = trace(OBJECTS, hashes="1")
    assert len(alone) > 100
    assert trace(DISK, OBJECTS, hashes="2") == alone
