"""Identity of a checkpoint: its generation, topic id and spec fingerprint, in identity.json beside
it.
"""

from __future__ import annotations

import uuid
from importlib.metadata import version

from spark_jobs.checkpoint.integrity import refuse_damaged_logs
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.made_by import Before, MadeBy, replaced
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import refuse_not_live
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.checkpoint.notes.switching import refuse_cut_off
from spark_jobs.checkpoint.repartitioned import FIELD, refuse_half_moved
from spark_jobs.errors import (
    CheckpointBroken,
    CheckpointForeign,
    OffsetsWentBack,
    RecordsGone,
    StateIncompatible,
    TopicRemade,
)
from spark_jobs.fingerprint.classification import Classification, classification
from spark_jobs.fingerprint.environment import Environment, all_changes, environment
from spark_jobs.fingerprint.fields import (
    FROZEN,
    Change,
    Fingerprint,
    fingerprint,
    idle_declarations,
)
from spark_jobs.root.paths import Paths
from spark_jobs.source.port import SourceState
from spark_jobs.spec import Pipeline


class Identity(Stored):
    """The content of identity.json."""

    generation: str
    """New with every new checkpoint.

    Batch ids then start at 0 again, so no key may consist of them alone.
    """
    rewound: tuple[str, ...] = ()
    """The generations of the batches that a rewind kept, oldest first: their rows in the ops tables
    have these.
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
    def generations(self) -> tuple[str, ...]:
        """All that the checkpoint's batches have had, this one last."""
        return (*self.rewound, self.generation)

    def owner(self, pipeline: str) -> str:
        """The application id of Delta's transactions (txnAppId): `<pipeline>/<generation>`."""
        return f"{pipeline}/{self.generation}"

    def owners(self, pipeline: str) -> tuple[str, ...]:
        """The application ids of all generations, this one's last."""
        return tuple(f"{pipeline}/{generation}" for generation in self.generations)

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
    refuse_cut_off(paths.switching)
    refuse_not_live(paths)
    refuse_older_notes(paths)
    try:
        if paths.identity.exists():
            return Identity.read(paths.identity)
    except ValueError:
        wrong = "does not parse"
    else:
        if not Checkpoint(paths.checkpoint).planned():
            return None
        wrong = "is missing"
    raise CheckpointBroken(
        f"{paths.identity} {wrong}. It identifies the checkpoint's topic and spec; Sluice cannot "
        "resume without it.",
        f"Restore it from a copy, or start again from Kafka: sluice reset {paths.pipeline}",
    )


def refuse_older_notes(paths: Paths) -> None:
    """Raise CheckpointBroken for the notes that changes had before there was a journal."""
    beside = (paths.version / name for name in ("rewinding.json", "repartitioning.json"))
    for note in (*beside, paths.version.parent / "moving.json"):
        if note.exists():
            raise CheckpointBroken(
                f"{note} is there: an older Sluice was killed amid this change.",
                "Complete it with that version of Sluice first: the same command goes on.",
            )


