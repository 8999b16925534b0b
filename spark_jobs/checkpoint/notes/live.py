"""Live: which state version of a pipeline drains, in live.json above the versions' folders.

A rebuild writes it when it switches. Without the file it is that of SPEC. The spec that drains is
the one in spec.py, SPEC or NEXT, whose state version is the live one: so neither the switch nor the
renaming of NEXT must come first.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.checkpoint.notes.switching import read_switching
from spark_jobs.errors import VersionNotLive
from spark_jobs.registry import find as registry
from spark_jobs.root.paths import version_facts

CLOSED = 0
"""In place of a state version: of a rebuild's root from which a switch takes what it has."""

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.root.paths import Paths
    from spark_jobs.spec import Pipeline


class Replaced(BaseModel):
    """A state version that was live before a switch. Its checkpoint is kept, and the table's
    version as long as VACUUM leaves its files.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: int
    """The state version."""
    generation: str
    table_id: str
    table_version: int
    """The last version of the table that had its rows."""


class Live(Stored):
    """The content of live.json."""

    version: int
    """The state version that drains."""
    since: datetime
    table_version: int
    """The table's version that the switch committed."""
    batch: int
    """The newest batch in it. No earlier one has a version of this table."""
    before: Replaced | None = None
    """What the switch replaced; None behind the way back."""


def read_live(path: UPath) -> Live | None:
    """The fact; None if there was no switch yet. Raises CheckpointBroken if it does not parse."""
    try:
        return Live.read(path) if path.exists() else None
    except ValueError:
        raise checkpoint_broken(f"{path} does not parse", path.parent.name) from None


def live_spec(spec: Pipeline, root: str) -> Pipeline:
    """The spec that drains the pipeline's live table under this root: this one, which is SPEC; or
    NEXT, after a switch.

    Raises VersionNotLive if spec.py has none of the live state version; SpecInvalid of NEXT;
    CheckpointBroken.
    """
    fact, note = version_facts(root, spec.name)
    try:
        switching = read_switching(note)
        known = None if switching else read_live(fact)
    except PermissionError:  # who goes on meets it too, and has words for it
        return spec
    wanted = switching.version if switching else known.version if known else None
    if wanted is None or spec.state.version == wanted:
        return spec
    if wanted == CLOSED:
        raise _closed(spec.name)
    following = registry.load_next(spec.name)
    if following is not None and following.state.version == wanted:
        return following
    raise not_live(wanted, spec, following)


def refuse_not_live(paths: Paths) -> None:
    """Raise VersionNotLive for the paths of another state version than the live one: a switch came
    after its spec was loaded.
    """
    fact = read_live(paths.live)
    if fact is not None and fact.version == CLOSED:
        raise _closed(paths.pipeline)
    if fact is not None and paths.version.name != f"v{fact.version}":
        raise VersionNotLive(
            f"{paths.version} drains no more: state version {fact.version} of "
            f"{paths.table.name} is live since {fact.since:%F %H:%M:%S} UTC.",
            "Give the same command again.",
        )


def _closed(name: str) -> VersionNotLive:
    return VersionNotLive(
        f"{name}: a switch takes what was rebuilt here, so no run goes on with it.",
        f"Complete the switch, in the root of the live table: sluice drain {name}",
    )


def not_live(wanted: int, spec: Pipeline, following: Pipeline | None) -> VersionNotLive:
    """That spec.py has no spec of the state version that is to drain."""
    also = f", and NEXT of {following.state.version}" if following else ", and no NEXT"
    return VersionNotLive(
        f"{spec.name}: a rebuild has made state version {wanted} the one that drains, and spec.py "
        f"has SPEC of version {spec.state.version}{also}.",
        f"Deploy the spec with state=State(version={wanted}), as SPEC or still as NEXT; or "
        f"switch back to the version before: `sluice rebuild {spec.name} --back`.",
    )
