"""Crash images: copies of a root, one at each failpoint that a drain passes, and scenes over
copies.

A copy is what a kill at that place leaves there. It is made again until nothing was written while
it was made, so that it shows one moment. For the same reason it cannot show everything that a kill
can: - a file that another thread (the audit, RocksDB's maintenance) had half written at that
moment; - the lease held by a process that lives on, or workers and a JVM that outlive their driver;
- RocksDB's own files on the local disk and Spark's memory: the session that recovers an image is
the one that made it; - what the operating system had not written yet when the power went. Real
kills are in tests/e2e and tests/faults. Kafka is not copied: an image is recovered with whatever
was published since.
"""

import copy
import shutil
import threading
from pathlib import Path
from typing import Self

import pytest

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.proof.acts import copy_at_rest
from spark_jobs.spec import Pipeline
from spark_jobs.storage import failpoint
from tests.harness.scene import Scene

OF_A_BATCH = ("planned", "table.committed", "audit", "audited")
"""The failpoints that each batch passes. The others are passed once a run."""
Moment = tuple[str, int]
"""A failpoint, and the batch that passed it: the newest that is planned; -1 before any."""


class Images:
    """In the place of failpoint.at, within a block: copies the scene's root at each place, or at
    these, and goes on.
    """

    def __init__(self, scene: Scene, folder: Path, *places: str) -> None:
        self._scene = scene
        self._folder = folder
        self._places = places
        self._patch = pytest.MonkeyPatch()
        self._copying = (
            threading.Lock()
        )  # the query's thread and the audit's each pass failpoints of their own
        self.taken: dict[Moment, Path] = {}

    def at(self, place: str) -> None:
        """Copy the root, as it is here."""
        if self._places and place not in self._places:
            return
        with self._copying:
            audited = read_cursor(self._scene.paths.cursor).audited
            newest = max(Checkpoint(self._scene.paths.checkpoint).planned(), default=-1)
            moment = (place, audited + 1 if place.startswith("audit") else newest)
            self.taken[moment] = self._folder / f"{moment[0]}-{moment[1]}"
            copy_at_rest(Path(self._scene.settings.root), self.taken[moment])

    def __enter__(self) -> Self:
        self._patch.setattr(failpoint, "at", self.at)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


def over(scene: Scene, root: Path, spec: Pipeline | None = None) -> Scene:
    """The same topic and ledger over another root, as another pipeline if one is given."""
    made = copy.copy(scene)
    made.spec = (spec or scene.spec).model_copy(update={"topic": scene.spec.topic})
    made.settings = scene.settings._replace(root=str(root))
    return made


def copied(scene: Scene, root: Path) -> Scene:
    """The scene over a copy of its root."""
    shutil.copytree(scene.settings.root, root)
    return over(scene, root)
