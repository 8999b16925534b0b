"""Plan: the ranges that a repair computes again, and the records from which; in plan.json of its
staging folder. repair/planner.py makes it, of a table that is closed up to a position.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import BeforeValidator, Field as Described

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.errors import AccountBehind, CheckpointForeign, RangeOpen, RepairUnknown
from spark_jobs.messages.kind import AskedKind
from spark_jobs.registry.fingerprint.environment import version
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.registry.fingerprint.topic import classification
from spark_jobs.repair.find.quarantine import Replayable
from spark_jobs.runs.preflight import Preflight
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.live_place import FOLDER
from spark_jobs.storage.root.store import make_folder
from spark_jobs.storage.stored import Stored
from spark_jobs.table.tables import table_of
from spark_jobs.values.numbering import numbered_in
from spark_jobs.values.spans import Position, Span, any_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.root.paths import Paths

PLAN = "plan.json"


def _places(given: object) -> object:
    """Also of a plan that an older Sluice made: partition -> offsets."""
    if isinstance(given, dict):
        return [(partition, offset) for partition, of in given.items() for offset in of]
    return given


Quarantined = Annotated[tuple[Place, ...], BeforeValidator(_places)]


class RepairPlan(Stored):
    """The work of one repair: plan.json in its staging folder. Nothing to do, without spans."""

    repair_id: str
    pipeline: str
    kind: AskedKind
    note: str = ""
    who: str = ""
    approve: str = "unexplained"
    spans: tuple[Span, ...]
    """The positions of the rows that are computed again."""
    needed: tuple[Span, ...]
    """The event times of the records on which they depend."""
    apart: dict[int, tuple[Span, ...]] = Described(default_factory=dict)
    """The same for each input by its number, where a step takes inputs apart."""
    generations: tuple[str, ...]
    """The generations of the checkpoint's batches, the present one last."""
    table_version: int
    """The version of the table that the rows are compared with."""
    spec_digest: str = ""
    """Of the spec and its code: another one cannot be computed by this plan."""
    batch: int
    """The newest batch, which is accounted for."""
    horizon: Positions
    """Its end: later records are the next drain's."""
    parts: dict[int, tuple[tuple[int, int], ...]]
    """Partition -> ranges of offsets to read from Kafka, each without its end."""
    archived: dict[int, tuple[tuple[int, int], ...]] = Described(default_factory=dict)
    """The same, to read from the topic's archive."""
    records: int
    """Records at these offsets: as the index counted them, and as the plan counted records without
    a slice in the index.
    """
    without: int = 0
    """Records, at most, that are in the table and that nobody has: a person has said that it is to
    be computed without them.
    """
    topic_id: str
    compacted: bool = False
    """Whether Kafka compacts the topic: then it may have removed some of these records."""
    quarantined: Quarantined = ()
    """The records that ops.quarantine has and that are used nevertheless, ascending: a replay has
    brought them into the rows, or this one is to.
    """
    replays: tuple[Replayable, ...] = ()
    """Those that this one is to bring."""
    late: int
    """Late records among those that are needed: ops.late has their bytes."""
    until: datetime
    """No drain writes a row before this position any more."""
    keys: str = ""
    """SQL: which keys are computed again, of a table that follows one and of a given range."""
    outdated: bool = False
    """Whether the keys are those of rows that newer versions of tables beside the stream make
    otherwise."""
    lost: dict[int, tuple[tuple[int, int], ...]] = Described(default_factory=dict)
    """Offsets that nobody has: the table's rows of these count as right."""
    inputs: dict[str, Pin] = Described(default_factory=dict)
    """The versions of the tables beside the stream that all records are computed with."""
    current: bool = False
    """Whether the records are read as they are in these versions: late ones are among them, and
    others have taken the place of those that drains have read.
    """
    lines: tuple[str, ...]
    """The plan for a reader."""

    @property
    def generation(self) -> str:
        return self.generations[-1]

    @property
    def idle(self) -> bool:
        return not self.spans

    def needs(self, event_time: str, partition: str = '"partition"') -> str:
        """SQL: whether a record of this event time, in this partition, is needed."""
        return needs(self.needed, self.apart, event_time, partition)

    def store(self, paths: Paths) -> None:
        """Write it where the stage reads it."""
        folder = paths.staging(self.repair_id)
        make_folder(folder)
        self.write(folder / PLAN)

    @property
    def from_quarantine(self) -> int:
        """How many records are taken from ops.quarantine."""
        return len(self.quarantined)

    @property
    def offsets(self) -> int:
        """How many offsets are read, from Kafka and from the archive."""
        return offsets_in(self.parts) + offsets_in(self.archived)

    @property
    def records_read(self) -> int:
        """How many records are read at most, for launch/few_records.py, which only decides how
        Spark makes its queries. The table's rows, which these are compared with, do not count.
        """
        return self.offsets + self.late + self.from_quarantine


