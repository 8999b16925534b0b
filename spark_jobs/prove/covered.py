"""Covered: the coverage of a table, with the days that are proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.prove.proof import Standing, standings
from spark_jobs.repair.find.coverage import MOST_READ, Coverage, Interval, coverage
from spark_jobs.repair.find.plan import digest
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from spark_jobs.source.positions import Positions
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


def covered(
    spec: Pipeline,
    paths: Paths,
    earliest: Positions | None = None,
    bound: Span | None = None,
    most_read: int = MOST_READ,
) -> Coverage:
    """As `coverage`. Where something waits for a repair nothing is proved: the rows lack it."""
    found, known = coverage(spec, paths, earliest, bound, most_read), read_identity(paths)
    days = [Span(each.start, each.end) for each in found.intervals if each.state == "canonical"]
    if not days or known is None:
        return found
    told = standings(paths, known, ranged(spec).position, digest(spec), days)
    return found.model_copy(
        update={
            "intervals": tuple(
                _told(each, told.get(Span(each.start, each.end))) for each in found.intervals
            )
        }
    )


def _told(each: Interval, standing: Standing | None) -> Interval:
    if standing is None or not any(standing):
        return each
    return each.model_copy(
        update={
            "proved_at": standing.proved.at if standing.proved else None,
            "refuted_at": standing.refuted.at if standing.refuted else None,
        }
    )
