"""Repairs whose stages and swaps are killed until a try completes: old rows or new."""

import json
import math
import multiprocessing
import signal
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from spark_jobs.messages.request import Request
from spark_jobs.ops import repairs
from spark_jobs.proof.acts import files
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import swap
from spark_jobs.spec import Pipeline
from spark_jobs.storage import failpoint
from spark_jobs.table import history
from spark_jobs.table.delta.log_entries import entries
from spark_jobs.table.delta.table import Delta
from tests.faults.campaign import PIPELINES
from tests.faults.catalogue import Kill, Lengths
from tests.faults.stage_kills import COMPUTES, Round, landed, since
from tests.faults.whole import Whole, bag, less, staged
from tests.harness.patience import patient
from tests.harness.process import Running
from tests.harness.scene import Scene

EVENTS = 400
"""In a delivery. Two in a hundred arrive one to five days late."""
FIRST = 12
"""Deliveries before the first drain: of three days, so that later ones have late records."""
PATIENCE_SECONDS = patient(120)
ENDED = "it had ended before"


class Figures(NamedTuple):
    """What a campaign found."""

    stages: int
    """Kills of stages."""
    swaps: int
    repairs: int
    """That are whole in the end."""
    merged: int
    """Late records that they have merged."""
    landed: Counter[str]

    @property
    def lines(self) -> list[str]:
        places = [f"  {times:4} {place}" for place, times in self.landed.most_common()]
        return [
            f"{self.stages + self.swaps} kills survived, {self.stages} of stages and {self.swaps} "
            f"of swaps: {self.repairs} repairs are whole, {self.merged} late records merged, "
            "0 lost, 0 doubled, 0 half done; the live checkpoints are untouched",
            *places,
        ]