def verify_identity(spec: Pipeline, paths: Paths, topic: SourceState) -> Identity:
    """The identity of this run: a new one if there is no checkpoint, else the stored one, verified
    and updated.

    Raises StateIncompatible, TopicRemade, CheckpointBroken, CheckpointForeign or RecordsGone.
    Writes nothing.
    """
    current, around = fingerprint(spec, version("pyspark")), environment(spec)
    known = read_identity(paths)
    if known is None:
        return Identity(
            generation=uuid.uuid4().hex[:12],
            topic_id=topic.id,
            fingerprint=current,
            environment=around,
            classification=classification(spec),
        )
    if not known.table_id and not Checkpoint(paths.checkpoint).planned():
        # Its first run ended before the table was known to be its own: no state, no offset read.
        _refuse_missing_batches(paths, known)
        return known.model_copy(
            update={
                "topic_id": topic.id,
                "fingerprint": current,
                "environment": around,
                "classification": classification(spec),
                "before": None,
            }
        )
    known, stored, differences = _differences(known, (current, around), spec, paths)
    _refuse_changes(spec, paths, differences)
    if known.topic_id != topic.id:
        raise TopicRemade(
            f"topic {spec.topic.name!r} has id {topic.id}, but this checkpoint was made from "
            f"{known.topic_id}: "
            "the topic was deleted and created again, so the stored offsets mean other records.",
            f"To read the new topic from its beginning, {_reset_remedy(spec)}.",
        )
    refuse_damaged_logs(Checkpoint(paths.checkpoint), spec.name)
    if spec.keeps_state:
        refuse_half_moved(paths)
    _refuse_missing_batches(paths, known)
    _refuse_shortened_topic(spec, paths, topic)
    loss = data_loss(paths, topic)
    if loss and spec.on_lost_records == "refuse":
        raise RecordsGone(
            f"Kafka's retention removed records that were never read: {format_data_loss(loss)}.",
            "Lengthen the topic's retention. To skip these records, set on_lost_records='skip'; "
            f"or {_reset_remedy(spec)}.",
        )
    accepted = {
        change.field: current[change.field]
        for change in differences
        if change.field not in FROZEN and change.field in current
    }
    now = MadeBy(
        fingerprint=stored | accepted, environment=around, classification=classification(spec)
    )
    return known.changed_to(now, paths)


def _differences(
    known: Identity, now: tuple[Fingerprint, Environment], spec: Pipeline, paths: Paths
) -> tuple[Identity, Fingerprint, list[Change]]:
    """The identity of the newest batch, its fingerprint, and what differs from it now: nothing
    where it is what the last run accepted.
    """
    made = known.of_newest_batch(paths)
    found = [
        all_changes((each.fingerprint, each.environment or now[1]), now, spec)
        for each in (known, made)
    ]
    if not found[0]:
        return made, known.fingerprint, []
    return made, made.fingerprint, found[1]


def _refuse_changes(spec: Pipeline, paths: Paths, differences: list[Change]) -> None:
    refused = [change for change in differences if change.weight == "refused"]
    if not refused:
        return
    settings = [change.field for change in refused if change.field.startswith("spark.")]
    revert = "Run the Sluice that made the state" if settings else "Revert the spec"
    raise StateIncompatible(
        f"the state at {paths.version} was made by another spec: {'; '.join(map(str, refused))}.",
        f"{revert};{_declaration(spec, refused)} or {_reset_remedy(spec)}.",
    )


def spec_warnings(spec: Pipeline, paths: Paths) -> tuple[str, ...]:
    """A line for each allowed change of the spec since the newest batch was made, and for each
    declaration that would allow one which nobody has decided.

    Raises CheckpointBroken.
    """
    known = read_identity(paths)
    if known is None:
        return ()
    current, around = fingerprint(spec, version("pyspark")), environment(spec)
    _, _, differences = _differences(known, (current, around), spec, paths)
    allowed = [change.meaning for change in differences if change.weight == "warned"]
    return (*allowed, *idle_declarations(current, spec))


def changes_since(spec: Pipeline, known: Identity, paths: Paths) -> tuple[str, ...]:
    """What of the spec the newest batch was not made by, in words: all on which its account or its
    state depends. Not the versions and settings of Spark, nor what the checkpoint has fixed.
    """
    current, around = fingerprint(spec, version("pyspark")), environment(spec)
    _, _, differences = _differences(known, (current, around), spec, paths)
    told = [
        str(change)
        for change in differences
        if change.field not in FROZEN and not change.field.startswith(("spark", "version of"))
    ]
    was, now = known.of_newest_batch(paths).classification, classification(spec)
    if was is not None and was != now and not told:
        told = [f"max_ahead or required: was {was!s}, is {now!s}"]
    return tuple(told)


