"""Identity of a checkpoint: its generation, topic id and spec fingerprint, in identity.json beside
it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken
from spark_jobs.checkpoint.notes.live import refuse_dead, refuse_older_switch
from spark_jobs.errors import CheckpointBroken
from spark_jobs.registry.fingerprint.environment import Environment, environment, version
from spark_jobs.registry.fingerprint.fields import Declared, fingerprint
from spark_jobs.registry.fingerprint.topic import Classification, classification
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.live_place import SPARK
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.stored import Stored
from spark_jobs.table.tables import table_of


class MadeBy(BaseModel):
    """These three fields of an identity, as it explains them."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)

    fingerprint: dict[str, object]
    environment: Environment | None = None
    classification: Classification | None = None

    def filled_in(self, now: MadeBy) -> MadeBy:
        """This, with what an older Sluice did not record, and with the versions of now: a version
        is never refused, so none need be taken back.
        """
        around = self.environment or now.environment
        if around and now.environment:
            around = around.with_unrecorded(now.environment)
            around = around.model_copy(update={"versions": now.environment.versions})
        return self.model_copy(
            update={
                "environment": around,
                "classification": self.classification or now.classification,
            }
        )


class Present:
    """All of a spec and its code that a checkpoint is held against."""

    def __init__(self, spec: Pipeline) -> None:
        """Raises SpecInvalid if a module that its logic.py imports is not valid Python."""
        self.made_by = MadeBy(
            fingerprint=fingerprint(spec, version("pyspark")),
            environment=environment(spec),
            classification=classification(spec),
        )
        """What a batch would be made by now."""
        self.declared = Declared(spec)
        self.spec = spec


class Before(BaseModel):
    """What was replaced, and the newest batches then; -1 for none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    made_by: MadeBy
    committed: int
    """In the checkpoint."""
    written: int
    """In the table: one more than `committed` where a run ended between the two."""

    def in_force(self, paths: Paths, owner: str) -> bool:
        """Whether no batch is made since: none committed, and none in the table."""
        now = newest_of(paths, owner)
        return now[0] <= self.committed and now[1] <= self.written


def replaced(made_by: MadeBy, paths: Paths, owner: str) -> Before:
    """What a change replaces now. `owner` is the application id of the table's transactions."""
    committed, written = newest_of(paths, owner)
    return Before(made_by=made_by, committed=committed, written=written)


def newest_of(paths: Paths, owner: str) -> tuple[int, int]:
    """The newest batch that is committed, and the newest that is in the table; -1 without one."""
    committed = max(Checkpoint(paths.checkpoint).committed(), default=-1)
    return committed, table_of(paths).newest_batch(owner)


FIELD = "state.shuffle_partitions"
"""The field of the fingerprint that has the number of stores of each step."""


