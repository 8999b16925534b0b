"""Identity of a checkpoint: its generation, topic id and spec fingerprint, in identity.json beside
it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from spark_jobs.checkpoint.made_by import Before, MadeBy, replaced
from spark_jobs.checkpoint.notes.live import refuse_dead, refuse_older_switch
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import CheckpointBroken
from spark_jobs.registry.fingerprint.classification import Classification
from spark_jobs.registry.fingerprint.environment import Environment
from spark_jobs.storage.root.live_place import SPARK
from spark_jobs.storage.root.paths import Paths

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
    raise CheckpointBroken.identity_lost(
        path=paths.identity,
        wrong=wrong,
        pipeline=paths.pipeline,
    )


def refuse_older_notes(paths: Paths) -> None:
    """Raise CheckpointBroken for the notes that changes had before there was a journal."""
    refuse_older_switch(paths)
    beside = (paths.version / name for name in ("rewinding.json", "repartitioning.json"))
    for note in (*beside, paths.above / "moving.json"):
        if note.exists():
            raise CheckpointBroken.older_change(note=note)
