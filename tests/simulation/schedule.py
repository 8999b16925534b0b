"""Which actor goes on at each write, and which dies there, by a seed; one runs at a time."""

import random
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from spark_jobs.errors import LeaseLost, SluiceError
from spark_jobs.journal.runner import carry_out
from tests.harness.patience import patient
from tests.simulation.places import acting

PATIENCE_SECONDS = patient(60.0)
LOOK, COMPUTES = "confirm", "computes"
"""A look at the lease; the work of a stage."""
HITS = ("dies", "sleeps", "loses")
"""What may befall an actor before a write."""
COMMITS = ("delta ", "os.rename", "airflow", "put ", "create ", "update ", "remove ", "delete ")
"""What makes a change seen; other writes are the files of which there are many."""
LEASES = (
    *("put lease.", "create lease.", "update lease.", "delete lease."),
    *("put .sluice", "create .sluice"),
)
OFTEN = 0.15
"""Of the commits, as long as any is to be hit."""
CHANGE = 0.1
"""Of the writes, another actor goes on behind so many."""


class Killed(BaseException):
    """Ends an actor as SIGKILL would."""


class Chooser(Protocol):
    """Decides who goes on, and what befalls whom."""

    changes: int
    """How often another actor went on."""

    def hit(self, place: str, times: int) -> str:
        """What befalls the actor before this write: dies, sleeps, loses the answer, or nothing."""

    def next(self, actors: Sequence[str]) -> str:
        """Who goes on."""


class BySeed:
    """Decides by a seed: hits at most `hits` actors, and changes over to another one."""

    def __init__(self, seed: int, hits: int) -> None:
        self.random, self.hits = random.Random(seed), hits
        self.last: str | None = None
        self.changes = 0

    def hit(self, place: str, times: int) -> str:
        del times
        often = OFTEN / 20
        if place in {LOOK, COMPUTES}:
            often = OFTEN / 4
        elif place.startswith(COMMITS) and not place.startswith(LEASES):
            often = OFTEN
        if not self.hits or self.random.random() >= often:
            return ""
        self.hits -= 1
        ends = () if place == LOOK else ("dies", "dies", "loses")
        return self.random.choice((*ends, "sleeps"))

    def next(self, actors: Sequence[str]) -> str:
        if self.last not in actors or self.random.random() < CHANGE:
            before, self.last = self.last, self.random.choice(list(actors))
            self.changes += before in actors and before != self.last
        return str(self.last)


class Outslept(BySeed):
    """The first sleeps at its n-th write, whichever that is, and the others go on one after the
    other; then it is tried.
    """

    def __init__(self, seed: int, hits: int, at: int) -> None:
        super().__init__(seed, hits)
        self.at, self.first = at, ""

    def hit(self, place: str, times: int) -> str:
        if self.last != self.first or self.at <= 0:
            return super().hit(place, times)
        self.at -= 1
        return "" if self.at else "sleeps"

    def next(self, actors: Sequence[str]) -> str:
        self.first = self.first or actors[0]
        if self.last not in actors:
            self.last = actors[0]
        return str(self.last)


class At(NamedTuple):
    """Who comes to a place first is hit there."""

    what: str
    place: str
    """A part of its name: disk and object store have others."""
    times: int = 1


class ByName:
    """Decides by name: one after the other, and one of them is hit."""

    changes = 0

    def __init__(self, at: At) -> None:
        self.at: At | None = at

    def hit(self, place: str, times: int) -> str:
        if self.at is None or self.at.place not in place or times != self.at.times:
            return ""
        what, self.at = self.at.what, None
        return what

    def next(self, actors: Sequence[str]) -> str:
        return actors[0]


class Actor:
    """A command in a thread of its own, which runs only while the schedule waits for it."""

    def __init__(self, name: str, command: Callable[[], None]) -> None:
        self.name, self.command = name, command
        self.place, self.over, self.dead, self.asleep = "begins", False, False, False
        self.hit = ""
        self.error: BaseException | None = None
        self.seen: Counter[str] = Counter()
        """How often it stood before each of its writes."""
        self._loses = False
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def go_on(self, *, loses: bool = False) -> None:
        """Run it to its next write, or to its end."""
        self._loses = loses
        self._mine.release()
        if not self._theirs.acquire(timeout=PATIENCE_SECONDS):
            raise TimeoutError(f"{self.name} stands still behind: {self.place}")

    def kill(self) -> None:
        """End it where it stands."""
        self.dead = True
        self.go_on()

    @property
    def may_be_done(self) -> bool:
        """Whether it may have done what it was for: who lost the lease has perhaps begun it, and
        the change that it began is perhaps completed by another.
        """
        if self.dead or self.hit or not isinstance(self.error, SluiceError):
            return True
        within = {frame.name for frame in traceback.extract_tb(self.error.__traceback__)}
        return isinstance(self.error, LeaseLost) or carry_out.__name__ in within

    @property
    def may_be_undone(self) -> bool:
        """Whether it may not have done it."""
        return self.dead or self.error is not None

    def _run(self) -> None:
        self._mine.acquire()
        try:
            with acting(self._arrive):
                self.command()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - told by the schedule
            self.error = None if self.dead else error
        finally:
            self.over = True
            self._theirs.release()

    def _arrive(self, place: str) -> bool:
        if self.dead:
            raise Killed(place)
        self.place = place
        self.seen[place] += 1
        self._theirs.release()
        self._mine.acquire()
        if self.dead:
            raise Killed(place)
        return self._loses


def play(
    actors: Sequence[Actor],
    chooser: Chooser,
    passes: Callable[[], None],
    trace: Callable[[str], object] = str,
) -> list[str]:
    """Run all to their ends; who was hit, a line each; `passes` as one falls asleep."""
    told: list[str] = []
    running = list(actors)
    while running:
        awake = [each.name for each in running if not each.asleep]
        name = chooser.next(awake or [each.name for each in running])
        actor = next(each for each in running if each.name == name)
        times = actor.seen[actor.place]
        trace(f"{name}: {actor.place} #{times}")
        hit = chooser.hit(actor.place, times) if times and not actor.asleep else ""
        if hit:
            actor.hit = hit
            told.append(f"{name} {hit} at: {actor.place} #{times}")
        if hit == "sleeps":
            actor.asleep = True
            passes()
        elif hit == "dies":
            actor.kill()
        else:
            actor.go_on(loses=hit == "loses")
        running = [each for each in running if not each.over]
    return told
