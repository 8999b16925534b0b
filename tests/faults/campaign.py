"""A campaign: drains of real pipelines that are killed by a seeded schedule, and verified in a process of its own.

Every kill is followed by another drain, killed or not. After some kills the pipeline is drained undisturbed, and the verifier
holds its tables against the ledger: nothing lost, nothing doubled, nothing unaccounted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from spark_jobs.contract.settings import REPO
from tests.faults.catalogue import landed, schedule
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
    recovery_seconds: list[float]
    """From a kill to the commit of the next drain's first batch, where that drain came so far."""

    @property
    def lines(self) -> list[str]:
        places = [f"  {times:4} {place}" for place, times in self.landed.most_common()]
        recovery = self.recovery_seconds
        times = f"median {median(recovery):.1f} s, slowest {max(recovery):.1f} s of {len(recovery)}" if recovery else "not seen"
        return [f"{self.kills} kills survived: 0 lost, 0 doubled, 0 unaccounted in {self.verified} verifications", *places,
                f"  from a kill to the next drain's first batch: {times}"]


class Campaign:
    """One topic, several pipelines on it, one seed."""

    def __init__(self, kafka: str, folder: Path, seed: int, kills: int, say: Callable[[str], None]) -> None:
        self._folder, self._seed, self._say = folder, seed, say
        self._schedule = schedule(seed, kills)
        deliveries = kills + -(-kills // BLOCK) * 2
        self._scenes = {name: Scene(kafka, folder, name, events=deliveries * EVENTS, deliveries=deliveries, topic="flights")
                        for name in PIPELINES}
        self._killed_at: float | None = None
        self._figures = Figures(0, Counter(), 0, [])

    def run(self) -> Figures:
        """Raises AssertionError, with the seed, at the first thing that is wrong."""
        for number, (kill, chance) in enumerate(self._schedule):
            scene = self._scenes[PIPELINES[number // BLOCK % len(PIPELINES)]]
            self._deliver()
            running = Running(scene, self._folder, f"kill-{number:03}", SLUICE_FAILPOINTS=kill.failpoints)
            kill.act(running, chance)
            status = running.end()
            self._note_recovery(running)
            self._killed_at = time.monotonic()
            where = landed(scene, running, kill)
            # A kill that comes too late to find anything is one all the same, if the drain ended with it.
            survived = status == 0
            self._figures = self._figures._replace(kills=self._figures.kills + (not survived))
            if not survived:
                self._figures.landed[where] += 1
            self._say(f"{number + 1}/{len(self._schedule)} {scene.spec.name}: {kill.name}: "
                      f"{'it had ended before' if survived else where}")
            if number % BLOCK == BLOCK - 1 or number == len(self._schedule) - 1:
                self._verify(scene, f"whole-{number:03}")
        return self._figures

    def _deliver(self) -> None:
        next(iter(self._scenes.values())).deliver()

    def _note_recovery(self, running: Running) -> None:
        if self._killed_at is not None and running.first_batch_at is not None:
            self._figures.recovery_seconds.append(running.first_batch_at - self._killed_at)

    def _verify(self, scene: Scene, run_id: str) -> None:
        running = Running(scene, self._folder, run_id)
        status = running.end()
        self._note_recovery(running)
        self._killed_at = None
        again = f"the same again: make faults KILLS={len(self._schedule)} SEED={self._seed}"
        assert status == 0, f"the undisturbed drain after the kills failed: {running.said[-2000:]}\n{again}"
        words = [sys.executable, "-m", "tests.harness.verifier", scene.settings.root, str(scene.ledger_folder), scene.spec.name,
                 str(scene.spec.watermark_delay.total_seconds())]
        done = subprocess.run(words, cwd=REPO, capture_output=True, text=True, check=False)
        assert done.stdout, f"the verifier failed: {done.stderr}"
        verdict = json.loads(done.stdout)
        assert not verdict["told"], f"{scene.spec.name} after {run_id}: {verdict}\n{again}"
        self._figures = self._figures._replace(verified=self._figures.verified + 1)
        self._say(f"  {scene.spec.name}: {verdict['read']} records in {verdict['batches']} batches, {verdict['rows']} rows: "
                  f"{verdict['lost']} lost, {verdict['doubled']} doubled, {verdict['unaccounted']} unaccounted")
