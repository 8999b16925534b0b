"""Change: what changes a root in several steps, as data for the runner (runner.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.notes.live import Live

if TYPE_CHECKING:
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


class Facts(BaseModel):
    """What the steps of a change need. They are stored as JSON, and fixed before the first step."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Scene(NamedTuple):
    """Where the steps work."""

    paths: Paths
    held: Held
    """The pipeline's lease."""
    id: str
    """The change's own: what it writes into Delta's log has it."""
    prepared: Any = None
    """What was made ready before the lease, for the first try alone."""


F = TypeVar("F", bound=Facts)
Step = Callable[[F, Scene], None]
"""May be repeated: it finds its own effect by an id that the facts or the scene have, and never by
how the root looks. Its name is in the note once it has ended.
"""


class Change(NamedTuple, Generic[F]):
    """A kind of change."""

    name: str
    facts: type[F]
    words: Callable[[F], str]
    """What one is, for the user."""
    steps: tuple[Step[F], ...]
    stands: Callable[[F, Scene], bool] | None = None
    """Asked of one that ended before its first step is noted: whether that step has had its effect,
    or can have it yet. If not, nothing of the change is there, and it is dropped. Without this
    function, and without the next, it is completed: all that it needs is in the facts.
    """
    take_back: Callable[[F, Scene], None] | None = None
    """Removes what is there of one that ended before its first step is noted: only the first try
    could do that step. May be repeated.
    """
    of_place: bool = False
    """Whether it says which place is live: then it is no state version's, and every spec completes
    it.
    """


class GoesLive(Facts):
    """Which place is live then. root/live_place.py finds it here too, by the name `live`."""

    live: Live


def go_live(facts: GoesLive, scene: Scene) -> None:
    """Write it: until then another place drains, from then on this one."""
    facts.live.write_whole(scene.paths.above, scene.held)
