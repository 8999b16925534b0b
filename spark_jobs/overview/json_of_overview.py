"""What the overview shows, as JSON and on its page: also a pipeline's last drains as a strip,
newest right, with the gaps between them. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Final, Literal, NamedTuple

from pydantic import Field as Described

from spark_jobs.messages.part import Part
from spark_jobs.ops.json_of_tables import RunLine

Verdict = Literal["good", "idle", "judged", "failed"]
Place = Literal["pipeline", "run", "late", "state", "coverage", "dag"]
"""The page where one sees more: of Sluice's the pipeline's, or Airflow's of the DAG."""


class Mark(Part):
    """One drain in the strip of a pipeline."""

    run_id: str = Described(description="the run")
    status: str = Described(description="succeeded or failed")
    problem: str | None = Described(description="the code of the error that ended it; null if none")
    started_at: datetime = Described(description="when it began")
    ended_at: datetime = Described(description="when it ended")
    read: int = Described(description="records that it read")
    state_rows: int | None = Described(description="rows in all state stores at its end")
    watermark: datetime | None = Described(description="Spark's watermark at its end")

    @property
    def verdict(self) -> Verdict:
        """good: it read records and passed; idle: nothing was there; judged: a check failed."""
        if self.status != "succeeded":
            return "judged" if self.problem == "CHECK_FAILED" else "failed"
        return "good" if self.read else "idle"


class TroubleLine(Part):
    """One trouble of a pipeline."""

    name: str = Described(description="what it is called")
    grave: bool = Described(description="whether rows do not reach consumers as they should")
    words: str = Described(description="what is wrong")
    since: datetime | None = Described(description="since when; null if nothing says so")
    why: str = Described(description="what the next step is good for")
    command: str = Described(description="the next step at a terminal")
    place: Place = Described(description="the page that shows more")


class PipelineLine(Part):
    """One pipeline on a line of the overview."""

    pipeline: str = Described(description="the pipeline")
    troubles: tuple[TroubleLine, ...] = Described(description="the worst first; empty without any")
    last: RunLine | None = Described(description="its last drain; null before the first")
    runs: tuple[Mark, ...] = Described(description="its last drains, newest first, at most 30")
    lacking: str | None = Described(
        default=None, description="why something of it could not be read; null if nothing lacks"
    )
    late: int | None = Described(description="rows in ops.late; null if they cannot be read")
    quarantined: int | None = Described(description="rows in ops.quarantine; null likewise")
    late_waiting: int | None = Described(
        default=None,
        description="late records that no repair has used; null without a readable checkpoint",
    )
    quarantined_waiting: int | None = Described(
        default=None, description="quarantined records that no repair has used; null likewise"
    )
    unpublished_batches: int | None = Described(
        default=None,
        description="batches with rows in the table that consumers were not told of; null likewise",
    )
    unpublished_rows: int | None = Described(
        default=None, description="the rows that these batches wrote; null likewise"
    )
    state_rows: int | None = Described(
        default=None, description="rows of its state behind the newest batch; null if not known"
    )
    growth: int | None = Described(
        default=None, description="by how many it grew over these drains; null if not known"
    )
    state_bytes: int | None = Described(
        default=None, description="bytes of its state behind the newest batch; null if not known"
    )
    next_run: datetime | None = Described(
        default=None,
        description="when Airflow creates the DAG's next run; null if none is due: it is paused, "
        "or has no schedule",
    )
    running_since: datetime | None = Described(
        default=None, description="since when a run of its DAG waits or works; null if none does"
    )
    paused: bool | None = Described(
        default=None, description="whether the DAG is paused; null if Airflow does not know it"
    )


class Overview(Part):
    """All pipelines that a person may see."""

    at: datetime = Described(description="when they were read")
    lacking: str | None = Described(
        default=None, description="why nothing could be read of any; null if it could"
    )
    troubled: int = Described(description="how many have a trouble")
    grave: int = Described(description="how many of them a grave one")
    counts: dict[str, int] = Described(description="trouble -> pipelines that have it, worst first")
    pipelines: tuple[PipelineLine, ...] = Described(
        description="by their worst trouble, longest first; then those without one, by name"
    )


STEP: Final = 8
"""Units of the SVG from one mark to the next."""
GAP: Final = 2.5
"""How many times the usual time between two drains a gap is."""
WORDS: Final = {"good": "passed", "idle": "nothing new", "judged": "a check failed"}


class Spot(NamedTuple):
    """One place in the strip: a drain, or a gap without a run."""

    x: int
    kind: Verdict | None
    """None of a gap."""
    title: str
    run_id: str = ""


class Strip(NamedTuple):
    """All of them, and how wide they are."""

    spots: list[Spot]
    width: int


def strip(marks: Sequence[Mark]) -> Strip:
    """Of drains, newest first."""
    ordered = marks[::-1]
    begun = [mark.started_at for mark in ordered]
    times = [(later - one).total_seconds() for one, later in pairwise(begun)]
    usual = median(times) if times else 0.0
    spots = list[Spot]()
    for mark, passed in zip(ordered, [0.0, *times], strict=True):
        if usual and passed > GAP * usual:
            spots.append(Spot(STEP * len(spots), None, "no drain between"))
        spots.append(Spot(STEP * len(spots), mark.verdict, _title(mark), mark.run_id))
    return Strip(spots, STEP * len(spots))


def _title(mark: Mark) -> str:
    words = WORDS.get(mark.verdict) or mark.problem or "failed"
    read = f", {mark.read:,} records" if mark.read else ""
    return f"{mark.started_at:%F %H:%M} {words}{read}"
