"""Own drain: what a worker drains for itself: made records, from files in its scratch folder, into
a root there.

It runs what clients' drains run: a stream with state, Delta's commits, the account, the checks. Of
a client it knows neither root nor broker.
"""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from spark_jobs.errors import Stopped
from spark_jobs.launch.scratch import FOLDERS
from spark_jobs.launch.warm.inside.reception import Turn
from spark_jobs.launch.warm.inside.surroundings import as_a_process
from spark_jobs.settings.installation import NOBODY, Settings
from spark_jobs.spec import Aggregate, Check, Deduplicate, Field, Files, Pipeline, Tumbling
from spark_jobs.storage import failpoint

DRAIN: Final = "spark_jobs.runs.drain:drain"
NAME: Final = "idle"
"""Of the pipeline, and of its folder."""
RECORDS: Final = 2_000
"""Of each drain: enough for what is done by the record to be compiled too."""
COPIES: Final = 10
"""One record in so many comes twice."""
HOURS: Final = 6
"""From one drain's first event to the next one's: each closes windows."""
FIRST: Final = datetime(2020, 1, 1, tzinfo=UTC)
AGE_SECONDS: Final = 120.0
"""Of a file: a younger one might still be written."""


class LeftBehind(Exception):
    """What a drain has changed in this process cannot be put back."""


class Wanted:
    """As StopRequest of a run: a drain asks it, between two batches, whether it is to stop."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    @property
    def asked(self) -> str:
        """Who wants the worker; empty if nobody does."""
        return self._turn.wanted

    def raise_if_asked(self) -> None:
        """Raise Stopped if somebody does."""
        if self.asked:
            raise Stopped.before_reading()


class OwnDrains:
    """Drains of idle.py, of one worker. Each goes on behind the last one, in the same root."""

    def __init__(self, given: Settings) -> None:
        """`given`: the worker's settings."""
        self._folder = Path(os.environ[FOLDERS].split(",")[0]) / NAME
        root = str(self._folder / "root")
        self._settings = Settings(
            root, NOBODY, given.jars, given.master, given.driver_memory, locks="one-host"
        )
        self._spec = pipeline(self._folder / "records")
        self._begun = 0

    def next(self, turn: Turn) -> bool:
        """Do one. Returns whether it came to its end: nobody wanted the worker meanwhile. Raises
        what went wrong; LeftBehind before anything else.
        """
        self._begun += 1
        write(self._folder / "records", self._begun)
        variables = {**os.environ, **self._settings.environment()}
        nothing, left = os.open(os.devnull, os.O_WRONLY), list[str]()
        try:
            with as_a_process(variables, str(self._folder), nothing) as left:
                failpoint.read_again()
                run_id = f"{NAME}-{self._begun}"
                report = resolve_name(DRAIN)(self._spec, self._settings, run_id, Wanted(turn))
        finally:
            os.close(nothing)
            if left:
                raise LeftBehind("; ".join(left))
        if report.problem and report.problem.code != Stopped.code:
            raise RuntimeError(report.problem.what)
        return report.problem is None

    def remove(self) -> None:
        """Remove its files: no other one comes."""
        shutil.rmtree(self._folder, ignore_errors=True)


def pipeline(folder: Path) -> Pipeline:
    """What is drained: the files of this folder."""
    topic = Files(
        name="records",
        path=str(folder),
        event_time="at",
        fields=(
            Field(name="at", type="timestamp"),
            Field(name="id", type="string"),
            Field(name="kind", type="string"),
            Field(name="amount", type="double"),
        ),
    )
    return Pipeline(
        name=NAME,
        about="What a worker drains while nobody wants a run of it.",
        topic=topic,
        watermark_delay="1 hour",
        steps=(
            Deduplicate(keys=("id",)),
            Aggregate(
                window=Tumbling(size="1 hour"),
                keys=("kind",),
                measures={
                    "records": "count(*)",
                    "mean": "avg(amount)",
                    "largest": "max(amount)",
                },
                counts="records",
            ),
        ),
        output_checks=(
            Check(type="expect_column_values_to_not_be_null", kwargs={"column": "kind"}),
            Check(
                type="expect_column_values_to_be_between",
                kwargs={"column": "records", "min_value": 1},
            ),
        ),
    )


def write(folder: Path, number: int) -> None:
    """A file with the records of the drain of this number."""
    folder.mkdir(parents=True, exist_ok=True)
    first = FIRST + timedelta(hours=HOURS) * number
    step = timedelta(hours=HOURS) / RECORDS
    lines = [
        json.dumps(
            {
                "at": (first + step * each).isoformat(),
                "id": f"{number}-{each}",
                "kind": f"kind {each % 20}",
                "amount": each / 7,
            }
        )
        for each in range(RECORDS)
    ]
    path = folder / f"{number:04}.jsonl"
    path.write_text("\n".join([*lines, *lines[::COPIES], ""]))
    changed = path.stat().st_mtime - AGE_SECONDS
    os.utime(path, (changed, changed))
