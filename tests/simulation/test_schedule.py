"""The chooser that lets an actor outsleep its lease at any of its writes."""

from collections.abc import Callable

import pytest

from tests.simulation.places import arrived
from tests.simulation.schedule import Actor, Outslept, play

WRITES = 3


@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_the_first_is_tried_behind_the_others_whichever_of_its_writes_it_sleeps_at(at):
    done: list[str] = []

    def writes(name: str) -> Callable[[], None]:
        def act() -> None:
            for number in range(1, WRITES + 1):
                arrived(f"put {number}")
                done.append(f"{name}{number}")

        return act

    actors = [Actor(name, writes(name)) for name in "abc"]
    told = play(actors, Outslept(0, 0, at), lambda: done.append("a minute"))
    [a, b, c] = ([f"{name}{number}" for number in range(1, WRITES + 1)] for name in "abc")
    assert done == [*a[: at - 1], "a minute", *b, *c, *a[at - 1 :]]
    assert told == [f"a sleeps at: put {at} #1"]
