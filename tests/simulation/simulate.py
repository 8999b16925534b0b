"""Rounds of commands by a seed, hit at their writes; then all is ended and held to the model."""

import random
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from spark_jobs.checkpoint import lease
from spark_jobs.errors import SluiceError
from tests.simulation import bucket, clock, invariants, spark
from tests.simulation.clock import Clock
from tests.simulation.commands import Commands, Given
from tests.simulation.invariants import Violation
from tests.simulation.model import BAD_SALES, Model
from tests.simulation.places import FOLDER, LOST, ROOTS, watched
from tests.simulation.schedule import HITS, Actor, At, ByName, BySeed, Chooser, Outslept, play
from tests.simulation.world import FIRST, World

TRIES = 12
"""Drains at the end, some of which bring bad rows."""
REMEDIES = 4
"""Commands that a person tries behind a refusal, at most."""
KINDS = (
    *("drain",) * 6,
    *("repair",) * 6,
    *("repair again",) * 2,
    *("publish",) * 5,
    *("swap", "undo", "undo", "rewind", "rewind", "accept", "accept", "reset", "delete bad"),
    *("maintain", "delete", "optimize", "vacuum", "newer", "restore", "stage", "doctor"),
    *("rebuild", "rebuild", "back", "lose live", "discard", "maintain later"),
    *("retention", "topic anew", "repartition", "repartition", "closing drain"),
    *("correct",) * 4,
    *("excise",) * 4,
    *("lift", "take back"),
)
OF_A_KEY = (
    *("drain",) * 6,
    *("publish",) * 4,
    *("rewind", "rewind", "accept", "reset", "delete bad", "delete", "restore", "doctor"),
    *("edit",) * 4,
    *("maintain", "maintain later", "optimize", "vacuum", "newer", "retention", "topic anew"),
)
"""Where the table follows a key: no range of it can be computed."""
OWN_NUMBER = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|now-\S+|\d+")
"""In the name of a write: without it, it is the kind."""
FAR = 140
"""Writes of the command that has most of them: a rewind, on an object store."""
AHEAD = (0, 0, 0, 0, -4, 4, -180)
"""Minutes by which the machine of a command is ahead."""


class Round(NamedTuple):
    """What is given at once, and the seed of who goes on and who is hit."""

    commands: tuple[tuple[str, int], ...]
    """Kind, and a number from which it takes what it needs."""
    seed: int = 0
    hits: int = 0
    at: At | None = None
    """By name instead: who is hit, and where."""
    asleep: int = 0
    """The first sleeps at this one of its writes, until the others have ended."""

    @property
    def chooser(self) -> Chooser:
        if self.at:
            return ByName(self.at)
        if self.asleep:
            return Outslept(self.seed, self.hits, self.asleep)
        return BySeed(self.seed, self.hits)


class Outcome(NamedTuple):
    """What came of a schedule."""

    lines: tuple[str, ...]
    violation: Violation | None
    places: Counter[str]
    """Kind of write -> how often an actor stopped there."""
    hits: Counter[str]
    """What befell an actor at one (dies, sleeps, loses) -> how often."""
    changes: int
    """Those behind which another one went on."""
    trace: tuple[str, ...]
    """Who went on, and from which write: all that was decided."""


def is_keyed(seed: int) -> bool:
    """Whether a seed's table follows a key: on a disk, and over an object store."""
    return seed % 8 in {4, 5}


def played(seed: int) -> Outcome:
    """Of the schedule of a seed."""
    return run(rounds(seed), seed, keyed=is_keyed(seed))


def rounds(seed: int) -> tuple[Round, ...]:
    """The schedule of a seed."""
    chance = random.Random(seed)
    kinds, made = OF_A_KEY if is_keyed(seed) else KINDS, []
    for _ in range(chance.randint(2, 7)):
        several = chance.choice((1, 1, 1, 2, 2, 3))
        asleep = int(FAR * chance.random() ** 2) * chance.choice((0, 0, 1))
        commands = tuple(
            (chance.choice(kinds), chance.randrange(1 << 30))
            for _ in range(several + (1 if asleep else 0))
        )
        hits = chance.choice((0, 0, 1, 1, 2))
        made.append(Round(commands, chance.randrange(1 << 30), hits, asleep=asleep))
    return tuple(made)


@contextmanager
def _nobody_waits() -> Iterator[None]:
    """Within the block who finds the lease held is refused at once: only one actor runs at a time."""
    before, lease.LOCK_WAIT_SECONDS = lease.LOCK_WAIT_SECONDS, 0
    try:
        yield
    finally:
        lease.LOCK_WAIT_SECONDS = before


def run(schedule: Sequence[Round], seed: int, *, keyed: bool = False) -> Outcome:
    """Play it. The seed says where, and which batches bring a bad row; `keyed`, whether the table
    follows a key.
    """
    chance, time = random.Random(seed), Clock()
    bad = frozenset(n for n in range(FIRST + 1, FIRST + 30) if chance.random() < 0.2)
    with (
        TemporaryDirectory(prefix=ROOTS, dir=FOLDER) as folder,
        bucket.in_reach(),
        spark.stood_in(),
        watched(),
        clock.machines(),
        time.told(),
        _nobody_waits(),
    ):
        world = World.begun(Path(folder) / "root", bad, remote=bool(seed % 2), keyed=keyed)
        with world.remembered(), world.with_topic():
            return _Play(world, time).through(schedule)


