"""Night: which published days are verified next, oldest proof first, each as `sluice verify` does
it. The budget is a share of what a week's drains took; where it ends, the next night goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckFailed, RangeThinned, RecordsUnreachable, SluiceError
from spark_jobs.messages.kind import PROVING_KINDS, STATE_KINDS
from spark_jobs.messages.report import Report
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.prove.covered import REFUTING, Held, covered, published_until, tell_proved
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.offsets.reach import Reach
from spark_jobs.repair.planner import plan_repair
from spark_jobs.source.sources import source_of
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span, joined

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

RUN_PREFIX = "prove-"
"""Of the runs that count against the budget: what a person verifies does not."""
WEEK = timedelta(days=7)
COLD: Final = 15.0
"""Processor seconds of a small day's proof by an application of its own, on two cores."""
VERDICTS: Final = REFUTING | {RangeThinned.code}
"""Problems of a verify that has computed the rows of its day."""
NEVER = datetime.min.replace(tzinfo=UTC)
Verify = Callable[[RepairPlan, str], Report]
"""Computes a plan under the id of a run, and gives the report."""
Say = Callable[[str], None]


class Took(NamedTuple):
    """A run that has ended."""

    at: datetime
    seconds: float
    """Of the processor."""
    judged: bool = True
    """Whether it came to a verdict. One that failed at once says nothing of what a proof takes."""


class Budget(NamedTuple):
    """What proofs may take now, in processor seconds."""

    drains: float
    """What the last week's drains took."""
    proofs: float
    """What its proofs took."""
    tonight: float
    """What is left of the share: of a week, and of the days since the last proof."""
    cost: float
    """What one proof is expected to take: as the longest of the week, or the newest before it. With
    no verdict among them at least as half of the week's drains took less, for a first load says
    nothing of a day, and at least COLD.
    """

    @classmethod
    def of(
        cls, share: float, now: datetime, drains: Sequence[Took], proofs: Sequence[Took]
    ) -> Budget:
        """`share`: from 0 to 1. `proofs` are ascending; only those of the last week are spent."""
        of_week = [each.seconds for each in proofs if each.at > now - WEEK]
        waited = max(now - proofs[-1].at, timedelta()) if of_week else WEEK
        took, spent = sum(each.seconds for each in drains), sum(of_week)
        left = max(min(share * took * (waited / WEEK), share * took - spent), 0.0)
        known = [each for each in proofs if each.at > now - WEEK] or proofs[-1:]
        longest = max((each.seconds for each in known), default=0.0)
        if drains and not any(each.judged for each in known):
            longest = max(longest, median(each.seconds for each in drains), COLD)
        return cls(took, spent, left, longest)

    def allows(self, tonight: Sequence[float]) -> bool:
        """Whether another proof is begun behind those that took so much: only if it fits when it
        takes as long as the longest that is known. So a night goes beyond its budget by at most
        what its last proof took more than that.
        """
        return sum(tonight) + max(self.cost, *tonight, 0.0) <= self.tonight


def budget(paths: Paths, share: float, now: datetime) -> Budget:
    """`share`: from 0 to 1."""
    own = ops_tables.equals({"pipeline": paths.pipeline})
    until = f"ended_at <= TIMESTAMP '{now.isoformat()}'"
    ended = f"FROM runs WHERE {own} AND {until} AND started_at IS NOT NULL"

    def runs(where: str) -> list[Took]:
        columns = "started_at, ended_at, problem, report"
        sql = f"SELECT {columns} {ended} AND {where} ORDER BY ended_at"
        found = list[Took]()
        for each in ops_tables.query(paths.root, "runs", sql).to_pylist():
            counted = json.loads(each["report"] or "{}").get("processor_seconds")
            took = seconds(counted, each["started_at"], each["ended_at"])
            judged = each["problem"] is None or each["problem"] in VERDICTS
            found.append(Took(each["ended_at"], took, judged))
        return found

    since = f"ended_at > TIMESTAMP '{(now - WEEK).isoformat()}'"
    of_proofs = f"{ops_tables.among('kind', PROVING_KINDS)} AND starts_with(run_id, '{RUN_PREFIX}')"
    newest = f"SELECT max(ended_at) {ended} AND {of_proofs}"
    drains = runs(f"{ops_tables.among('kind', STATE_KINDS)} AND {since}")
    return Budget.of(
        share, now, drains, runs(f"{of_proofs} AND ({since} OR ended_at = ({newest}))")
    )


def seconds(counted: float | None, started: datetime, ended: datetime) -> float:
    """The processor seconds of a run; where nobody counted them, as long as it took."""
    return max((ended - started).total_seconds(), 0.0) if counted is None else counted