def _declaration(spec: Pipeline, refused: list[Change]) -> str:
    """How a person declares that the changes leave the state right; empty if nobody can."""
    logic = [change.was for change in refused if change.field == "logic"]
    expressions = [sql for change in refused for sql in change.expressions]
    missing = [sql for sql in expressions if sql not in spec.compatible_expressions]
    if not all(change.field == "logic" or change.expressions for change in refused):
        return ""
    told = [f"add {logic[0]!r} to compatible_logic in spec.py"] if logic else []
    told += [f"add {', '.join(map(repr, missing))} to compatible_expressions"] if missing else []
    return (
        f" or, if the new code can use that state, {' and '.join(told)}, then run "
        f"`sluice drain {spec.name}`;"
    )


def _reset_remedy(spec: Pipeline) -> str:
    if spec.is_archive:
        return (
            f"begin a new checkpoint: `sluice reset {spec.name}` (the table keeps the records of a "
            "topic that is no longer there)"
        )
    return (
        f"start again from Kafka with new state and a new table: `sluice reset {spec.name}` "
        "(it keeps the old ones)"
    )


def _refuse_missing_batches(paths: Paths, known: Identity) -> None:
    # Planned batches count, not committed ones: Spark runs a batch without a commit again, and the
    # transaction id of its rows keeps them from being written twice.
    audited = read_cursor(paths.cursor).audited
    newest = max(Checkpoint(paths.checkpoint).planned(), default=-1)
    if audited > newest:
        raise CheckpointForeign(
            f"{paths.checkpoint} ends at batch {newest}, but batch {audited} of generation "
            f"{known.generation} is in the table: the checkpoint was deleted or is not complete.",
            f"Restore the checkpoint, or start again with `sluice reset {paths.pipeline}`. A "
            "run without the checkpoint "
            f"would write those rows again into {paths.table}.",
        )


def _refuse_shortened_topic(spec: Pipeline, paths: Paths, topic: SourceState) -> None:
    # The topic id is unchanged. New records get the offsets of the lost ones, and a query that
    # resumes would skip them.
    checkpoint = Checkpoint(paths.checkpoint)
    planned = checkpoint.planned()
    known = checkpoint.batch(planned[-1]).end if planned else {}
    short = {
        p: (latest, known[p]) for p, latest in topic.latest.items() if latest < known.get(p, 0)
    }
    if short:
        where = ", ".join(
            f"partition {p} ends at {latest}, but the checkpoint has offsets up to {end}"
            for p, (latest, end) in short.items()
        )
        raise OffsetsWentBack(
            f"topic {spec.topic.name!r} ends before this checkpoint's offsets: {where}. The "
            "brokers lost records that they had "
            "acknowledged, or an older copy of the topic was restored. New records at these "
            "offsets would be skipped.",
            "Restore the whole topic, or a root that is not newer than the topic. To read the "
            "topic from its beginning, "
            f"{_reset_remedy(spec)}.",
        )


DataLoss = dict[int, tuple[int, int]]
"""Partition -> the first and last offset of the records that Kafka removed before the checkpoint
read them.
"""


def data_loss(paths: Paths, topic: SourceState) -> DataLoss:
    """The records that retention removed and no batch has read; empty if there are none, or no
    batch is planned yet.
    """
    checkpoint = Checkpoint(paths.checkpoint)
    planned, committed = checkpoint.planned(), checkpoint.committed()
    if not planned:
        return {}
    next_to_read = (
        checkpoint.batch(committed[-1]).end if committed else checkpoint.batch(planned[0]).start
    )
    # A partition that no batch has yet will be read from 0.
    unread = {p: (next_to_read.get(p, 0), first - 1) for p, first in topic.earliest.items()}
    return {p: (at, last) for p, (at, last) in unread.items() if last >= at}


def format_data_loss(loss: DataLoss) -> str:
    """The number of records and the offsets of each partition, on one line."""
    return ", ".join(
        f"partition {p}: {last - at + 1} records ({at} to {last})" for p, (at, last) in loss.items()
    )