class Identity(Stored):
    """The content of identity.json."""

    known: ClassVar[int] = 2
    generation: str
    """New with every new checkpoint.

    Batch ids then start at 0 again, so no key may consist of them alone.
    """
    rewound: tuple[str, ...] = ()
    """The generations of the batches that a rewind kept, oldest first: their rows in the ops tables
    have these.
    """
    spark: str = SPARK
    """The name of the folder beside it with Spark's checkpoint: a rewind or a repartition begins
    another one.
    """
    since: datetime | None = None
    """Since when this names the folder; None of the first one, and where an older Sluice wrote it.
    """
    topic_id: str
    table_id: str = ""
    """Delta's id of the table; empty until the first run has created it.

    A table that is created again has another id.
    """
    fingerprint: dict[str, object]
    """Field of the spec -> the value that the checkpoint was made with
    (fingerprint/fields.py).
    """
    environment: Environment | None = None
    """What results depend on beside the spec. None where an older Sluice wrote the file: the
    next run records the present one.
    """
    classification: Classification | None = None
    """What the records are classified with. None where an older Sluice wrote the file."""
    checks: str = ""
    """The digest of the checks that Great Expectations knew last (runs/drain.py)."""
    before: Before | None = None
    """What the last change of the three above replaced. An older Sluice ignores it."""

    @property
    def form(self) -> int:
        """A Sluice that knows one folder alone would go on in a dead one."""
        return 1 if self.spark == SPARK else 2

    @property
    def generations(self) -> tuple[str, ...]:
        """All that the checkpoint's batches have had, this one last."""
        return (*self.rewound, self.generation)

    def owner(self, pipeline: str) -> str:
        """The application id of Delta's transactions (txnAppId): `<pipeline>/<generation>`."""
        return f"{pipeline}/{self.generation}"

    def owners(self, pipeline: str) -> tuple[str, ...]:
        """The application ids of all generations, this one's last."""
        return tuple(f"{pipeline}/{generation}" for generation in self.generations)

    def other_code_than(self, made: Identity) -> bool:
        """Whether logic.py differs, or what it imports."""
        was, now = made.fingerprint.get("logic"), self.fingerprint.get("logic")
        if was != now or made.environment is None or self.environment is None:
            return was != now
        return made.environment.imports != self.environment.imports

    def of_newest_batch(self, paths: Paths) -> Identity:
        """The identity that the newest batch was made by.

        It is the former one while no batch is made since the last change: a change whose first
        batch fails can be taken back.
        """
        before = self.before
        if before is None or not before.in_force(paths, self.owner(paths.pipeline)):
            return self.model_copy(update={"before": None})
        return self.model_copy(update={**dict(before.made_by), "before": None})

    def of_repartition(self, number: int, paths: Paths) -> Identity:
        """This identity, of a checkpoint whose next batch moves the state to so many stores for
        each step. To be asked before that batch is there.

        It is made by nobody's logic. So what the last change replaced counts for it too, if no
        batch is made since; else for none any more.
        """
        before, owner = self.before, self.owner(paths.pipeline)
        if before is not None and before.in_force(paths, owner):
            now = replaced(before.made_by, paths, owner)
            before = now.model_copy(update={"committed": now.committed + 1})
        else:
            before = None
        return self.model_copy(update={"before": before}).with_partitions(number)

    def in_folder(self, spark: str) -> Identity:
        """This identity, of a checkpoint that goes on in the folder of this name."""
        return self.model_copy(update={"spark": spark, "since": datetime.now(UTC)})

    def with_partitions(self, number: int | None) -> Identity:
        """This identity, of a checkpoint whose state is in so many stores for each step; itself if
        `number` is None.
        """
        if number is None:
            return self
        there = {FIELD: number}
        before = self.before
        if before is not None:
            made_by = before.made_by
            made_by = made_by.model_copy(update={"fingerprint": made_by.fingerprint | there})
            before = before.model_copy(update={"made_by": made_by})
        return self.model_copy(update={"fingerprint": self.fingerprint | there, "before": before})

    def changed_to(self, now: MadeBy, paths: Paths) -> Identity:
        """This identity, of the newest batch, with what the next one is made by."""
        was = MadeBy.model_validate(self).filled_in(now)
        same = was == now
        before = None if same else replaced(was, paths, self.owner(paths.pipeline))
        return self.model_copy(update={**dict(now), "before": before})


def made_by(identity: Identity | None) -> MadeBy | None:
    """What the next batch of this identity is made by."""
    return MadeBy.model_validate(identity) if identity else None


def read_identity(paths: Paths) -> Identity | None:
    """The identity beside the checkpoint; None if there is no checkpoint yet.

    Raises CheckpointBroken if the file is missing or does not parse, or if an older Sluice was cut
    off amid a change.
    """
    refuse_dead(paths)
    refuse_older_notes(paths)
    try:
        if paths.identity.exists():
            return Identity.read(paths.identity)
    except ValueError:
        wrong = "does not parse"
    else:
        if not any(paths.version.glob(f"{SPARK}*/offsets/[0-9]*")):
            return None
        wrong = "is missing"
    raise CheckpointBroken.identity_lost(path=paths.identity, wrong=wrong, pipeline=paths.pipeline)


def refuse_older_notes(paths: Paths) -> None:
    """Raise CheckpointBroken for the notes that changes had before there was a journal."""
    refuse_older_switch(paths)
    beside = (paths.version / name for name in ("rewinding.json", "repartitioning.json"))
    for note in (*beside, paths.above / "moving.json"):
        if note.exists():
            raise CheckpointBroken.older_change(note=note)


class Superseded(Stored):
    """The content of superseded.json."""

    generations: tuple[str, ...]
    """Their rows stay in ops.batches: what was read is accounted for there."""
    topic_id: str
    """Offsets of another topic are other records."""


def read_superseded(paths: Paths) -> Superseded | None:
    """The note; None without one. Raises CheckpointBroken if it does not parse."""
    try:
        note = Superseded.read(paths.superseded)
    except FileNotFoundError:
        return None
    except ValueError:
        raise checkpoint_broken(f"{paths.superseded} does not parse", paths.pipeline) from None
    return note if note.generations else None
