"""Told: what readers of the published table are told of its proofs, by its properties."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.errors import VersionNotLive
from spark_jobs.prove.covered import covered
from spark_jobs.spec.analysis.ranged import Ranged, ranged
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.published.commit import Proved, ProvedSpan
from spark_jobs.table.published.proved import show_proved

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from spark_jobs.repair.find.coverage import Interval
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

MOST: Final = 100
"""Spans: every commit of the published table has them. The newest are told."""


def published_until(way: Ranged, paths: Paths) -> datetime | None:
    """Consumers have been told of all rows before this position; None if of none."""
    event = read_published(paths).event
    return way.closed_until(event.watermark) if event else None


def tell_proved(spec: Pipeline, paths: Paths) -> bool:
    """Say which published days are proved. False if that is said already, or nothing is published.
    Raises what coverage raises.
    """
    way, seen = ranged(spec), Log.of(paths.table).newest
    if (until := published_until(way, paths)) is None:
        return False
    spans = _spans(each for each in covered(spec, paths).intervals if each.end <= until)
    said = Proved(column=way.position.column, spans=tuple(spans[-MOST:]))
    with suppress(VersionNotLive):  # a reset or a switch came: another table is shown
        return show_proved(paths, said, seen, refuse_dead)
    return False


def _spans(days: Iterable[Interval]) -> list[ProvedSpan]:
    """Neighbours that were proved on one day together."""
    found = list[ProvedSpan]()
    for each in days:
        if each.proved_at is None:
            continue
        on = each.proved_at.date()
        if found and (found[-1].end, found[-1].on) == (each.start, on):
            found[-1] = found[-1]._replace(end=each.end)
        else:
            found.append(ProvedSpan(each.start, each.end, on))
    return found
