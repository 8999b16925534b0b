"""Stages of repairs that are killed: a real spark-submit each, over a pipeline that drains beside them.

Between the kills the pipeline drains another delivery, which lease and checkpoint must allow. A
stage that nobody disturbs then does the same plan, or another one, and after its swap the table is
what DuckDB makes of all good records.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from spark_jobs import failpoint
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.report import read_report
from spark_jobs.contract.request import Request
from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.submit import environment, stage_command
from spark_jobs.repair.plan import RepairPlan
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import swap
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import files
from tests.harness.process import PIPELINES, Running, none_left
from tests.harness.scene import Scene

EVENTS = 1500
"""In a delivery."""
PATIENCE_SECONDS = 240
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


class Figures(NamedTuple):
    """What the kills found."""

    landed: Counter[str]
    repairs: int
    late: int

    @property
    def lines(self) -> list[str]:
        places = [f"  {times:4} {place}" for place, times in self.landed.most_common()]
        return [
            f"{self.landed.total()} kills of stages survived: {self.repairs} repairs are whole, "
            f"the table is DuckDB's of all good records, {self.late} of them late",
            *places,
        ]


class Staging:
    """departure_delays, delivered, drained, and repaired after kills."""

    def __init__(self, kafka: str, folder: Path, seed: int, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._chance = Random(seed)
        self._say = say
        self._kafka = kafka
        self._tries = 0
        self._length = 0.0
        self._landed: Counter[str] = Counter()

    def run(self, kills: int) -> Figures:
        """Raises AssertionError at the first wrong thing."""
        deliveries = kills + 2
        events = deliveries * EVENTS
        scene = Scene(
            self._kafka, self._folder, "departure_delays", events=events, deliveries=deliveries
        )
        places = [*failpoint.STAGE_POINTS, *("" for _ in range(kills))][:kills]
        self._chance.shuffle(places)
        repairs = 0
        with none_left():
            self._drain(scene)
            self._drain(scene)
            while places:
                plan = self._plan(scene)
                for _ in range(self._chance.choice((1, 1, 2))):
                    if places:
                        self._kill(scene, plan, places.pop())
                if self._chance.random() < 0.5:
                    self._drain(scene)
                self._finish(scene, plan)
                repairs += 1
            self._finish(scene, self._plan(scene))
            self._hold(scene)
        return Figures(self._landed, repairs, len(scene.late()))

    def _drain(self, scene: Scene) -> None:
        scene.deliver()
        self._tries += 1
        running = Running(scene, self._folder, f"drain-{self._tries}")
        assert running.end() == 0, running.said[-2000:]
        report = running.report
        assert report is not None
        assert report.account.unaccounted == 0

    def _plan(self, scene: Scene) -> RepairPlan:
        plan = plan_repair(scene.spec, scene.settings, Request(kind="repair", who="a campaign"))
        if not plan.idle:
            plan.store(scene.paths)
        return plan

    def _kill(self, scene: Scene, plan: RepairPlan, place: str) -> None:
        if plan.idle:
            return
        before = files(Path(str(scene.paths.checkpoint))), scene.table()
        process = self._start(scene, plan, place)
        if not place:
            try:
                process.wait(self._chance.uniform(0, self._length or 15))
            except subprocess.TimeoutExpired:
                kill_tree(process.pid)
        status = process.wait(PATIENCE_SECONDS)
        where = place or "at any moment"
        if status == 0:
            where = "it had ended before"
        else:
            assert status in KILLED, f"the stage failed by itself with status {status}"
            self._landed[where] += 1
        assert files(Path(str(scene.paths.checkpoint))) == before[0], "the live checkpoint"
        assert_same(map(repr, scene.table()), map(repr, before[1]), "the table after the kill")
        self._say(f"  stage of {plan.repair_id}: {where}")

    def _finish(self, scene: Scene, plan: RepairPlan) -> None:
        if plan.idle:
            return
        began = time.monotonic()
        process = self._start(scene, plan, "")
        assert process.wait(PATIENCE_SECONDS) == 0, f"the stage of {plan.repair_id} failed"
        self._length = self._length or time.monotonic() - began
        change = read_report(self._report()).change
        assert change is not None
        assert (change.unexplained, change.unaccounted) == (0, 0)
        swap(scene.spec, scene.settings.root, plan.repair_id, "swap")

    def _hold(self, scene: Scene) -> None:
        checkpoint = Checkpoint(scene.paths.checkpoint)
        watermark = checkpoint.batch(checkpoint.committed()[-1]).watermark
        assert watermark is not None
        wanted = oracle.departure_delays(oracle.events(scene.ledger, set()), watermark)
        assert_same(oracle.comparable(scene.table()), oracle.comparable(wanted), "the table")
        merged = [(row["partition"], row["offset"]) for row in scene.ops("merged")]
        assert len(merged) == len(set(merged))

    def _start(self, scene: Scene, plan: RepairPlan, place: str) -> subprocess.Popen[bytes]:
        self._tries += 1
        words = stage_command(
            scene.settings,
            scene.spec.name,
            plan.repair_id,
            self._report(),
            f"stage-{self._tries}",
            plan.offsets,
        )
        variables = {
            "SLUICE_PIPELINES": PIPELINES,
            "SLUICE_TEST_TOPIC": scene.topic,
            "SLUICE_FAILPOINTS": f"{place}=exit" if place else "",
        }
        with (self._folder / f"stage-{self._tries}.log").open("w") as log:
            return subprocess.Popen(
                words,
                start_new_session=True,
                env={**os.environ, **environment(scene.settings), **variables},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _report(self) -> Path:
        return self._folder / f"stage-{self._tries}.json"
