"""Over roots: the overview of pipelines, which may be in several. A root that cannot be read takes
the lines of its own pipelines alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from sluice_airflow.web.drained import elsewhere
from sluice_airflow.web.next_run import due
from sluice_airflow.web.ops import reading
from spark_jobs.errors import RootEmpty, SluiceError
from spark_jobs.overview import lines as overviews
from spark_jobs.overview.reading import Due
from spark_jobs.overview.shown import Overview, PipelineLine
from spark_jobs.registry.root_by_name import by_root, root_by_name
from spark_jobs.settings.roots import root_names


def overview(names: list[str]) -> Overview:
    """All of these pipelines, those in trouble first; also where there is nothing to read. Raises
    what the reading of the root does where there is one alone.
    """
    known = due(names)
    # Only where there are several is it worth while to load each spec.
    parts = by_root(names) if len(root_names()) > 1 else {"": names}
    if len(parts) > 1:
        return overviews.overview([line for of in parts.values() for line in _lines(of, known)])
    found, empty = _read(names, known)
    return overviews.overview(found, str(empty) if empty else None)


def _read(
    names: list[str], known: Mapping[str, Due]
) -> tuple[list[PipelineLine], RootEmpty | None]:
    """Of one root; and what it says if nobody has written there."""
    if not names:
        return [], None
    where, empty = root_by_name(names[0]), None
    try:
        with reading(where) as root:
            found = overviews.lines(root, names, known)
    except RootEmpty as error:
        found, empty = [overviews.unread(name, known.get(name)) for name in names], error
    return elsewhere(found, where, known), empty


def _lines(names: list[str], known: Mapping[str, Due]) -> list[PipelineLine]:
    """Each says why its root cannot be read. One without any run is no trouble: its pipelines are
    new, but for those of which Airflow knows a drain.
    """
    try:
        return _read(names, known)[0]
    except SluiceError as error:
        return [overviews.unread(name, known.get(name), error) for name in names]
