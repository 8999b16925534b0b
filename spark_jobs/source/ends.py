"""Ends: the port that says where runs end, if a spec asks for it (Pipeline.publish_at).

Without it a run ends where its source's records end, and all that passed is published.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.messages.held_back import HeldBack
    from spark_jobs.messages.up_to import UpTo
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.source.port import SourceState
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


class End(Protocol):
    """Where a run ends."""

    @property
    def up_to(self) -> UpTo | None:
        """Its name for consumers; None before the first that has one."""

    def is_end_of(self, ends: Offsets) -> bool:
        """Whether a batch with these ends (partition -> next offset) has all up to it, and nothing
        else.
        """


class Cut(NamedTuple):
    """What a run reads at most."""

    latest: Offsets
    """Partition -> the offset where it ends."""
    held: Mapping[int, HeldBack]
    """Partition -> what waits behind that."""
    lines: tuple[str, ...]
    """What a person should know."""
    end: End | None
    """To be noted before a record is read; None where nobody knows yet that it is one."""


class Ends(Protocol):
    """The ends of a pipeline's runs. A kill or a limit may end a run before."""

    def cut(self, state: SourceState, done: Offsets, settings: Settings) -> Cut:
        """Where the next run ends. `done`: partition -> next offset of the newest planned batch,
        empty without one. Writes nothing. Raises what the source does.
        """

    def note(self, end: End, held: Held) -> None:
        """Note it, under the lease."""

    def at(self, offsets: Offsets) -> End | None:
        """The noted end at which a batch ends that has these; None at none."""


def ends_of(spec: Pipeline, paths: Paths) -> Ends | None:
    """What the spec asks for; None if it does not."""
    if spec.publish_at is None:
        return None
    return cast("Ends", resolve_name(spec.publish_at.ends)(spec, paths))
