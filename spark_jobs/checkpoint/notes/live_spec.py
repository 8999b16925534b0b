"""Live spec: which spec of spec.py drains, SPEC or NEXT, by the note of the live place
(notes/live.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.notes.live import with_known_topics
from spark_jobs.errors import (
    RebuildRefused,
    RootRefused,
    RootUnreachable,
    SluiceError,
    VersionNotLive,
)
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import about_next
from spark_jobs.storage.root.live_place import first_table, live_version, place_of
from spark_jobs.storage.root.paths import checkpoints

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline


def live_spec(spec: Pipeline, root: str, *, about: bool | None = None) -> Pipeline:
    """The spec that drains the pipeline's live table under this root: this one, which is SPEC; or
    NEXT, after a switch. Or NEXT while a rebuild is under way, where SLUICE_NEXT asks for it.

    `about` overrides SLUICE_NEXT. Raises VersionNotLive if spec.py has none of the live state
    version; RebuildRefused if SLUICE_NEXT asks for a rebuild that is not there; SpecInvalid of
    NEXT; CheckpointBroken.
    """
    above = checkpoints(root, spec.name)
    if about_next() if about is None else about:
        return with_known_topics(_beside(spec, above), root, live=spec)
    wanted = live_version(above)
    if wanted is None or spec.state.version == wanted:
        return with_known_topics(spec, root)
    following = registry.load_next(spec.name)
    if following is not None and following.state.version == wanted:
        return with_known_topics(following, root)
    raise not_live(wanted, spec, following)


def known_spec(pipeline: str, root: str) -> Pipeline | None:
    """The same by its name; None if it is gone or wrong: what is stored is shown anyway. Raises
    RootRefused, RootUnreachable.
    """
    try:
        return live_spec(registry.load(pipeline), root)
    except (RootRefused, RootUnreachable):
        raise
    except SluiceError:
        return None


def _beside(spec: Pipeline, above: UPath) -> Pipeline:
    following = registry.load_next(spec.name)
    if (
        following is None
        or not place_of(above, following.state.version, first_table(following)).beside
    ):
        raise RebuildRefused.no_rebuild_of_next(pipeline=spec.name)
    return following


def not_live(wanted: int, spec: Pipeline, following: Pipeline | None) -> VersionNotLive:
    """That spec.py has no spec of the state version that is to drain."""
    also = f", and NEXT of {following.state.version}" if following else ", and no NEXT"
    return VersionNotLive.spec_absent(
        pipeline=spec.name,
        wanted=wanted,
        version=spec.state.version,
        also=also,
    )
