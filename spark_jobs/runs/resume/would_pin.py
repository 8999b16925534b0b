"""Would pin: what a drain would read of the tables beside its stream, in words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.pins import pin

if TYPE_CHECKING:
    from spark_jobs.runs.preflight import Preflight
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


def beside_lines(spec: Pipeline, settings: Settings, found: Preflight) -> Iterator[str]:
    """A line for each. Raises what `pin` does."""
    in_table = partial(found.target.table.newest_batch, found.target.owner)
    pinned = pin(found.checkpoint, in_table, spec, settings)
    marked = {side.name for side in spec.sides if not side.keeps} if pinned.batch >= 0 else ()
    for name, of in pinned.inputs.items():
        moved = ""
        if name in pinned.moved:
            was = pinned.moved[name]
            moved = "; no note tells the one before" if was is None else f"; before {was.version}"
            if name in marked:
                moved += ", and rows that it changes are marked for `sluice repair`"
        yield f"{name}, read beside: version {of.version}{moved}"
