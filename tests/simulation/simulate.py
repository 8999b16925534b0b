"""Simulate: rounds of commands by a seed, one or several at once, killed at writes; then all that
was begun is brought to an end, and what is there is held against the model.

A round has a seed of its own, so that a schedule can be shortened by leaving rounds out.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from spark_jobs.checkpoint import lease
from spark_jobs.contract.errors import SluiceError
from spark_jobs.ops import repairs
from spark_jobs.sink import table
from spark_jobs.storage import delta
from tests.simulation import invariants
from tests.simulation.invariants import Violation
from tests.simulation.model import BAD_SALES, Batch, Delete, Key, Model, Undo
from tests.simulation.places import watched
from tests.simulation.schedule import Actor, BySeed, play
from tests.simulation.world import World
from tests.unit.repaired import SPEC

FIRST = 30
"""Batches that a root has at the beginning: a day and some hours, so that a day is final."""
TRIES = 12
"""Drains at the end, some of which bring bad rows."""
KINDS = (
    *("drain",) * 4,
    *("repair",) * 3,
    *("publish",) * 3,
    "undo",
    "rewind",
    "accept",
    "delete bad",
    "restore",
    "reset",
)


class Round(NamedTuple):
    """What is given at once, and the seed of who goes on and who dies."""

    commands: tuple[tuple[str, int], ...]
    """Kind, and a number from which it takes what it needs."""
    seed: int
    kills: int


class Outcome(NamedTuple):
    """What came of a schedule."""

    lines: tuple[str, ...]
    violation: Violation | None
    places: int
    """Writes at which an actor stopped."""


def rounds(seed: int) -> tuple[Round, ...]:
    """The schedule of a seed."""
    chance = random.Random(seed)
    made = []
    for _ in range(chance.randint(2, 7)):
        several = chance.choice((1, 1, 1, 2, 2, 3))
        commands = tuple((chance.choice(KINDS), chance.randrange(1 << 30)) for _ in range(several))
        made.append(Round(commands, chance.randrange(1 << 30), chance.choice((0, 0, 1, 1, 2))))
    return tuple(made)


def run(schedule: Sequence[Round], bad: int) -> Outcome:
    """Play it. `bad` is the seed of the batches that bring a bad row."""
    chance = random.Random(bad)
    worse = frozenset(n for n in range(FIRST + 1, FIRST + 30) if chance.random() < 0.2)
    with TemporaryDirectory(prefix="sluice-simulation-") as folder, watched():
        return _Play(World(Path(folder) / "root", worse)).through(schedule)


class _Play:
    def __init__(self, world: World) -> None:
        self.world = world
        self.lines: list[str] = []
        self.repairs = 0
        self.places = 0
        lease.LOCK_WAIT_SECONDS = 0

    def through(self, schedule: Sequence[Round]) -> Outcome:
        world = self.world
        world.made.drain(0, FIRST)
        world.model = world.model.done(Batch(n) for n in range(FIRST + 1))
        try:
            world.publish()
            for each in schedule:
                self._round(each)
            self._end()
            invariants.hold(world)
        except Violation as violation:
            return Outcome(tuple(self.lines), violation, self.places)
        return Outcome(tuple(self.lines), None, self.places)

    def _round(self, each: Round) -> None:
        started = [self._command(kind, number) for kind, number in each.commands]
        given = [(name, act, then) for found in started if found for name, act, then in [found]]
        actors = [Actor(f"{at} {name}", act) for at, (name, act, _) in enumerate(given)]
        chooser = BySeed(each.seed, kills=each.kills)
        told = play(actors, chooser)
        before = self.world.model
        outcomes = []
        for actor, (_, _, then) in zip(actors, given, strict=True):
            self.places += actor.steps
            outcomes.append((actor, then))
            self._tell(actor)
        self.lines += told
        self.world.model = _possible(before, outcomes)
        invariants.published_is_good(self.world)

    def _tell(self, actor: Actor) -> None:
        if actor.dead:
            self.lines.append(f"{actor.name}: killed")
        elif actor.error is None:
            self.lines.append(f"{actor.name}: done")
        elif isinstance(actor.error, SluiceError):
            self.lines.append(f"{actor.name}: {actor.error.code}: {actor.error}"[:300])
        else:
            said = "".join(traceback.format_exception(actor.error))
            raise Violation("trace", f"{actor.name} ended in a traceback:\n{said}")

    def _command(
        self, kind: str, number: int
    ) -> tuple[str, Callable[[], Any], Callable[[Model], Model]] | None:
        """Its name, what it does, and what it makes of the model."""
        world, chance = self.world, random.Random(number)
        if kind == "drain":
            drained: list[int] = []

            def drain() -> None:
                drained.append(world.drain())

            newest = max(
                (d.number for deeds in world.model.possible for d in deeds if isinstance(d, Batch)),
                default=-1,
            )
            return (
                "drain",
                drain,
                lambda model: model.done(
                    Batch(n) for n in range(drained[-1] + 1 if drained else newest + 2)
                ),
            )
        if kind == "repair":
            self.repairs += 1
            name = f"r{self.repairs}"
            key = Key(chance.randrange(FIRST + 3), chance.choice(("b", "c")))
            try:
                deed = world.stage(name, key)
            except SluiceError:  # a stage looks first whether the checkpoint is whole
                return None
            if deed is None:
                return None
            return f"swap {name} of {key}", lambda: world.swap(name), lambda m: m.done([deed])
        if kind == "undo":
            if not self.repairs:
                return None
            name = f"r{chance.randint(1, self.repairs)}"
            return f"undo {name}", lambda: world.undo(name), lambda m: m.done([Undo(name)])
        if kind == "rewind":
            batch = world.cursor().audited - chance.choice((0, 1, 1, 2))
            return f"rewind {batch}", lambda: world.rewind(batch), lambda m: m.rewound(batch)
        if kind == "accept":
            return "accept", world.accept, lambda model: model
        if kind == "reset":
            return "reset", world.reset, lambda model: model.reset()
        if kind == "restore":
            if not delta.is_table(world.paths.table):
                return None
            to = table.version(world.paths.table) - chance.choice((1, 2, 3))
            return f"a person's RESTORE to {to}", lambda: world.restored(to), Model.some
        if kind == "delete bad":
            return "delete bad", world.delete_bad, lambda m: m.done([Delete()])
        return "publish", world.publish, lambda model: model

    def _end(self) -> None:
        """What a person does who wants it to go on: the documented ways, each once or twice."""
        world = self.world
        for _ in range(TRIES):
            self._alone("delete bad", 0)
            self._alone("drain", 0)
            cursor = world.cursor()
            if cursor.judged == cursor.audited and BAD_SALES not in world.rows().values():
                break
        else:
            raise Violation("locked", f"{TRIES} drains, and none of them passes")
        for _ in range(3):
            self._alone("publish", 0)

    def _alone(self, kind: str, number: int) -> None:
        found = self._command(kind, number)
        assert found is not None
        name, act, then = found
        actor = Actor(f"at the end {name}", act)
        while not actor.over:
            actor.go_on()
        self._tell(actor)
        self.world.model = _possible(self.world.model, [(actor, then)])
        if actor.error is not None and kind != "drain":
            raise Violation("locked", self.lines[-1])
        if isinstance(actor.error, SluiceError):
            self._lead_on(actor.error)

    def _lead_on(self, error: SluiceError) -> None:
        """A drain was refused: some command that the error names must lead on."""
        for command in _named(self.world, str(error)):
            with suppress(SluiceError):
                command()


def _named(world: World, text: str) -> list[Callable[[], Any]]:
    """The commands of the world that an error names."""
    words = text.split()
    found: list[Callable[[], Any]] = []
    if "OF" in words:
        to = int("".join(c for c in words[words.index("OF") + 1] if c.isdigit()))
        found.append(lambda: world.restored(to))
    if "--to-batch" in words:
        batch = int("".join(c for c in words[words.index("--to-batch") + 1] if c.isdigit()))

        def again() -> None:
            world.rewind(batch)
            world.model = world.model.rewound(batch)

        found.append(again)
    return found


def _possible(model: Model, outcomes: Sequence[tuple[Actor, Callable[[Model], Model]]]) -> Model:
    """What may be true behind commands that ran at once: in every order, the killed ones or not."""
    if not outcomes:
        return model
    found = Model(model.bad, frozenset())
    for at, (actor, then) in enumerate(outcomes):
        rest = [*outcomes[:at], *outcomes[at + 1 :]]
        if actor.error is None:
            found = found.perhaps(_possible(then(model), rest))
        if actor.error is not None or actor.dead:
            found = found.perhaps(_possible(model, rest))
    return found


def repairs_told(world: World) -> dict[str, str]:
    """Repair -> its state in ops.repairs."""
    return {
        each["repair_id"]: each["state"] for each in repairs.stored(world.paths.root, SPEC.name)
    }
