"""A process that slept for longer than its lease comes late, and writes nothing any more: whatever
the next holder has written stays.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from spark_jobs.admin import care, maintain
from spark_jobs.admin.rebuild.beside import begin
from spark_jobs.errors import LeaseLost, TableContended
from spark_jobs.journal.runner import leased
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.storage import failpoint
from spark_jobs.table.delta import door
from tests.simulation import bucket
from tests.simulation.clock import Clock
from tests.simulation.model import Key
from tests.simulation.places import FOLDER, ROOTS, arrived, watched
from tests.simulation.schedule import Actor, At, ByName, play
from tests.simulation.world import FIRST, World

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
    begin(world.paths, world.spec_of(world.spec.state.version + 1), "topic-1", "ben")


def staged(world: World, repair: str = "r1", offset: int = 1) -> None:
    plan = world.plan(repair, Key(offset, "b"))
    assert plan is not None
    world.stage(plan, [])


def swapped(world: World) -> None:
    staged(world)
    world.swap("r1")


def swaps(world: World) -> None:
    world.swap("r1")


def undoes(world: World) -> None:
    world.drain()
    world.undo("r1")
    world.drain()


def rewinds_behind(world: World) -> None:
    world.drain()
    world.rewind(FIRST)
    world.drain()


def swaps_another(world: World) -> None:
    world.drain()
    staged(world, "r2")
    world.swap("r2")


def only_holds(world: World) -> None:
    with leased(world.paths, "prompt"):
        pass


def swaps_and_dies(world: World) -> None:
    world.drain()
    staged(world, offset=0)
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
    "a rewind before its end": Late(rewound, "journal.json", 10, swaps_and_dies),
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


def told(world: World) -> tuple[object, ...]:
    """The rows, and what ops.repairs and ops.merged say."""
    root = world.paths.root
    merged = 'SELECT repair_id, source, "offset" FROM merged ORDER BY 1, 2, 3'
    return (
        world.rows(),
        {row["repair_id"]: row["state"] for row in repairs.stored(root, world.spec.name)},
        ops_tables.query(root, "merged", merged).to_pylist(),
    )


def sleeps(
    world: World,
    command: Callable[[World], object],
    at: tuple[str, int],
    meanwhile: Callable[[World], object],
) -> BaseException | None:
    """How the command ends that sleeps before this write beyond its lease, while another has it."""
    clock = Clock()
    with clock.told():
        late = Actor("late", lambda: command(world) and None)
        prompt = Actor("prompt", lambda: meanwhile(world) and None)
        hit = play(
            [late, prompt],
            ByName(At("sleeps", *at)),
            lambda: clock.passes(world.folder / "checkpoints"),
        )
        clock.passes(world.folder / "checkpoints")
    assert prompt.error is None
    assert len(hit) == 1
    assert at[0] in hit[0]
    return late.error


def opening(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the opening of a table by this function be a place."""
    opened = getattr(door, name)

    def opens(*args: Any, **more: Any) -> Any:
        arrived("opens the table")
        return opened(*args, **more)

    monkeypatch.setattr(door, name, opens)


@pytest.mark.parametrize("who", LATE)
def test_who_comes_late_writes_no_note(world, who):
    case, left = LATE[who], list[dict[str, str]]()

    def meanwhile(_: World) -> None:
        case.meanwhile(world)
        left.append(notes(world))

    assert isinstance(sleeps(world, case.command, (case.place, case.times), meanwhile), LeaseLost)
    assert notes(world) == left[0]
    world.drain()


@pytest.mark.parametrize("place", ["opens the table", "delta restore"])
@pytest.mark.parametrize("command", [rewound, unrestored], ids=["a rewind", "doctor"])
def test_who_comes_late_restores_no_table_behind_batches(world, command, place, monkeypatch):
    before = list[int]()

    def meanwhile(_: World) -> None:
        world.drain()
        world.drain()
        before.extend(sorted(key.offset for key in world.rows()))

    opening(monkeypatch, "briefly")
    if command is unrestored:
        world.drain()
        world.restored(3)
    error = sleeps(world, command, (place, 1), meanwhile)
    assert isinstance(error, LeaseLost | TableContended)
    assert sorted(key.offset for key in world.rows()) == before


