"""Schedule: which actor goes on at each write, and which one dies there, by a seed.

One actor runs at a time. At each write it stops, and the schedule says: go on, die, or let another
one go on until its next write. Equal decisions give an equal run.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence

from tests.simulation.places import acting

PATIENCE_SECONDS = 60.0
COMMITS = ("delta ", "os.rename", "airflow")
"""What makes a change seen; other writes are the files of which there are many."""


class Killed(BaseException):
    """Ends an actor as SIGKILL would."""


class BySeed:
    """Decides by a seed: kills at most `kills` actors, at `often` of the commits, and changes over to
    another actor at `change` of the writes.
    """

    def __init__(
        self, seed: int, *, kills: int = 2, often: float = 0.15, change: float = 0.1
    ) -> None:
        self.random = random.Random(seed)
        self.kills, self.often, self.change = kills, often, change
        self.last: str | None = None

    def dies(self, place: str) -> bool:
        """Whether the actor that stands before this write ends there."""
        often = self.often if place.startswith(COMMITS) else self.often / 20
        if self.kills and self.random.random() < often:
            self.kills -= 1
            return True
        return False

    def next(self, actors: Sequence[str]) -> str:
        """Who goes on."""
        if self.last not in actors or self.random.random() < self.change:
            self.last = self.random.choice(list(actors))
        return str(self.last)


class Actor:
    """A command in a thread of its own, which runs only while the schedule waits for it."""

    def __init__(self, name: str, command: Callable[[], None]) -> None:
        self.name, self.command = name, command
        self.place, self.over, self.dead = "begins", False, False
        self.error: BaseException | None = None
        self.steps = 0
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Run it to its next write, or to its end."""
        self._mine.release()
        if not self._theirs.acquire(timeout=PATIENCE_SECONDS):
            raise TimeoutError(f"{self.name} stands still behind: {self.place}")

    def kill(self) -> None:
        """End it where it stands."""
        self.dead = True
        self.go_on()

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

    def _arrive(self, place: str) -> None:
        if self.dead:
            raise Killed(place)
        self.place = place
        self.steps += 1
        self._theirs.release()
        self._mine.acquire()
        if self.dead:
            raise Killed(place)


def play(actors: Sequence[Actor], chooser: BySeed) -> list[str]:
    """Run them all to their ends; what was decided, a line each."""
    told: list[str] = []
    running = list(actors)
    while running:
        name = chooser.next([each.name for each in running])
        actor = next(each for each in running if each.name == name)
        if actor.steps and chooser.dies(actor.place):
            told.append(f"{name} dies before: {actor.place}")
            actor.kill()
        else:
            actor.go_on()
        running = [each for each in running if not each.over]
    return told
