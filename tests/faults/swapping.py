"""Swaps and undos that are killed over a real Delta table: old rows or new, none between."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from spark_jobs import failpoint
from spark_jobs.repair.exchange.swap import swap
from spark_jobs.repair.exchange.undo import undo
from spark_jobs.sink import history
from spark_jobs.storage.log_entries import entries
from tests.harness.crash import files
from tests.unit.repaired import SPEC, Changes, Root, Row, hour, hours, late, row, texts

Kind = Literal["swap", "undo"]
ROOTS_REPAIRS = 8
"""Repairs of one root: later ones meet a longer log."""
ENDED = "it had ended before"
HOURS = 6
"""Drained before the first repair."""
PATIENCE_SECONDS = 120


class Figures(NamedTuple):
    """What the kills found."""

    kills: int = 0
    repairs: int = 0
    """Swapped in whole after them; and undone."""
    undos: int = 0
    landed: Counter[str] = Counter()  # noqa: RUF012 - replaced, never changed

    @property
    def lines(self) -> list[str]:
        places = [f"  {times:4} {place}" for place, times in self.landed.most_common()]
        return [
            f"{self.kills} kills of swaps and undos survived: {self.repairs} repairs and "
            f"{self.undos} undos are whole, 0 lost, 0 doubled, 0 half done",
            *places,
        ]


def context() -> ForkServerContext:
    """Starts processes that have loaded Sluice already, and have called nothing of it."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([__name__])
    return made


def attempt(kind: Kind, root: str, repair_id: str, place: str) -> None:
    """What a process does."""
    failpoint.ACTIVE.update({place: "exit"} if place else {})
    (swap if kind == "swap" else undo)(SPEC, root, repair_id, f"{kind} {os.getpid()}")


