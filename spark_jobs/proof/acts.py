"""Acts: what a case does with its pipeline, one after the other, by the code of the commands.

A kill at a failpoint leaves an image of the root: a copy, made while the process goes on. The copy
is made again until nothing was written meanwhile, so it shows one moment. It cannot show a file
that another thread had half written, nor what Spark and RocksDB hold outside of the root.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_jobs.admin.rewind import rewind
from spark_jobs.messages.request import Request
from spark_jobs.ops.terms import UNDO
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.storage import failpoint

if TYPE_CHECKING:
    from spark_jobs.messages.kind import AskedKind
    from spark_jobs.proof.cases import Act
    from spark_jobs.proof.scratch import Scratch

PATIENCE_SECONDS = 60


@contextmanager
def image_at(place: str, root: Path, image: Path) -> Iterator[None]:
    """Within the block, the first that passes the failpoint `place` copies `root` to `image`."""

    def copy() -> None:
        failpoint.ACTIVE.pop(place, None)
        copy_at_rest(root, image)

    failpoint.ACTIVE[place] = copy
    try:
        yield
    finally:
        failpoint.ACTIVE.pop(place, None)


def copy_at_rest(root: Path, image: Path) -> None:
    """Raises TimeoutError if somebody writes for longer than PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _copied_whole(root, image):
        shutil.rmtree(image, ignore_errors=True)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{root} did not come to rest within {PATIENCE_SECONDS} s")


def files(root: Path) -> dict[str, tuple[int, int]]:
    """Every file of a tree -> its size in bytes, and when it was written, in nanoseconds."""
    found = ((path, path.stat()) for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path.relative_to(root)): (stat.st_size, stat.st_mtime_ns) for path, stat in found}


def _copied_whole(root: Path, image: Path) -> bool:
    try:
        before = files(root)
        shutil.copytree(root, image, symlinks=True)
        return files(root) == before
    except (FileNotFoundError, shutil.Error):  # a file was renamed meanwhile
        return False


WHO: Final = "sluice test"


class Unmet(Exception):
    """An act had nothing to do, which its case does not expect."""


def acted(scratch: Scratch, act: Act, run_id: str) -> Scratch:
    """The same pipeline behind the act: a kill leaves it in another folder.

    Raises the SluiceError with which the act ended, and Unmet.
    """
    return DOES[act.verb](scratch, act.of, run_id)


def _drained(scratch: Scratch, _: str, run_id: str) -> Scratch:
    if problem := scratch.drain(run_id):
        raise problem.error()
    return scratch


def _killed(scratch: Scratch, place: str, run_id: str) -> Scratch:
    root = Path(scratch.settings.root)
    image = root.with_name(f"root behind {run_id}")
    with image_at(place, root, image):
        scratch.drain(run_id)
    if not image.exists():
        raise Unmet(f"no drain passed {place}")
    return scratch.over(image)


def _mended(kind: AskedKind, nothing: str, scratch: Scratch, _: str, run_id: str) -> Scratch:
    """Who has written the case agrees, but to rows that no record explains."""
    spec, settings = scratch.spec, scratch.settings
    plan = plan_repair(spec, settings, Request(kind=kind, who=WHO))
    if plan.idle:
        raise Unmet(nothing)
    plan.store(scratch.paths)
    report = stage(spec, settings, run_id, plan.repair_id)
    if report.problem:
        raise report.problem.error()
    if report.change and (rows := report.change.unexplained):
        raise Unmet(f"{rows} rows change that no record explains")
    approve(scratch.paths, plan.repair_id, WHO)
    swap(spec, settings.root, plan.repair_id, run_id)
    return scratch


def _undone(scratch: Scratch, _: str, run_id: str) -> Scratch:
    inside = f"state = 'swapped' AND repair_id NOT LIKE '%{UNDO}'"
    sql = f"SELECT repair_id FROM repairs WHERE {inside} ORDER BY swapped_at DESC"
    if not (ids := scratch.query("repairs", sql)):
        raise Unmet("there was no repair to take back")
    undo(scratch.spec, scratch.settings.root, ids[0]["repair_id"], run_id)
    return scratch


def _rewound(scratch: Scratch, batch: str, _: str) -> Scratch:
    if execute := rewind(scratch.spec, scratch.settings, int(batch)).execute:
        execute()
    return scratch


DOES: Final[dict[str, Callable[[Scratch, str, str], Scratch]]] = {
    "drain": _drained,
    "kill": _killed,
    "repair": partial(_mended, "repair", "no late record waited"),
    "undo": _undone,
    "replay": partial(_mended, "replay", "no record that was put aside is good now"),
    "rewind": _rewound,
    "correct": lambda scratch, *_: scratch,  # its rows are there, as a drain's records are
}
"""The verb of an act -> what does it."""
