"""A process that slept for longer than its lease comes late, and writes no note any more: whatever
the next holder has written stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from spark_jobs import failpoint
from spark_jobs.admin import dead_places, maintain
from spark_jobs.errors import LeaseLost, TableContended
from spark_jobs.rebuild.beside import begin
from spark_jobs.repair.exchange import commit
from spark_jobs.storage import delta
from tests.simulation import bucket
from tests.simulation.clock import Clock
from tests.simulation.model import Key
from tests.simulation.places import FOLDER, ROOTS, arrived, watched
from tests.simulation.schedule import Actor, At, ByName, play
from tests.simulation.world import FIRST, World, spec_of

NOTES = ("cursor.json", "identity.json", "live.json", "rebuild.json", "journal.json")


class Late(NamedTuple):
    """Who sleeps, before which write, and what others do meanwhile."""

    command: Callable[[World], object]
    place: str
    times: int
    meanwhile: Callable[[World], object]


def rewound(world: World) -> None:
    world.rewind(FIRST - 2)


def unrestored(world: World) -> None:
    world.doctor()


def switched(world: World) -> None:
    world.rebuild([])


def rebuilds_again(world: World) -> None:
    world.drain()
    begin(world.paths, spec_of(world.spec.state.version + 1), "topic-1", "ben")


def swaps_and_dies(world: World) -> None:
    world.drain()
    plan = world.plan("r1", Key(0, "b"))
    assert plan is not None
    world.stage(plan, [])
    failpoint.ACTIVE["swap.committed"] = "raise"
    with pytest.raises(failpoint.Failure):
        world.swap("r1")
    failpoint.ACTIVE.clear()


LATE = {
    "a drain before its account": Late(World.drain, "cursor.json", 1, World.drain),
    "a drain before its verdict": Late(World.drain, "cursor.json", 2, World.drain),
    "a rewind before its note": Late(rewound, "journal.json", 1, World.drain),
    "a rewind before its cursor": Late(rewound, "update cursor.json", 1, World.drain),
    "a rewind before its generation": Late(
        rewound, "update identity.json", 1, lambda world: (world.drain(), rewound(world))
    ),
    "a rewind before its end": Late(rewound, "journal.json", 12, swaps_and_dies),
    "a reset before it is live": Late(
        World.reset, "live.json", 2, lambda world: (world.drain(), switched(world))
    ),
    "a reset before its end": Late(World.reset, "journal.json", 5, swaps_and_dies),
    "a switch before its rebuild's end": Late(switched, "update rebuild.json", 1, rebuilds_again),
}


@pytest.fixture
def world() -> Iterator[World]:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix=ROOTS, dir=FOLDER))
        stack.enter_context(bucket.in_reach())
        stack.enter_context(watched())
        begun = World.begun(Path(folder) / "root", frozenset(), remote=True)
        stack.enter_context(begun.with_topic())
        yield begun


def notes(world: World) -> dict[str, str]:
    above = world.folder / "checkpoints"
    found = (each for name in NOTES for each in above.rglob(name))
    return {str(each.relative_to(above)): each.read_text() for each in found}


@pytest.mark.parametrize("who", LATE)
def test_who_comes_late_writes_no_note(world: World, who: str) -> None:
    case, clock, left = LATE[who], Clock(), list[dict[str, str]]()

    def meanwhile() -> None:
        case.meanwhile(world)
        left.append(notes(world))

    with clock.told():
        late = Actor("late", lambda: case.command(world) and None)
        prompt = Actor("prompt", meanwhile)
        told = play(
            [late, prompt],
            ByName(At("sleeps", case.place, case.times)),
            lambda: clock.passes(world.folder / "checkpoints"),
        )
        assert prompt.error is None
        assert len(told) == 1
        assert case.place in told[0]
        assert isinstance(late.error, LeaseLost)
        assert notes(world) == left[0]
        clock.passes(world.folder / "checkpoints")
        world.drain()


@pytest.mark.parametrize("place", ["opens the table", "delta restore"])
@pytest.mark.parametrize("command", [rewound, unrestored], ids=["a rewind", "doctor"])
def test_who_comes_late_restores_no_table_behind_batches(
    world: World, command: Callable[[World], object], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, briefly, before = Clock(), delta.briefly, list[int]()

    def opens(path: Any) -> Any:
        arrived("opens the table")
        return briefly(path)

    def meanwhile() -> None:
        world.drain()
        world.drain()
        before.extend(sorted(key.offset for key in world.rows()))

    monkeypatch.setattr(delta, "briefly", opens)
    with clock.told():
        if command is unrestored:
            world.drain()
            world.restored(3)
        late, prompt = Actor("late", lambda: command(world) and None), Actor("prompt", meanwhile)
        told = play(
            [late, prompt],
            ByName(At("sleeps", place)),
            lambda: clock.passes(world.folder / "checkpoints"),
        )
        assert len(told) == 1
        assert prompt.error is None
        assert isinstance(late.error, LeaseLost | TableContended)
        assert sorted(key.offset for key in world.rows()) == before


def test_who_comes_late_swaps_no_rows_over_those_of_another_swap(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, before = Clock(), list[int]()

    def opens(path: Any) -> Any:
        arrived("opens the table")
        return delta.open_table(path)

    def staged(repair: str) -> None:
        plan = world.plan(repair, Key(1, "b"))
        assert plan is not None
        world.stage(plan, [])

    def meanwhile() -> None:
        world.drain()
        staged("r2")
        world.swap("r2")
        before.append(delta.open_table(world.paths.table).version())

    monkeypatch.setattr(commit, "delta", SimpleNamespace(open_table=opens))
    with clock.told():
        staged("r1")
        late = Actor("late", lambda: world.swap("r1"))
        prompt = Actor("prompt", meanwhile)
        told = play(
            [late, prompt],
            ByName(At("sleeps", "opens the table")),
            lambda: clock.passes(world.folder / "checkpoints"),
        )
        assert len(told) == 1
        assert prompt.error is None
        assert isinstance(late.error, LeaseLost)
        assert [delta.open_table(world.paths.table).version()] == before


def test_who_comes_late_removes_no_place_that_lives_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(dead_places, "GRACE", timedelta(0))

    def back_again() -> None:
        world.back()
        world.drain()

    def slow(*known: Any) -> None:
        arrived("removes a place")
        dead_places.remove_place(*known)

    monkeypatch.setattr(maintain, "remove_place", slow)
    with clock.told():
        world.rebuild([])
        late = Actor("late", world.maintain)
        prompt = Actor("prompt", back_again)
        told = play(
            [late, prompt],
            ByName(At("sleeps", "removes a place")),
            lambda: clock.passes(world.folder / "checkpoints"),
        )
        assert len(told) == 1
        assert prompt.error is None
        assert world.paths.identity.exists()
        clock.passes(world.folder / "checkpoints")
        world.drain()


def test_a_rewind_that_slept_before_its_note_is_not_completed_by_others(world: World) -> None:
    clock = Clock()
    with clock.told():
        late, prompt = Actor("late", lambda: rewound(world)), Actor("prompt", world.drain)
        play(
            [late, prompt],
            ByName(At("sleeps", "journal.json")),
            lambda: clock.passes(world.folder / "checkpoints"),
        )
        clock.passes(world.folder / "checkpoints")
        world.drain()
    assert {key.offset for key in world.rows()} == {*range(FIRST + 3)}
