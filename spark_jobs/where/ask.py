"""Ask: the question that needs Spark's SQL, by an application of Spark, or by the worker that there
is. Needs no Spark.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from spark_jobs.launch import foreground
from spark_jobs.launch.submit import command, environment
from spark_jobs.launch.warm.client import begun
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.source.place import Place
from spark_jobs.values.own_columns import OFFSET, PARTITION, own
from spark_jobs.where.read import Seen, values

if TYPE_CHECKING:
    from spark_jobs.messages.job import Where
    from spark_jobs.settings.installation import Settings

REACHED: Final = "reached.arrow"
ENTERED: Final = "entered.arrow"
REACHED_COLUMN: Final = own("reached")
WHY_COLUMN: Final = own("why")
RULES_COLUMN: Final = own("failed_rules")
CLOCK_COLUMN: Final = own("by_clock")
STDOUT, STDERR = 1, 2


class Failed(Exception):
    """The application has failed, and has said why."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def ask(job: Where, settings: Settings) -> dict[Place, Seen]:
    """What it tells. Raises Failed."""
    # A worker's Python processes may end behind the run.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        job = job.model_copy(update={"folder": folder})
        if status := _run(job, settings):
            raise Failed(status)
        return answered(Path(folder))


def _run(job: Where, settings: Settings) -> int:
    variables = {**os.environ, **environment(settings)}
    many = offsets_in(job.asked) + offsets_in(job.beside)
    words, out = job.words(), (STDOUT, STDERR)
    if not (warm := begun(settings, job.pipeline, words, variables, many, out)):
        return foreground.run(command(settings, job, many), variables)
    try:
        warm.follow()
    except BaseException:
        warm.kill()
        raise
    return warm.status


def answered(folder: Path) -> dict[Place, Seen]:
    """The answer in the folder of a job that has ended well."""
    entered = {_place(row): row for row in _rows(folder / ENTERED)}
    found: dict[Place, Seen] = {}
    for row in _rows(folder / REACHED):
        place = _place(row)
        of_it = entered.pop(place, {})
        found[place] = Seen(
            row.get(REACHED_COLUMN, 0),
            _columns(of_it),
            row.get(WHY_COLUMN),
            row.get(RULES_COLUMN),
            row.get(CLOCK_COLUMN, False),
        )
    return found | {place: Seen(0, _columns(row), None) for place, row in entered.items()}


def _place(row: dict[str, Any]) -> Place:
    return Place(row[PARTITION], row[OFFSET])


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in (PARTITION, OFFSET)}


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with pa.OSFile(str(path)) as file:
        return values(pa.ipc.open_file(file).read_all())
