"""A process that slept for longer than its lease comes late, and does nothing any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from spark_jobs.errors import LeaseLost
from tests.simulation import bucket
from tests.simulation.clock import Clock
from tests.simulation.places import watched
from tests.simulation.schedule import Actor, At, play
from tests.simulation.world import FIRST, World


@pytest.fixture
def world() -> Iterator[World]:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(dir=bucket.FOLDER))
        stack.enter_context(bucket.in_reach())
        stack.enter_context(watched())
        yield World.begun(Path(folder) / "root", frozenset(), remote=True)


def test_a_rewind_that_slept_before_its_note_is_not_completed_by_others(world: World) -> None:
    clock, place = Clock(), "create journal.json"
    with clock.told():
        late = Actor("late", lambda: world.rewind(FIRST - 2))
        prompt = Actor("prompt", world.drain)
        told = play(
            [late, prompt], At("sleeps", place), lambda: clock.passes(world.folder / "checkpoints")
        )
        assert told == [f"late sleeps at: {place} #1"]
        assert isinstance(late.error, LeaseLost)
        assert prompt.error is None
        clock.passes(world.folder / "checkpoints")
        world.drain()
    assert {key.batch for key in world.rows()} == {*range(FIRST + 3)}
