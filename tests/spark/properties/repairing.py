"""A sequence tried on a form, held against the model (layers.py) after each step."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import AccountBehind, RangeOpen, RepairOverlapped, StagingStale
from spark_jobs.messages.request import Request
from spark_jobs.proof.acts import files
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.source.positions import Positions
from spark_jobs.table.delta.table import Delta
from tests.harness.compare import assert_same
from tests.harness.moments import MICROSECOND, at, us
from tests.spark.properties.aggregation import LONGEST
from tests.spark.properties.case import Drain
from tests.spark.properties.exact import assert_accounted, assert_late
from tests.spark.properties.forms import Row
from tests.spark.properties.layers import (
    LAST_US,
    Layer,
    Range,
    canonical,
    compared,
    expected,
    is_of_sessions,
    within,
)
from tests.spark.properties.ranged_form import RangedForm
from tests.spark.properties.repair_acts import Act, Ending, Sequence
from tests.spark.properties.replay import Seen
from tests.spark.properties.scene import Scene

DAY_US = 86_400_000_000
LONGEST_US = 3_650 * DAY_US
"""A request of more than ten years is refused."""
HOUR_US = 3_600_000_000
LONGEST_SESSION_US = LONGEST // MICROSECOND


class Repairing:
    """The table of one scene, and what it must be."""

    def __init__(self, scene: Scene, form: RangedForm, sequence: Sequence) -> None:
        self._scene = scene
        self._form = form
        self._sequence = sequence
        self._layers: list[Layer] = []
        self._undone: list[Layer] = []
        """Repairs that were taken out, each with the version of the table without it."""
        self._seen: list[Seen] = []
        self._late: list[Seen] = []
        self._watermark_us = 0
        self._crashed = False
        self._begun: RepairPlan | None = None
        self.done: Counter[str] = Counter()
        """How often each thing was done, and what became of it."""

    def run(self) -> None:
        sent = 0
        case = self._sequence.case
        for drain, acts in zip(case.batchings[0], self._sequence.acts, strict=True):
            self._scene.send(case.records[sent : drain.upto])
            sent = drain.upto
            self._drain(drain)
            begun, self._begun = self._begun, None
            if begun:
                self._swap(begun)
            for act in acts:
                self._act(act)
        if self._begun:
            self._swap(self._begun)
        self._end(self._sequence.ending)

    def _drain(self, drain: Drain) -> None:
        before = len(self._scene.table()) if self._scene.runs else 0
        report = self._scene.drain(drain.most)
        assert report.status == "succeeded", report.problem
        assert report.account.unaccounted in {0, None}
        case = self._sequence.case
        self._seen, self._watermark_us = assert_accounted(self._scene, case, self._form, drain.upto)
        self._late = assert_late(self._scene, case, self._seen)
        self._hold("after the drain")
        if self._scene.spec.output_mode == "append" and not self._crashed:
            assert len(self._scene.table()) == before + report.account.rows_out
        judged = read_cursor(self._scene.paths.cursor).judged_table_version
        assert judged == Delta(self._scene.paths.table).version()
        self._scene.crash(drain.crash)
        self._crashed = drain.crash != "none"

    def _act(self, act: Act) -> None:
        if act.kind == "undo":
            self._undo(act)
            return
        span = None if act.kind in {"repair", "begin"} else self._span(act)
        if act.kind in {"repair", "begin"} or span:
            plan = self._computed("repair" if act.kind == "begin" else act.kind, span)
            if plan and act.kind == "begin":
                self._begun = plan
            elif plan and act.kind != "verify":
                self._swap(plan)

    def _end(self, ending: Ending) -> None:
        """All late records of rows that are final are merged, and the table is canonical there."""
        if ending.kind != "repair":
            for span in self._parts(ending):
                if plan := self._computed("backfill", span):
                    self._swap(plan)
        if plan := self._computed("repair", None):
            self._swap(plan)
        if not self._until_us:
            return
        assert self._computed("repair", None) is None, "its records are merged"
        opened = [self._touches(one) for one in self._late if self._open(one)]
        final = [(-DAY_US, self._until_us)]
        assert_same(
            _outside(self._form, within(self._form, self._scene.table(), final), opened),
            _outside(self._form, within(self._form, self._canonical, final), opened),
            "what is final of the table",
        )
        settled = {(row["partition"], row["offset"]) for row in self._scene.ops("merged")}
        waiting = {one.place for one in self._late if self._open(one)}
        assert settled == {one.place for one in self._late} - waiting
        self._computed("verify", (max(-DAY_US, self._until_us - LONGEST_US), self._until_us))
        states = {each.state for each in coverage(self._scene.spec, self._scene.paths).intervals}
        assert states <= {"canonical", "open"}

    def _parts(self, ending: Ending) -> list[Range]:
        bounds = self._times()
        if len(bounds) < 2:
            return []
        cuts = [bounds[min(cut * len(bounds) // 1000, len(bounds) - 1)] for cut in ending.cuts]
        edges = sorted({bounds[0], *(cuts if ending.kind == "in parts" else ()), bounds[-1]})
        parts = list(pairwise(edges))
        if ending.order == "backwards":
            return parts[::-1]
        return parts[1::2] + parts[::2] if ending.order == "inside out" else parts

    def _computed(self, kind: str, span: Range | None) -> RepairPlan | None:
        """The plan of what was staged; None where nothing is to do, or it is rightly refused."""
        plan = self._planned(kind, span)
        if plan is None:
            return None
        form, scene = self._form, self._scene
        before = files(Path(str(scene.paths.checkpoint)))
        ranges = tuple((us(each.start), us(each.end)) for each in plan.spans)
        report = stage(scene.spec, scene.settings, f"stage-{plan.repair_id}", plan.repair_id)
        if report.problem and report.problem.code == "STOPPED":
            raise KeyboardInterrupt
        assert files(Path(str(scene.paths.checkpoint))) == before, "the live checkpoint"
        here, wanted = compared(form, scene.table(), self._whole, ranges)
        parts = [row for row in within(form, scene.table(), ranges) if row not in here]
        self._hold_report(report, kind, here, wanted, len(parts))
        return plan

    def _planned(self, kind: str, span: Range | None) -> RepairPlan | None:
        ends = {"start": at(span[0]), "end": at(span[1])} if span else {}
        scene = self._scene
        behind = span is not None and span[1] > self._until_us
        try:
            plan = plan_repair(scene.spec, scene.settings, _request(kind, **ends))
        except AccountBehind:
            assert self._crashed, "its last batch is accounted for"
            self.done["account behind"] += 1
            return None
        except RangeOpen:
            assert behind or not self._watermark_us, "the range is final"
            self.done["open"] += 1
            return None
        assert not self._crashed, "nobody knows which records of its last batch were late"
        assert self._watermark_us
        assert not behind, "the range is not final"
        assert plan.horizon == Positions(scene.ends()[-1])
        ranges = [(us(each.start), us(each.end)) for each in plan.spans]
        if kind == "repair":
            self._hold_ranges(ranges)
        else:
            assert plan.idle or ranges == [span]
        if plan.idle:
            if span:
                assert not within(self._form, self._scene.table(), [span])
                assert not within(self._form, self._canonical, [span])
            self.done["idle"] += 1
            return None
        plan.store(scene.paths)
        return plan

    def _hold_ranges(self, ranges: list[Range]) -> None:
        """A repair computes every row that is final and that a waiting record touches."""
        settled = {(row["partition"], row["offset"]) for row in self._scene.ops("merged")}
        for one in self._late:
            if one.place not in settled and not self._open(one):
                a, b = self._touches(one)
                assert any(c <= a and b <= d for c, d in ranges), f"{one} is left out"
        assert bool(ranges) == any(
            one.place not in settled and not self._open(one) for one in self._late
        )

    def _hold_report(self, report, kind, here, wanted, parts) -> None:
        same = not (_bag(here) - _bag(wanted)) and not (_bag(wanted) - _bag(here))
        found = report.change
        assert found is not None, report.problem
        self.done[f"{kind}, {'equal' if same else 'different'}"] += 1
        self.done[f"{kind}, parts"] += bool(parts)
        good = kind != "verify" or (same and not parts)
        assert (report.problem is None) == good, (report.problem, str(found))
        assert found.parts == parts, str(found)
        assert (found.rows_before, found.rows_after) == (len(here), len(wanted)), str(found)
        assert (found.differs == 0) == same, str(found)
        told = (found.unexplained, found.unaccounted, found.newly_bad, found.count_difference)
        assert told == (0, 0, 0, 0), told

    def _swap(self, plan: RepairPlan) -> None:
        ranges = tuple((us(each.start), us(each.end)) for each in plan.spans)
        overlapped = any(
            each.version > plan.table_version and each.overlaps(ranges) for each in self._layers
        )
        paths = self._scene.paths
        passed = read_cursor(paths.cursor).judged_table_version == Delta(paths.table).version()
        try:
            done = swap(self._scene.spec, self._scene.settings.root, plan.repair_id, "swap")
        except (RepairOverlapped, StagingStale):
            beside = self._beside(ranges, plan.table_version)
            assert overlapped or beside, "nobody replaced a row"
            self.done["overlapped"] += 1
            return
        assert not overlapped
        self.done[done.state] += 1
        if done.table_version is not None:
            self._layers.append(
                Layer(plan.repair_id, ranges, plan.horizon.by_partition, done.table_version)
            )
            assert done.passed == passed or self._crashed
        self._hold(f"after {plan.kind} {plan.repair_id}")
        self._hold_fates()

    def _beside(self, ranges: Iterable[Range], version: int) -> bool:
        """Whether later repairs or undos may have replaced sessions that these ranges could too."""
        reach = LONGEST_SESSION_US if is_of_sessions(self._form) else 0
        wider = [(a - reach, b + reach) for a, b in ranges]
        later = (*self._layers, *self._undone)
        return any(each.version > version and each.overlaps(wider) for each in later)

    def _undo(self, act: Act) -> None:
        if not self._layers:
            return
        layer = self._layers[min(act.low * len(self._layers) // 1000, len(self._layers) - 1)]
        overlapped = any(
            each.version > layer.version and each.overlaps(layer.ranges) for each in self._layers
        )
        try:
            undo(self._scene.spec, self._scene.settings.root, layer.repair_id, "undo")
        except RepairOverlapped:
            beside = self._beside(layer.ranges, layer.version)
            assert overlapped or beside, "no later repair has a range in common with it"
            self.done["undo overlapped"] += 1
            return
        assert not overlapped
        self._layers.remove(layer)
        self._undone.append(layer._replace(version=Delta(self._scene.paths.table).version()))
        self.done["undone"] += 1
        self._hold(f"after the undo of {layer.repair_id}")
        self._hold_fates()

    def _hold(self, when: str) -> None:
        rows = expected(self._form, self._layers, self._seen, self._watermark_us)
        assert_same(self._scene.table(), rows, f"the table {when}")

    def _hold_fates(self) -> None:
        """Each late record waits or has the one right fate: what is called merged is in a row."""
        late = {one.place: one for one in self._late}
        rows = self._scene.ops("merged")
        fates = {(row["partition"], row["offset"]): row["fate"] for row in rows}
        assert len(fates) == len(rows), "a record has two fates"
        all_seen = [one._replace(missed_us=None) for one in self._seen]
        kept = self._form.kept(all_seen)
        for place, fate in fates.items():
            assert fate == ("merged" if place in kept else "duplicate"), late[place]
            a, b = self._touches(late[place])
            inside = within(self._form, self._canonical, [(a, b)]) if fate == "merged" else []
            for row in inside:
                assert any(
                    each.covers(self._form.position_us(row)) and each.knows(late[place])
                    for each in self._layers
                ), f"{late[place]} is called merged, and no repair of {row} is in the table"
        balance = coverage(self._scene.spec, self._scene.paths).balance
        assert (balance.off, balance.filtered) == (0, 0)
        assert (balance.late, balance.waiting) == (len(late), len(late) - len(fates))
        told = Counter(fates.values())
        assert (balance.merged, balance.duplicates) == (told["merged"], told["duplicate"])

    @property
    def _canonical(self) -> list[Row]:
        return canonical(self._form, self._seen, self._watermark_us)

    @property
    def _whole(self) -> list[Row]:
        """With the sessions that go on: what of the table is a part of one stays."""
        last = LAST_US if is_of_sessions(self._form) else self._watermark_us
        return canonical(self._form, self._seen, last)

    @property
    def _until_us(self) -> int:
        return self._form.until_us(self._watermark_us) if self._watermark_us else 0

    def _touches(self, one: Seen) -> Range:
        assert one.missed_us is not None
        return self._form.touches(one.event, one.missed_us)

    def _open(self, one: Seen) -> bool:
        """Whether a row that it touches is not final yet."""
        return self._touches(one)[1] > self._until_us

    def _times(self) -> list[int]:
        """Bounds of ranges: at and beside events and hours, within what is final and ten years."""
        until = self._until_us
        found = {until}
        for one in self._seen:
            at_us = one.event.at_us
            hour = at_us // HOUR_US * HOUR_US
            found |= {at_us, at_us + 1, hour, hour + HOUR_US}
        return sorted(each for each in found if until - LONGEST_US <= each <= until)

    def _span(self, act: Act) -> Range | None:
        bounds = self._times()
        low, high = (
            bounds[min(part * len(bounds) // 1000, len(bounds) - 1)]
            for part in sorted((act.low, act.high))
        )
        if act.ahead:
            return low, self._until_us + HOUR_US
        return (low, high) if low < high else None


def _request(kind: Any, **ends: datetime) -> Request:
    return Request(kind=kind, who="a property", **ends)


def _bag(rows: list[Row]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


def _outside(form: RangedForm, rows: list[Row], ranges: list[Range]) -> list[Row]:
    return [row for row in rows if not within(form, [row], ranges)]
