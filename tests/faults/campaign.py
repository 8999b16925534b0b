"""A campaign: drains that are killed one after the other, published, and verified from outside."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from spark_jobs.errors import ProcessDied, SparkFailed
from tests.faults import publishing, verifying
from tests.faults.catalogue import WHOLE, Kill, Lengths, landed
from tests.harness.process import Running
from tests.harness.scene import Scene

PIPELINES = ("aircraft_rotations", "departure_delays", "flight_events")
BLOCK = 5
"""Kills of one pipeline until it is verified."""
EVENTS = 150
"""In a delivery; there is one before every drain."""


class Figures(NamedTuple):
    """What a campaign found."""

    kills: int
    landed: Counter[str]
    verified: int
    late: int
    """Late records, in the last verification."""
    lost_events: int
    """Events whose publish was killed."""
    recovery_seconds: list[float]
    """From a kill to the commit of the next drain's first batch, where that drain came so far."""

    @property
    def lines(self) -> list[str]:
        places = [f"  {times:4} {place}" for place, times in self.landed.most_common()]
        recovery = self.recovery_seconds
        times = (
            f"median {median(recovery):.1f} s, slowest {max(recovery):.1f} s of {len(recovery)}"
            if recovery
            else "not seen"
        )
        return [
            f"{self.kills} kills survived: 0 lost, 0 doubled, 0 unaccounted, 0 announced twice or "
            f"never in {self.verified} verifications",
            f"  {self.lost_events} times publish was killed too, before Airflow had the event",
            *places,
            f"  from a kill to the next drain's first batch: {times}",
        ]


class Campaign:
    """One topic, several pipelines, one schedule of kills; `again` says how to repeat it."""

    def __init__(  # noqa: PLR0913, PLR0917 - each is a choice of a campaign
        self,
        kafka: str,
        folder: Path,
        kills: Sequence[tuple[Kill, Random]],
        say: Callable[[str], None],
        again: str = "",
        pipelines: Sequence[str] = PIPELINES,
        events: int = EVENTS,
        block: int = BLOCK,
        start: Callable[..., Running] = Running,
        **of_scenes: Any,
    ) -> None:
        """`start` starts a drain; `of_scenes` is what each Scene is given beside."""
        self._folder = folder
        self._schedule = kills
        self._say = say
        self._again = again
        self._block = block
        self._start = start
        deliveries = len(kills) + 1
        of_scenes = {"checked": True} | of_scenes
        first = Scene(
            kafka,
            folder,
            pipelines[0],
            events=deliveries * events,
            deliveries=deliveries,
            **of_scenes,
        )
        others = [
            Scene(kafka, folder, name, events=0, topic=first.topic, **of_scenes)
            for name in pipelines[1:]
        ]
        self._first = first
        self._scenes = [first, *others]
        self._lengths = Lengths()
        self._killed_at: float | None = None
        self._figures = Figures(0, Counter(), 0, 0, 0, [])

    def measure(self, share: float = 1.0) -> None:
        """How long an undisturbed first delivery takes here, for the kills that fall by chance."""
        self._first.deliver()
        running = self._start(self._first, self._folder, "measured")
        assert running.end() == 0, running.said
        self._lengths = Lengths(
            time.monotonic() - running.started_at, share * running.longest_batch_seconds()
        )
        self._say(
            f"a drain takes {self._lengths.run:.1f} s; kills in a batch fall within "
            f"{self._lengths.batch:.1f} s"
        )

    def run(
        self,
        mend: Callable[[Scene, str], None] | None = None,
        publish: Callable[[Scene, Path, str], bool] = publishing.in_a_process,
        verdict: Callable[[Scene, Path], dict[str, Any]] = verifying.in_a_process,
        until: float = math.inf,
    ) -> Figures:
        """No block begins behind `until`; raises AssertionError at the first wrong thing."""
        for number, (kill, chance) in enumerate(self._schedule):
            if number % self._block == 0 and time.monotonic() > until:
                break
            scene = self._scenes[number // self._block % len(self._scenes)]
            self._first.deliver()
            if kill is WHOLE:
                (mend or self.drain)(scene, f"kill-{number:03}")
            else:
                self._kill(scene, number, kill, chance)
            events = self._folder / f"{scene.spec.name}.events"
            events.touch()
            turn = publishing.TURNS[number % len(publishing.TURNS)]
            lost = publish(scene, events, turn) + self._figures.lost_events
            self._figures = self._figures._replace(lost_events=lost)
            if number % self._block == self._block - 1 or number == len(self._schedule) - 1:
                (mend or self.drain)(scene, f"whole-{number:03}")
                self._killed_at = None
                for _ in range(2):  # an event that was lost, and what came since
                    publish(scene, events, "")
                self._verify(scene, f"whole-{number:03}", verdict(scene, events))
        return self._figures

    def drain(self, scene: Scene, run_id: str) -> None:
        """Undisturbed, in a process of its own."""
        running = self._start(scene, self._folder, run_id)
        status = running.end()
        self._note_recovery(running)
        assert status == 0, (
            f"the undisturbed drain after the kills failed: {running.said[-2000:]}\n{self._again}"
        )

    def _kill(self, scene: Scene, number: int, kill: Kill, chance: Random) -> None:
        running = self._start(scene, self._folder, f"kill-{number:03}", kill.failpoints)
        kill.act(running, chance, self._lengths)
        status = running.end()
        self._note_recovery(running)
        self._killed_at = time.monotonic()
        lived = (ProcessDied.exit_status, SparkFailed.exit_status) if kill.lives else ()
        assert status in {0, *running.KILLED, *lived}, (
            f"the drain that was to be killed ({kill.name}) failed by itself, with status "
            f"{status}: "
            f"{running.report and running.report.problem}\n{running.said[-2000:]}\n{self._again}"
        )
        killed = running.was_killed(status)
        where = (kill.where or landed(scene, running, kill)) if killed else "it had ended before"
        if killed:
            self._figures.landed[where] += 1
            self._figures = self._figures._replace(kills=self._figures.kills + 1)
        self._say(f"{number + 1}/{len(self._schedule)} {scene.spec.name}: {kill.name}: {where}")

    def _note_recovery(self, running: Running) -> None:
        if self._killed_at is not None and running.first_batch_at is not None:
            self._figures.recovery_seconds.append(running.first_batch_at - self._killed_at)

    def _verify(self, scene: Scene, run_id: str, verdict: dict[str, Any]) -> None:
        assert not verdict["told"], f"{scene.spec.name} after {run_id}: {verdict}\n{self._again}"
        self._figures = self._figures._replace(
            verified=self._figures.verified + 1, late=verdict["late"]
        )
        self._say(
            f"  {scene.spec.name}: {verdict['read']} records in {verdict['batches']} batches, "
            f"{verdict['rows']} rows: "
            f"{verdict['lost']} lost, {verdict['doubled']} doubled, {verdict['unaccounted']} "
            f"unaccounted; {verdict['events']} events, of which {verdict['twice']} batches are in "
            f"several and {verdict['never']} in none"
        )
