"""Over roots: the overview of pipelines, which may be in several. A root that cannot be read takes
the lines of its own pipelines alone, and a pipeline whose files do not answer its own line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from sluice_airflow.web.asked import Asked
from sluice_airflow.web.drained import elsewhere
from sluice_airflow.web.next_run import due
from sluice_airflow.web.ops import reading
from spark_jobs.errors import RootEmpty, RootUnreachable, SluiceError
from spark_jobs.overview import lines as overviews
from spark_jobs.overview.json_of_overview import Overview, PipelineLine
from spark_jobs.overview.reading import Due
from spark_jobs.registry.root_by_name import by_root, root_by_name
from spark_jobs.settings.roots import root_names


class Read(NamedTuple):
    """Pipelines of one root; and what it says if nobody has written there."""

    lines: list[PipelineLine]
    empty: RootEmpty | None = None


TOGETHER: Final = Asked[Read]("overview of", wait=8.0, counts=0.0)
"""Pipelines of one root at once. Longer than the question whether the root answers."""
ALONE: Final = Asked[Read]("overview of", wait=4.0, counts=60.0)
"""Each of them, where they have not answered together. Who is silent then is asked no more until
there is an answer, so the others are read together again.
"""


def overview(names: list[str]) -> Overview:
    """All of these pipelines, those in trouble first; also where there is nothing to read. Raises
    what the reading of the root does where there is one alone.
    """
    known = due(names)
    # Only where there are several is it worth while to load each spec.
    parts = by_root(names) if len(root_names()) > 1 else {"": names}
    begun = [(of, _begun(of, known)) for of in parts.values()]
    if len(begun) > 1:
        return overviews.overview([line for each in begun for line in _lines(*each, known)])
    [(_, ask)] = begun
    found, empty = ask()
    return overviews.overview(found, str(empty) if empty else None)


def _begun(names: Sequence[str], known: Mapping[str, Due]) -> Callable[[], Read]:
    heard = [name for name in names if not ALONE.silent(name)]
    ask = TOGETHER.begun(" ".join(heard), partial(_read, heard, known))

    def answer() -> Read:
        try:
            found, empty = ask()
        except TimeoutError:
            alone = [([each], ALONE.begun(each, partial(_read, [each], known))) for each in heard]
            found, empty = [line for each in alone for line in _lines(*each, known)], None
        silent = [overviews.unread(each, known.get(each), _silent(each)) for each in names]
        return Read([*found, *(line for line in silent if line.pipeline not in heard)], empty)

    return answer


def _read(names: Sequence[str], known: Mapping[str, Due]) -> Read:
    if not names:
        return Read([])
    where, empty = root_by_name(names[0]), None
    try:
        with reading(where) as root:
            found = overviews.lines(root, names, known)
    except RootEmpty as error:
        found, empty = [overviews.unread(name, known.get(name)) for name in names], error
    return Read(elsewhere(found, where, known), empty)


def _lines(
    names: Sequence[str], ask: Callable[[], Read], known: Mapping[str, Due]
) -> list[PipelineLine]:
    """Each says why it cannot be read. A root without any run is no trouble: its pipelines are new,
    but for those of which Airflow knows a drain.
    """
    try:
        return ask().lines
    except TimeoutError:
        return [overviews.unread(name, known.get(name), _silent(name)) for name in names]
    except SluiceError as error:
        return [overviews.unread(name, known.get(name), error) for name in names]


def _silent(pipeline: str) -> SluiceError:
    where = root_by_name(pipeline)
    return RootUnreachable.pipeline_silent(root=where, pipeline=pipeline, seconds=ALONE.wait)