class Night(NamedTuple):
    """What one night is to do for a pipeline."""

    pipeline: str
    days: tuple[Span, ...]
    """In the order in which they are verified."""
    published: int
    """Published days in which nothing waits."""
    proved: int
    """Of them, those whose proof holds."""
    refuted: tuple[Span, ...]
    """Of them, those that are wrong and that nobody has changed since."""
    gone: tuple[Span, ...]
    """Of them, those whose records nobody has any more."""
    leaving: tuple[tuple[Span, datetime], ...]
    """Of them, those whose records retention may take soon, and until when it does not."""
    untold: str
    """Why nobody can tell that of some; empty if it is told."""
    budget: Budget

    @property
    def lines(self) -> Iterator[str]:
        """The plan for a reader."""
        of = self.budget
        yield (
            f"{self.pipeline}: {self.published:,} published days, {self.proved:,} proved, "
            f"{len(self.refuted):,} wrong, {len(self.gone):,} without their records"
        )
        yield (
            f"  budget          {of.tonight:,.0f} processor seconds, about {of.cost:,.0f} a day; "
            f"in the last week drains took {of.drains:,.0f} and proofs {of.proofs:,.0f}"
        )
        for until in sorted({until for _, until in self.leaving}):
            days = [day for day, then in self.leaving if then == until]
            together = ", ".join(map(str, joined(days, len(days))))
            yield f"  provable until  {until:%F %H:%M}: {together}"
        if self.untold:
            yield f"  provable until  cannot be told: {self.untold}"
        yield from (f"  verify          {day}" for day in self.days)
        if self.published > len(self.gone) and not self.days and of.drains:
            least = 100 * of.cost / of.drains
            enough = f"a week has one from SLUICE_PROOF={least:.1f}% on"
            why = enough if least <= 100 else "one takes more than these drains"  # noqa: PLR2004 - per cent
            yield f"  no day tonight: {why}"


def tonight(spec: Pipeline, settings: Settings, paths: Paths, now: datetime) -> Night:
    """The plan. Writes nothing. Raises RangeUnsupported, RangeOpen before the first batch,
    CheckpointBroken, and what the source refuses.
    """
    way, known = ranged(spec), read_identity(paths)
    of = budget(paths, settings.proof_share, now)
    until = published_until(way, paths)
    if known is None or until is None:
        return Night(spec.name, (), 0, 0, (), (), (), "", of)
    source = source_of(spec, settings)
    held = Held.by(source, source.state().earliest, now)
    found = covered(spec, paths, held)
    intervals = [one for one in found.intervals if one.state == "canonical" and one.end <= until]
    horizon = Checkpoint(paths.checkpoint).batch(found.batch).end
    gone = Reach.of(way, paths, known, held.earliest, horizon).lacking(
        [each.span for each in intervals]
    )
    # A day that is not known to be right or wrong comes first: nobody has looked at its rows.
    due = sorted(
        (each.proved_at or each.refuted_at or NEVER, each.span)
        for each in intervals
        if each.span not in gone
    )
    number = int(of.tonight / of.cost) if of.cost else 0
    return Night(
        spec.name,
        tuple(day for _, day in due[:number]),
        len(intervals),
        sum(each.proved_at is not None for each in intervals),
        tuple(each.span for each in intervals if each.refuted_at),
        gone,
        tuple((each.span, each.provable_until) for each in intervals if each.provable_until),
        found.untold if any(each.untold for each in intervals) else "",
        of,
    )


def prove(
    spec: Pipeline, settings: Settings, night: Night, who: str, verify: Verify, say: Say
) -> None:
    """Verify the days of a night, until the budget is spent. Raises CheckFailed if one is wrong, or
    was before and is as it was; else the problem of the last that could not be computed. A plan's
    errors end the night.
    """
    wrong, spent, problem = set(night.refuted), list[float](), None
    for number, day in enumerate(night.days):
        if not night.budget.allows(spent):
            say(f"{spec.name}: the budget is spent; the next night goes on with {day}")
            break
        try:
            start, end = (at.isoformat() for at in day)
            asked = Request(kind="verify", start=start, end=end, note="proof by night", who=who)
            plan = plan_repair(spec, settings, asked)
        except RecordsUnreachable as error:
            say(f"{spec.name}: {day} is not proved: {error}")
            continue
        if plan.idle:
            say(f"{spec.name}: {day} is not proved: no record has a row there")
            continue
        report = verify(plan, f"{RUN_PREFIX}{plan.repair_id}-{number}")
        spent.append(seconds(report.processor_seconds, report.started_at, report.ended_at))
        problem = _take(report, day, wrong, say) or problem
    tell_proved(spec, Paths(settings.root, spec))
    if days := sorted(wrong):
        start, end = (at.isoformat().replace("+00:00", "Z") for at in days[0])
        told = ", ".join(map(str, days[:5]))
        raise CheckFailed.days_refuted(
            pipeline=spec.name, count=len(days), days=told, start=start, end=end
        )
    if problem:
        raise problem


def _take(report: Report, day: Span, wrong: set[Span], say: Say) -> SluiceError | None:
    """Say what is known of the day now. The problem, if that is nothing new."""
    if report.problem is None:
        wrong.discard(day)
        say(f"{report.pipeline}: {day} is proved")
        return None
    error = report.problem.error()
    say(f"{report.pipeline}: {day} is not proved: {error}")
    if error.code in REFUTING:
        wrong.add(day)
        return None
    # A topic that Kafka compacts gives the same every night: nothing is wrong with the table.
    return None if error.code == RangeThinned.code else error