def needs(
    spans: Sequence[Span],
    apart: Mapping[int, Sequence[Span]] = MappingProxyType({}),
    event_time: str = "event_time",
    partition: str = '"partition"',
) -> str:
    """SQL: whether a record is in the spans; of an input that is apart, in its own."""
    own = (
        f"{partition} >= {numbered_in(number, 0)} AND {partition} < {numbered_in(number + 1, 0)} "
        f"AND ({Position(event_time).sql(of)})"
        for number, of in apart.items()
    )
    return any_of(f"({each})" for each in own) or Position(event_time).sql(spans)


def new_id() -> str:
    """The id of a repair that begins now."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def offsets_in(parts: dict[int, tuple[tuple[int, int], ...]]) -> int:
    """How many offsets the ranges have."""
    return sum(stop - first for ranges in parts.values() for first, stop in ranges)


def places(parts: dict[int, tuple[tuple[int, int], ...]], shown: Callable[[int], str] = str) -> str:
    """How many offsets of each partition, and from which to which, for a reader.

    >>> places({0: ((5, 9), (20, 21))})
    'partition 0: 5 (5 to 20)'
    """
    return ", ".join(
        f"partition {shown(p)}: {offsets_in({p: ranges}):,} "
        f"({ranges[0][0]:,} to {ranges[-1][1] - 1:,})"
        for p, ranges in sorted(parts.items())
    )


def read_plan(paths: Paths, repair_id: str) -> RepairPlan:
    """The plan of a repair. Raises RepairUnknown if there is none, or it does not parse."""
    path = paths.staging(repair_id) / PLAN
    try:
        return RepairPlan.read(path)
    except (FileNotFoundError, ValueError):
        raise RepairUnknown.plan_absent(path=path, pipeline=paths.pipeline) from None


def digest(spec: Pipeline) -> str:
    """Of all on which the computed rows depend."""
    made = [
        fingerprint(spec, version("pyspark")),
        classification(spec).model_dump(mode="json", exclude_defaults=True),
    ]
    return hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()[:16]


class Closed(NamedTuple):
    """It, as of a batch."""

    found: Preflight
    until: datetime
    """No drain writes a row before this position any more."""
    batch: int
    horizon: Positions


def closed_by(way: Ranged, paths: Paths, found: Preflight) -> Closed:
    """Raises RangeOpen before the first batch, CheckpointForeign if the table has batches of
    another checkpoint, AccountBehind while one has no account.
    """
    name, committed = way.spec.name, found.checkpoint.committed()
    if not committed:
        refuse_foreign(way.spec, paths, found.identity.generation)
        raise RangeOpen.nothing_committed(pipeline=name)
    if found.cursor.audited < committed[-1] or found.checkpoint.planned()[-1] != committed[-1]:
        raise AccountBehind.not_accounted(pipeline=name, batch=found.checkpoint.planned()[-1])
    batch = found.checkpoint.batch(committed[-1])
    until = way.closed_until(batch.watermark)
    if until is None:
        raise RangeOpen.no_watermark(pipeline=name)
    return Closed(found, until, batch.id, batch.end)


def refuse_foreign(spec: Pipeline, paths: Paths, generation: str | None) -> None:
    """Raise CheckpointForeign if another generation wrote the table. `generation` is the
    checkpoint's, which has no batch; None if there is no checkpoint.
    """
    wrote = table_of(paths).generation()
    if wrote is None or wrote == generation:
        return
    mine, versions = spec.state.version, _versions(paths)
    theirs = next((each for each, known in versions.items() if wrote in known), None)
    has = f"{spec.name}: state version {mine} has no batch, and {paths.table} was written by "
    if theirs is None:
        raise CheckpointForeign.other_generation(
            has=has, wrote=wrote, folder=paths.above, pipeline=spec.name
        )
    # A version that has a folder was used before, and a rebuild refuses it.
    free = max(mine, *versions) + 1
    raise CheckpointForeign.other_version(has=has, theirs=theirs, free=free, pipeline=spec.name)


def _versions(paths: Paths) -> dict[int, tuple[str, ...]]:
    found = dict[int, tuple[str, ...]]()
    for folder in paths.above.iterdir() if paths.above.exists() else ():
        if number := FOLDER.fullmatch(folder.name):
            here = _generations(folder / paths.identity.name)
            found[int(number[1])] = (*found.get(int(number[1]), ()), *here)
    return found


def _generations(identity: UPath) -> tuple[str, ...]:
    try:
        return Identity.read(identity).generations if identity.exists() else ()
    except ValueError:  # it does not parse
        return ()