@pytest.mark.parametrize("place", ["opens the table", "delta write_deltalake"])
@pytest.mark.parametrize("meanwhile", [World.drain, swaps_another, only_holds])
def test_who_comes_late_swaps_and_undoes_no_rows(world, meanwhile, place, monkeypatch):
    before = list[object]()

    def noted(_: World) -> None:
        meanwhile(world)
        before.append(told(world))

    staged(world)
    opening(monkeypatch, "confirmed")
    assert isinstance(sleeps(world, swaps, (place, 1), noted), LeaseLost)
    assert [told(world)] == before
    if meanwhile is not swaps_another:
        world.swap("r1")
        before.clear()
        error = sleeps(world, lambda _: world.undo("r1"), (place, 1), noted)
        assert isinstance(error, LeaseLost)
        assert [told(world)] == before


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("first", [swaps, undoes])
@pytest.mark.parametrize("meanwhile", [undoes, rewinds_behind])
def test_who_comes_late_says_nothing_of_a_repair_that_another_has_taken_back(
    world, first, meanwhile, times
):
    before = list[object]()

    def noted(_: World) -> None:
        meanwhile(world)
        before.append(told(world))

    if first is swaps:
        staged(world)
    else:
        swapped(world)
    command = swaps if first is swaps else lambda _: world.undo("r1")
    error = sleeps(world, command, ("delta write_deltalake", times), noted)
    assert isinstance(error, LeaseLost)
    assert [told(world)] == before


def test_who_comes_late_accounts_for_no_batch_that_a_rewind_took_back(world):
    batches = "SELECT generation, batch_id FROM batches ORDER BY 1, 2"
    before = list[object]()

    def meanwhile(_: World) -> None:
        rewound(world)
        before.append(ops_tables.query(world.paths.root, "batches", batches).to_pylist())

    error = sleeps(world, World.drain, ("delta write_deltalake", 2), meanwhile)
    assert isinstance(error, LeaseLost)
    assert [ops_tables.query(world.paths.root, "batches", batches).to_pylist()] == before


def test_who_comes_late_removes_no_place_that_lives_again(world, monkeypatch):
    monkeypatch.setattr(care, "GRACE", timedelta(0))

    def back_again(_: World) -> None:
        world.back()
        world.drain()

    def slow(*known: Any) -> None:
        arrived("removes a place")
        care.remove_place(*known)

    monkeypatch.setattr(maintain, "remove_place", slow)
    world.rebuild([])
    sleeps(world, World.maintain, ("removes a place", 1), back_again)
    assert world.paths.identity.exists()
    world.drain()


def test_a_rewind_that_slept_before_its_note_is_not_completed_by_others(world):
    sleeps(world, rewound, ("journal.json", 1), World.drain)
    world.drain()
    assert {key.offset for key in world.rows()} == {*range(FIRST + 3)}


@pytest.mark.parametrize("batch", [FIRST, FIRST - 1])
@pytest.mark.parametrize("place", ["change.begun", "change.stepped"])
def test_a_batch_that_comes_into_a_half_done_rewind_is_not_there_twice(world, place, batch):
    """The table is at the batch's version already, or it is not."""

    def rewinds_and_dies(_: World) -> None:
        failpoint.ACTIVE[place] = "raise"
        with pytest.raises(failpoint.Failure):
            world.rewind(batch)
        failpoint.ACTIVE.clear()

    sleeps(world, World.drain, ("delta write_deltalake", 1), rewinds_and_dies)
    for _ in range(2):
        world.drain()
    assert {key.offset for key in world.rows()} == {*range(batch + 3)}