class _Play:
    def __init__(self, world: World, time: Clock) -> None:
        self.world, self.time = world, time
        self.lines: list[str] = []
        self.commands = Commands(world)
        self.places, self.hits, self.changes = Counter[str](), Counter[str](), 0
        self.trace: list[str] = []

    def through(self, schedule: Sequence[Round]) -> Outcome:
        violation = None
        try:
            self.world.publish()
            for each in schedule:
                self._round(each)
            self._end()
            invariants.hold(self.world)
        except Violation as found:
            violation = found
        except Exception as error:  # noqa: BLE001 - the hour goes on with other seeds
            what = f"{error!r}\n{''.join(traceback.format_exception(error))}"
            violation = Violation("crash", what)
        return Outcome(
            tuple(self.lines), violation, self.places, self.hits, self.changes, tuple(self.trace)
        )

    def _round(self, each: Round) -> None:
        numbers = [number for _, number in each.commands]
        found = [self.commands.of(kind, number) for kind, number in each.commands]
        given = [(one, AHEAD[n % len(AHEAD)]) for one, n in zip(found, numbers, strict=True) if one]
        self._given(given, each.chooser)
        invariants.published_is_good(self.world)

    def _given(self, given: Sequence[tuple[Given, int]], chooser: Chooser) -> list[Actor]:
        actors = []
        for at, (command, minutes) in enumerate(given):
            name = f"{at} {command.name}" + (f" ({minutes:+} min)" if minutes else "")
            actors.append(Actor(name, _on_its_machine(command, minutes)))
        told = play(actors, chooser, self._time_passes, self.trace.append)
        outcomes = []
        for actor, (command, _) in zip(actors, given, strict=True):
            for place, times in actor.seen.items():
                self.places[OWN_NUMBER.sub("N", place)] += times
            self._tell(actor)
            outcomes.append((actor, command.then))
        self.lines += told
        self.hits.update(what for what in HITS for line in told if f" {what} at: " in line)
        self.changes += chooser.changes
        self._time_passes()
        self.world.model = _possible(self.world.model, outcomes)
        return actors

    def _time_passes(self) -> None:
        """The leases of the dead, and of who sleeps, expire."""
        self.time.passes(self.world.folder / "checkpoints")

    def _tell(self, actor: Actor) -> None:
        said = "done"
        if actor.dead:
            said = "killed"
        elif isinstance(actor.error, SluiceError):
            said = f"{actor.error.code}: {actor.error}"[:300]
        elif actor.error is not None:
            said = "".join(traceback.format_exception(actor.error))
            if LOST not in said:
                raise Violation("trace", f"{actor.name} ended in a traceback:\n{said}")
            said = LOST
        self.lines.append(f"{actor.name}: {said}")

    def _end(self) -> None:
        """What a person does who wants it to go on: the documented ways, each once or twice."""
        world = self.world
        world.older()
        for _ in range(TRIES):
            self._alone("delete bad")
            drained = self._alone("drain")
            cursor = world.cursor()
            passes = cursor.judged == cursor.audited and BAD_SALES not in world.rows().values()
            if passes and drained.error is None:
                break
        else:
            raise Violation("locked", f"{TRIES} drains, and none of them passes")
        for _ in range(3):
            self._alone("publish")

    def _alone(self, kind: str) -> Actor:
        given = self.commands.of(kind, 0)
        assert given is not None
        [actor] = self._given([(given, 0)], BySeed(0, 0))
        if actor.error is not None and kind != "drain":
            raise Violation("locked", self.lines[-1])
        if isinstance(actor.error, SluiceError):
            invariants.not_broken(actor.error)
            self._lead_on(actor.error)
        return actor

    def _lead_on(self, error: SluiceError) -> None:
        """A drain was refused: a command that the error names must lead on, or one that the
        refusal of that command names.
        """
        tried = 0
        waiting = self._remedies(error)
        while waiting and tried < REMEDIES:
            tried += 1
            try:
                waiting.pop(0)()
            except SluiceError as refused:
                waiting += self._remedies(refused)
            else:
                return

    def _remedies(self, error: SluiceError) -> list[Callable[[], Any]]:
        named = _named(self.world, str(error))
        return named if len(self.lines) % 2 else named[::-1]


def _on_its_machine(command: Given, minutes: int) -> Callable[[], None]:
    def act() -> None:
        with clock.ahead(timedelta(minutes=minutes)):
            command.act()

    return act


def _named(world: World, text: str) -> list[Callable[[], Any]]:
    """The commands of the world that an error names."""
    words = text.split()
    found: list[Callable[[], Any]] = []
    if "doctor" in words:
        found.append(world.doctor)
    if "--to-batch" in words:
        batch = int("".join(c for c in words[words.index("--to-batch") + 1] if c.isdigit()))

        def again() -> None:
            world.rewind(batch)
            world.model = world.model.rewound(batch)

        found.append(again)
    elif "reset" in words:

        def anew() -> None:
            world.reset()
            world.model = world.model.reset()

        found.append(anew)
    return found


def _possible(model: Model, outcomes: Sequence[tuple[Actor, Callable[[Model], Model]]]) -> Model:
    """What may be true behind commands that ran at once: in every order, the unsure ones or not."""
    if not outcomes:
        return model
    found = model._replace(possible=frozenset())
    for at, (actor, then) in enumerate(outcomes):
        rest = [*outcomes[:at], *outcomes[at + 1 :]]
        if actor.may_be_done:
            found = found.perhaps(_possible(then(model), rest))
        if actor.may_be_undone:
            found = found.perhaps(_possible(model, rest))
    return found
