"""Covered: the coverage of a table, with the days that are proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.prove.proof import UNKNOWN, Standing, standings
from spark_jobs.prove.provable import Held, Provable, provable
from spark_jobs.repair.find.coverage import MOST_READ, Coverage, Interval, coverage
from spark_jobs.repair.find.plan import digest
from spark_jobs.repair.offsets.reach import Reach
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


def covered(
    spec: Pipeline,
    paths: Paths,
    held: Held | None = None,
    bound: Span | None = None,
    most_read: int = MOST_READ,
) -> Coverage:
    """As `coverage`. Where something waits for a repair nothing is proved: the rows lack it. With
    what the source has it tells until when days can be proved.
    """
    by_key = spec.keyed is not None  # keys are proved, no days
    earliest = held.earliest if held and not by_key else None
    found, known = coverage(spec, paths, earliest, bound, most_read), read_identity(paths)
    if known is None or by_key:
        return found
    days = [_span(each) for each in found.intervals if each.state == "canonical"]
    told = standings(paths, known, ranged(spec).position, digest(spec), days) if days else {}
    until = Provable({}, frozenset())
    whole = [_span(each) for each in found.intervals if each.state not in ("open", "unreachable")]
    if whole and held:
        horizon = Checkpoint(paths.checkpoint).batch(found.batch).end
        reach = Reach.of(ranged(spec), paths, known, held.earliest, horizon)
        until = provable(reach, paths, known, held, whole)
    return found.model_copy(
        update={
            "intervals": tuple(_told(each, told, until) for each in found.intervals),
            "untold": held.leaving.untold if held else "",
        }
    )


def _span(each: Interval) -> Span:
    return Span(each.start, each.end)


def _told(each: Interval, told: Mapping[Span, Standing], until: Provable) -> Interval:
    span = _span(each)
    standing = told.get(span, UNKNOWN)
    known = {
        "proved_at": standing.proved and standing.proved.at,
        "refuted_at": standing.refuted and standing.refuted.at,
        "provable_until": until.until.get(span),
        "untold": span in until.untold,
    }
    return each.model_copy(update=known) if any(known.values()) else each