class Swapping:
    """Kills, one after the other, by one seed."""

    def __init__(self, folder: Path, seed: int, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._chance = Random(seed)
        self._say = say
        self._processes = context()
        self._length = {"swap": 0.0, "undo": 0.0}
        self._landed: Counter[str] = Counter()
        self._repairs = self._undos = self._roots = self._batches = self._number = 0
        self._left = 0
        self._waits = False

    def run(self, kills: int) -> Figures:
        """Raises AssertionError at the first wrong thing."""
        self._left = kills
        while self._left > 0:
            root = self._root()
            for _ in range(ROOTS_REPAIRS):
                self._repair(root)
                if self._left <= 0:
                    break
        landed = Counter(self._landed)
        kills = landed.total() - landed[ENDED]
        return Figures(kills, self._repairs, self._undos, landed)

    def _root(self) -> Root:
        """A root that is drained, and on which one swap and its undo were timed."""
        self._waits = False
        self._roots += 1
        root = Root(self._folder / f"root-{self._roots}")
        root.drain(0, HOURS - 1)
        self._batches = HOURS
        root.stage("timed", [(row(1, "a"), row(1, "a", 2))])
        for kind in ("swap", "undo"):
            began = time.monotonic()
            assert self._process(kind, root, "timed", "").exitcode == 0
            self._length[kind] = time.monotonic() - began
        return root

    def _repair(self, root: Root) -> None:
        self._number += 1
        name = f"r{self._number}"
        before = Counter(root.rows())
        changes = self._changes(root)
        # A record of its own: of two repairs, one has a record.
        root.stage(name, changes, merged=(late(100 + self._number, hour(0)),))
        after = before - _bag(changes, 0) + _bag(changes, 1)
        self._until_done("swap", root, name, before, after)
        self._repairs += 1
        if self._chance.random() < 0.5:
            drained = Counter(root.rows())
            back = drained - _bag(changes, 1) + _bag(changes, 0)
            self._until_done("undo", root, name, drained, back)
            self._undos += 1
        if self._chance.random() < 0.5:
            self._drain(root)

    def _changes(self, root: Root) -> Changes:
        """Of one to three hours: rows that change, go and come."""
        picked = self._chance.sample(range(self._batches), self._chance.randint(1, 3))
        changes: Changes = []
        for number in picked:
            for known in root._within((hours(number),)):  # noqa: SLF001 - its own rows
                fate = self._chance.choice(("stays", "changes", "goes"))
                if fate != "stays":
                    new: Row | None = known | {"sales": known["sales"] + 1}
                    changes.append((known, new if fate == "changes" else None))
            changes.append((None, row(number, f"new {self._number}")))
        return changes

    def _until_done(
        self,
        kind: Kind,
        root: Root,
        name: str,
        before: Counter[str],
        after: Counter[str],
    ) -> None:
        """Kill it, once or several times, and let it end at last."""
        checkpoint = files(Path(str(root.paths.checkpoint)))
        while True:
            self._kill(kind, root, name, before, after)
            if self._chance.random() < 0.3:
                rows = self._drain(root)
                before, after = before + rows, after + rows
                checkpoint = files(Path(str(root.paths.checkpoint)))
            if self._left <= 0 or self._chance.random() < 0.6:
                break
        done = self._process(kind, root, name, "")
        assert done.exitcode == 0, f"the {kind} of {name} after the kills failed"
        assert files(Path(str(root.paths.checkpoint))) == checkpoint, "the live checkpoint"
        assert Counter(root.rows()) == after, f"the table after the {kind} of {name}"
        self._hold_record(kind, root, name)

    def _hold_record(self, kind: Kind, root: Root, name: str) -> None:
        """One commit, one row in ops.repairs, each record once in ops.merged or not at all."""
        notes = [json.loads(entry.get("userMetadata", "{}")) for entry in entries(root.paths.table)]
        made = Counter(note.get(history.REPAIR) for note in notes)
        ids = [name, f"{name}/undo"] if kind == "undo" else [name]
        assert [made[each] for each in ids] == [1] * len(ids), made
        states = root.states()
        wanted = ["undone", "swapped"] if kind == "undo" else ["swapped"]
        assert [states[each] for each in ids] == wanted, states
        merged = Counter(each for each, _ in root.merged())
        assert merged[name] == (kind == "swap"), merged
        judged = root.cursor.judged_table_version
        # Rows that an undo gives back may wait for a verdict of their own, until the next drain.
        if kind == "undo":
            self._waits = judged < root.version
        assert self._waits or judged == root.version, (judged, root.version)

    def _drain(self, root: Root) -> Counter[str]:
        """The rows that it writes."""
        known = Counter(root.rows())
        root.drain(self._batches, self._batches)
        self._batches += 1
        self._waits = False
        return Counter(root.rows()) - known

    def _kill(
        self, kind: Kind, root: Root, name: str, before: Counter[str], after: Counter[str]
    ) -> None:
        place = self._chance.choice((*failpoint.SWAP_POINTS, "", ""))
        started = time.monotonic()
        process = self._process(kind, root, name, place, self._length[kind])
        rows = Counter(root.rows())
        assert rows in (before, after), f"the {kind} of {name} is half done"
        if process.exitcode == 0:
            self._landed[ENDED] += 1
            return
        assert process.exitcode == -signal.SIGKILL, f"the {kind} failed by itself"
        self._left -= 1
        where = place or f"at any moment, {'after' if rows == after else 'before'} its commit"
        self._landed[f"{kind}: {where}"] += 1
        self._say(f"  {kind} of {name}: {where}, after {time.monotonic() - started:.2f} s")

    def _process(
        self, kind: Kind, root: Root, name: str, place: str, length: float = 0.0
    ) -> multiprocessing.process.BaseProcess:
        """A try, ended. With a length and without a place it is killed within that time."""
        words = (kind, root.settings.root, name, place)
        process = self._processes.Process(target=attempt, args=words)
        process.start()
        if length and not place:
            time.sleep(self._chance.uniform(0, length))
            process.kill()
        process.join(PATIENCE_SECONDS)
        assert process.exitcode is not None, f"the {kind} of {name} does not end"
        return process


def _bag(changes: Changes, side: int) -> Counter[str]:
    rows = [change[side] for change in changes]
    return Counter(texts([each for each in rows if each]))
