"""Simulate: rounds of commands by a seed, one or several at once, killed at writes; then all that
was begun is brought to an end, and what is there is held against the model.

A round has a seed of its own, so that a schedule can be shortened by leaving rounds out.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from spark_jobs.checkpoint import lease
from spark_jobs.contract.errors import SluiceError
from tests.simulation import invariants
from tests.simulation.commands import Commands
from tests.simulation.invariants import Violation
from tests.simulation.model import BAD_SALES, Batch, Model
from tests.simulation.places import watched
from tests.simulation.schedule import Actor, BySeed, play
from tests.simulation.world import World

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


@contextmanager
def _nobody_waits() -> Iterator[None]:
    """Within the block who finds the lease held is refused at once: only one actor runs at a time."""
    before, lease.LOCK_WAIT_SECONDS = lease.LOCK_WAIT_SECONDS, 0
    try:
        yield
    finally:
        lease.LOCK_WAIT_SECONDS = before


def run(schedule: Sequence[Round], bad: int) -> Outcome:
    """Play it. `bad` is the seed of the batches that bring a bad row."""
    chance = random.Random(bad)
    worse = frozenset(n for n in range(FIRST + 1, FIRST + 30) if chance.random() < 0.2)
    with TemporaryDirectory(prefix="sluice-simulation-") as folder, watched(), _nobody_waits():
        return _Play(World(Path(folder) / "root", worse)).through(schedule)


class _Play:
    def __init__(self, world: World) -> None:
        self.world = world
        self.lines: list[str] = []
        self.commands = Commands(world, FIRST)
        self.places = 0

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
        found = [self.commands.of(kind, number) for kind, number in each.commands]
        given = [command for command in found if command]
        actors = [Actor(f"{at} {each.name}", each.act) for at, each in enumerate(given)]
        chooser = BySeed(each.seed, kills=each.kills)
        told = play(actors, chooser)
        before = self.world.model
        outcomes = []
        for actor, command in zip(actors, given, strict=True):
            self.places += actor.steps
            outcomes.append((actor, command.then))
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
        given = self.commands.of(kind, number)
        assert given is not None
        actor = Actor(f"at the end {given.name}", given.act)
        while not actor.over:
            actor.go_on()
        self._tell(actor)
        self.world.model = _possible(self.world.model, [(actor, given.then)])
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
