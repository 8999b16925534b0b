"""Reading: all that is known of one pipeline; its troubles come from it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.messages.withheld import of_problem
from spark_jobs.overview.json_of_overview import Mark
from spark_jobs.spec import cron

if TYPE_CHECKING:
    from spark_jobs.checkpoint.notes.begun import Begun
    from spark_jobs.messages.report import Problem
    from spark_jobs.ops.json_of_tables import RunLine
    from spark_jobs.spec import Pipeline

SLACK = timedelta(minutes=10)
"""How long what follows by itself may take: a scheduler that begins a run, a publish behind one."""


class Due(NamedTuple):
    """What Airflow knows of the pipeline's DAG."""

    paused: bool = False
    at: datetime | None = None
    """When it creates the next run."""
    active_since: datetime | None = None
    """Since when a run waits or works; None if none does."""
    failed_at: datetime | None = None
    """When its last run ended, if that failed."""


class Notes(NamedTuple):
    """What the small files of a pipeline's checkpoint say."""

    spec: Pipeline | None = None
    """The live one; None if it cannot be read."""
    generations: tuple[str, ...] = ()
    """Of the checkpoint; empty without one."""
    published: int = -1
    """The newest table version that consumers were told of."""
    change: Begun | None = None
    """A change that has begun and not ended."""
    held: bool = False
    """Whether somebody holds the lease, and so carries it out."""
    problem: Problem | None = None
    """Why some of it cannot be read."""


class Waits(NamedTuple):
    """What waits for a person, of the live checkpoint."""

    late: int = 0
    """Late records that no repair has used."""
    late_of: tuple[str, ...] = ()
    """The runs that rejected them."""
    quarantined: int = 0
    outdated: tuple[int, datetime | None] = (0, None)
    """Ranges that a repair would compute again since tables beside the stream have changed; since
    when.
    """
    batches: int = 0
    """Batches with rows in the table that consumers were not told of."""
    rows: int = 0
    since: datetime | None = None
    """When the first of them was accounted for."""
    state_rows: int | None = None
    state_bytes: int | None = None
    staged: tuple[datetime, ...] = ()
    """When each change was staged that waits for an answer."""


class Reading(NamedTuple):
    """One pipeline at one time."""

    pipeline: str
    now: datetime
    notes: Notes = Notes()
    last: RunLine | None = None
    """The last drain."""
    marks: tuple[Mark, ...] = ()
    """The last drains, newest first."""
    again: RunLine | None = None
    """The last run that computed ranges again."""
    waits: Waits = Waits()
    warnings: tuple[str, ...] = ()
    """The checks of severity warning that the last drain did not pass."""
    due: Due | None = None
    """None if Airflow does not know the DAG, or was not asked."""

    @property
    def lacking(self) -> str | None:
        """Why some of it cannot be read, without what may be quoted of a value or of code."""
        if self.notes.problem is None:
            return None
        found = of_problem(self.notes.problem)
        return f"{found.code}: {found.what} {found.remedy}".strip()

    @property
    def failing_since(self) -> datetime | None:
        """When the first of the last drains failed behind which none succeeded."""
        since = None
        for mark in self.marks:
            if mark.status == "succeeded":
                break
            since = mark.started_at
        return since

    @property
    def late_since(self) -> datetime | None:
        """When the first of the drains began whose late records wait; of one that is not shown any
        more, the oldest shown drain's.
        """
        own = [mark.started_at for mark in self.marks if mark.run_id in self.waits.late_of]
        older = {*self.waits.late_of} - {mark.run_id for mark in self.marks}
        if older and self.marks:
            return self.marks[-1].started_at
        return min(own, default=None)

    @property
    def watermark(self) -> datetime | None:
        """The newest that a drain ended with."""
        return next((mark.watermark for mark in self.marks if mark.watermark), None)

    @property
    def longest_wait(self) -> timedelta:
        """The longest time from one run to the next by its schedule; a day if nobody knows it."""
        spec = self.notes.spec
        return cron.longest_wait(spec.schedule.cron) if spec else timedelta(days=1)

    @property
    def allowed(self) -> timedelta | None:
        """How far behind now the watermark of a pipeline that keeps up may be: its delay, two waits
        for a run, and what follows by itself. None without a watermark.
        """
        spec = self.notes.spec
        if spec is None or spec.watermark_delay is None:
            return None
        return spec.watermark_delay + 2 * self.longest_wait + SLACK

    @property
    def quiet(self) -> bool:
        """Whether drains go on, and the last one found nothing new that may be read."""
        last = self.marks[0] if self.marks else None
        if last is None or last.verdict != "idle" or (self.due and self.due.paused):
            return False
        return self.now - last.ended_at <= self.longest_wait + SLACK

    @property
    def stale_since(self) -> datetime | None:
        """When the watermark fell behind; None if it did not, or gains on the clock.

        What reads history is far behind too, and is in no trouble: its watermark moves faster than
        the clock. It is in trouble that for so long moved less than half as fast.
        """
        newest, allowed = self.watermark, self.allowed
        if newest is None or allowed is None or self.now - newest <= allowed:
            return None
        ended_well = (mark for mark in self.marks if mark.status == "succeeded")
        known = [(mark.ended_at, mark.watermark) for mark in ended_well if mark.watermark]
        if not known:
            return None
        # The newest of those that are so long ago; or the oldest.
        ended, then = next((each for each in known if self.now - each[0] >= allowed), known[-1])
        moved, passed = newest - then, self.now - ended
        long = passed >= allowed - SLACK or (len(known) > 1 and not moved)
        return newest + allowed if long and moved < passed / 2 else None
