"""Plan text: a plan for a reader, before anything is done."""

from __future__ import annotations

from datetime import MAXYEAR
from typing import TYPE_CHECKING

from spark_jobs.messages.kind import KINDS, LATE_KINDS
from spark_jobs.repair.find.lost import told
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.spec.analysis.looked_up import kept
from spark_jobs.values.spans import in_brief

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.repair.find.lost import Counted
    from spark_jobs.repair.find.plan import Closed, RepairPlan
    from spark_jobs.repair.find.replaying import Replaying
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.values.spans import Span


def plan_lines(
    plan: RepairPlan,
    closed: Closed,
    inputs: Topics,
    covered: int,
    found: tuple[int, int, int],
    counted: Counted,
) -> tuple[str, ...]:
    """`found`: late records in the ranges, those whose rows drains still write, and changes of
    tables beside the stream that touch the ranges.
    """
    name, what = plan.pipeline, f"{plan.kind} of"
    touching, waits, changes = found
    final = f"all rows before {closed.until:%F %H:%M:%S} are final (batch {closed.batch})"
    if closed.until.year == MAXYEAR:
        final = "nothing is ever late for it"
    open_yet = (
        (f"  waiting         {waits:,} late records whose rows drains still write",)
        if waits
        else ()
    )
    if plan.idle:
        why = KINDS[plan.kind].idle
        return (f"{name}: nothing to {plan.kind}: {why}; {final}", *open_yet)
    ranges = f"{len(plan.spans)} range" + ("s" if len(plan.spans) > 1 else "")
    offsets = plan.horizon.text(inputs.shown)
    share = f" ({plan.offsets / covered:.1%})" if covered else ""
    parts = sum(map(len, (*plan.parts.values(), *plan.archived.values())))
    unknown = f"; {counted.offsets:,} of unknown event time" if counted.offsets else ""
    merged = plan.from_quarantine - len(plan.replays)
    kept = (f"  replayed        {merged:,} of earlier replays, from ops.quarantine",)
    late = f"{touching:,} in these ranges, " if plan.kind in LATE_KINDS else ""
    outdated = (f"  outdated        by {changes:,} changes of tables beside the stream",)
    return (
        f"{name}: {what} {ranges}: {in_brief(plan.spans)} UTC; {final}",
        f"  late records    {late}{plan.late:,} needed, from ops.late",
        *open_yet,
        *(outdated if changes else ()),
        *(kept if merged else ()),
        f"  as of offsets   {offsets} (batch {closed.batch}, audited)",
        f"  reach           records of {in_brief(plan.needed)}",
        f"  will read       {plan.offsets:,} of {covered:,} records{share} {_sources(plan)}, in "
        f"{parts} parts{unknown}",
        *(f"  without         {each}, which nobody has" for each in told(counted, inputs)),
        *_never_read(counted),
        f"  compared with   version {plan.table_version} of the table",
        *_beside_lines(plan),
    )


def key_lines(closed: Closed, plan: RepairPlan, *, changes: int = 0) -> tuple[str, ...]:
    """Of a table that follows a key. `changes`: of tables beside the stream, that touch rows."""
    name, as_of = plan.pipeline, f"as of batch {closed.batch}; nothing is ever late for it"
    if plan.idle:
        return (f"{name}: nothing to {plan.kind}: {KINDS[plan.kind].idle}; {as_of}",)
    which = f"keys with {plan.keys}" if plan.keys else "the keys of quarantined records"
    which = "the keys of outdated rows" if plan.outdated else which
    used, nowhere = plan.from_quarantine - len(plan.replays), offsets_in(plan.lost)
    told = {
        f"  outdated        by {changes:,} changes of tables beside the stream": changes,
        f"  replayed        {used:,} of earlier replays, from ops.quarantine": used,
        f"  will read       {plan.offsets:,} offsets {_sources(plan)}": plan.offsets,
        f"  without         {nowhere:,} offsets that nobody has: their rows stay": nowhere,
    }
    return (
        f"{name}: {plan.kind} of {which}; {as_of}",
        *(line for line, number in told.items() if number),
        f"  compared with   version {plan.table_version} of the table",
        *_beside_lines(plan),
    )


def _beside_lines(plan: RepairPlan) -> Iterator[str]:
    for name, pin in plan.inputs.items():
        yield f"  computed with   version {pin.version} of {name}"


def kept_lines(spec: Pipeline) -> Iterator[str]:
    """Which columns it compares with nothing."""
    if names := sorted(kept(spec)):
        told = f"{', '.join(names)}: rows keep what they looked up (corrections='keep')"
        yield f"  not compared    {told}"


def _never_read(counted: Counted) -> tuple[str, ...]:
    if not counted.never_read:
        return ()
    number = f"{counted.never_read:,} offsets"
    return (f"  never read      {number} that retention took before any drain had read them",)


def left_lines(left: Sequence[Span], late: int) -> tuple[str, ...]:
    """That some ranges are not computed, with so many late records in them."""
    if not left:
        return ()
    waits = f", where {late:,} late records wait" if late else ""
    return (
        f"  left out        {in_brief(left)}{waits}: neither Kafka nor an archive has all of "
        "their records",
    )


def replay_lines(
    lines: tuple[str, ...], plan: RepairPlan, found: Replaying, reason: str
) -> tuple[str, ...]:
    """The same, with what is in quarantine: which records the replay brings, and why not others."""
    first, *more = lines
    if plan.idle:
        first = first.replace(KINDS[plan.kind].idle, found.why_idle(reason))
    return (first, *found.lines(), *more)


def _sources(plan: RepairPlan) -> str:
    kafka, archive = offsets_in(plan.parts), offsets_in(plan.archived)
    if kafka and archive:
        return f"({archive:,} from the archive, {kafka:,} from Kafka)"
    return "from the archive" if archive else "from Kafka"