class Repairing:
    """One topic, several pipelines on it, one sequence of rounds."""

    def __init__(self, kafka, folder, rounds, say, *, deliveries, pipelines=PIPELINES) -> None:
        self._folder, self._rounds, self._say = folder, rounds, say
        first = Scene(
            kafka,
            folder,
            pipelines[0],
            events=deliveries * EVENTS,
            deliveries=deliveries,
            checked=True,
        )
        others = [
            Scene(kafka, folder, name, events=0, topic=first.topic, checked=True)
            for name in pipelines[1:]
        ]
        self._first, self._scenes = first, [first, *others]
        self._lengths = dict.fromkeys(pipelines, Lengths())
        self._swap_seconds = 1.0
        self._number = 0
        self._landed: Counter[str] = Counter()
        self._kills = Counter[str]()
        self._merged = self._repairs = 0
        # It has called nothing of Sluice, and so has no thread that a child would lack.
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload([__name__])

    def run(self, kills: int, until: float = math.inf) -> Figures:
        """No repair begins behind `until`, of time.monotonic(). Raises AssertionError at the first
        wrong thing.
        """

        def goes_on() -> bool:
            return self._kills.total() < kills and time.monotonic() < until

        for _ in range(FIRST):
            self._first.deliver()
        for scene in self._scenes:
            began = time.monotonic()
            self._drain(scene)
            length = time.monotonic() - began
            self._lengths[scene.spec.name] = Lengths(length, length / 3)
        while goes_on():
            for scene in self._scenes:
                self._first.deliver()
                self._drain(scene)
                plan = plan_repair(
                    scene.spec, scene.settings, Request(kind="repair", who="campaign")
                )
                if plan.idle:
                    self._say(f"{scene.spec.name}: no late record waits")
                elif goes_on():
                    self._repair(scene, plan, next(self._rounds))
        stages, swaps = self._kills["stage"], self._kills["swap"]
        return Figures(stages, swaps, self._repairs, self._merged, self._landed)

    def _repair(self, scene: Scene, plan: RepairPlan, wanted: Round) -> None:
        plan.store(scene.paths)
        whole = Whole.of(scene)
        before, checkpoint = bag(scene.table()), _files(scene)
        for kill in wanted.stages:
            self._kill_stage(scene, plan, kill, wanted)
            assert bag(scene.table()) == before, "a killed stage has changed the table"
            assert _files(scene) == checkpoint, "a killed stage has changed the live checkpoint"
        self._stage(scene, plan)
        assert bag(scene.table()) == before, "a stage has changed the table"
        if wanted.between:
            self._first.deliver()
            self._drain(scene)
            drained = scene.table()
            whole = whole.with_more(less(drained, before))
            before, checkpoint = bag(drained), _files(scene)
        after = bag(staged(scene, plan.repair_id))
        for place in wanted.swaps:
            self._kill_swap(scene, plan, place, wanted)
            assert bag(scene.table()) in (before, after), f"a swap is half done at {place}"
        self._swap(scene, plan)
        assert _files(scene) == checkpoint, "a swap has changed the live checkpoint"
        assert bag(scene.table()) == after, "not the staged rows are in the table"
        self._hold_record(scene, plan)
        whole.hold(scene)
        self._repairs += 1

    def _kill_stage(self, scene: Scene, plan: RepairPlan, kill: Kill, wanted: Round) -> None:
        began = time.time()
        running = self._running(scene, kill.failpoints, plan.repair_id)
        kill.act(running, wanted.chance, self._lengths[scene.spec.name])
        status = running.end()
        assert status in {0, *running.KILLED}, f"the stage failed by itself: {running.said[-2000:]}"
        staging = Path(str(scene.paths.staging(plan.repair_id)))
        where = landed(running, staging, began, kill) if status else ENDED
        # One that has begun to write has no manifest of an earlier try.
        manifest = staging / "manifest.json"
        if COMPUTES in running.said and manifest.exists():
            assert since(manifest, began), "what is half staged can be swapped in"
        self._note("stage", scene, where, counts=status != 0)

    def _stage(self, scene: Scene, plan: RepairPlan) -> None:
        began = time.monotonic()
        running = self._running(scene, "", plan.repair_id)
        assert running.end() == 0, running.said[-2000:]
        found = running.report and running.report.change
        assert found is not None, running.said[-2000:]
        assert (found.unexplained, found.unaccounted) == (0, 0), found
        length = time.monotonic() - began
        self._lengths[scene.spec.name] = Lengths(length, length / 2)

    def _kill_swap(self, scene: Scene, plan: RepairPlan, place: str, wanted: Round) -> None:
        process = self._swapping(scene, plan, place)
        if not place:
            time.sleep(wanted.chance.uniform(0, self._swap_seconds))
            process.kill()
        process.join(PATIENCE_SECONDS)
        assert process.exitcode in {0, -signal.SIGKILL}, "the swap failed by itself"
        committed = _commits(scene)[plan.repair_id]
        when = f"at any moment, {'after' if committed else 'before'} its commit"
        where = f"at a failpoint: {failpoint.SWAP_POINTS[place]}" if place else when
        killed = process.exitcode != 0
        self._note("swap", scene, where if killed else ENDED, counts=killed)

    def _swap(self, scene: Scene, plan: RepairPlan) -> None:
        began = time.monotonic()
        process = self._swapping(scene, plan, "")
        process.join(PATIENCE_SECONDS)
        assert process.exitcode == 0, "the swap that nobody disturbed failed"
        self._swap_seconds = time.monotonic() - began

    def _swapping(self, scene, plan, place) -> multiprocessing.process.BaseProcess:
        """A process that swaps, started."""
        words = (scene.spec, scene.settings.root, plan.repair_id, place)
        process = self._processes.Process(target=attempt, args=words)
        process.start()
        return process

    def _hold_record(self, scene: Scene, plan: RepairPlan) -> None:
        """One commit at most, one row in ops.repairs, each late record once in ops.merged."""
        name, version = scene.spec.name, Delta(scene.paths.table).version()
        assert _commits(scene)[plan.repair_id] <= 1
        rows = repairs.stored(scene.paths.root, name)
        [row] = [each for each in rows if each["repair_id"] == plan.repair_id]
        assert row["state"] in {"swapped", "canonical"}, row
        merged = [each for each in scene.ops("merged") if each["pipeline"] == name]
        places = [(each["partition"], each["offset"]) for each in merged]
        assert len(places) == len(set(places)), "a late record has two fates"
        balance = coverage(scene.spec, scene.paths).balance
        assert (balance.off, balance.late) == (0, len(places) + balance.waiting), balance
        mine = sum(each["repair_id"] == plan.repair_id for each in merged)
        assert mine, "a repair without a record"
        self._merged += mine
        self._say(f"  {name}: version {version} is whole, {mine} late records have their fate")

    def _drain(self, scene: Scene) -> None:
        running = self._running(scene, "")
        assert running.end() == 0, running.said[-2000:]

    def _running(self, scene: Scene, failpoints: str, repair_id: str = "") -> Running:
        self._number += 1
        kind = "stage" if repair_id else "drain"
        run_id = f"{kind}-{self._number:03}"
        return Running(scene, self._folder, run_id, failpoints, repair_id=repair_id)

    def _note(self, kind: str, scene: Scene, where: str, *, counts: bool) -> None:
        self._kills[kind] += counts
        self._landed[f"{kind}: {where}"] += 1
        self._say(f"{self._kills.total()} {scene.spec.name}: {kind}: {where}")


def attempt(spec: Pipeline, root: str, repair_id: str, place: str) -> None:
    """What a swapping process does."""
    failpoint.ACTIVE.update({place: "exit"} if place else {})
    swap(spec, root, repair_id, f"swap of {repair_id}")


def _files(scene: Scene) -> dict[str, tuple[int, int]]:
    return files(Path(str(scene.paths.checkpoint)))


def _commits(scene: Scene) -> Counter[str | None]:
    """Repair -> the commits that it has made in the table."""
    notes = (json.loads(entry.get("userMetadata") or "{}") for entry in entries(scene.paths.table))
    return Counter(note.get(history.REPAIR) for note in notes)
