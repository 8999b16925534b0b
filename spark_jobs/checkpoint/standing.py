"""Standing: a spec held against the checkpoint that it would resume."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import NamedTuple

from spark_jobs.checkpoint.identity import Identity, MadeBy, Present, read_identity
from spark_jobs.checkpoint.integrity import refuse_damaged_logs
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import (
    CheckpointForeign,
    OffsetsWentBack,
    RecordsGone,
    StateIncompatible,
    TopicRemade,
)
from spark_jobs.registry.fingerprint.environment import all_changes, is_of_older_form
from spark_jobs.registry.fingerprint.fields import (
    FROZEN,
    Declared,
    FieldChange,
    Fingerprint,
    idle_declarations,
)
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec.inputs import BETWEEN, Topics
from spark_jobs.storage.root.paths import Paths

DataLoss = dict[int, tuple[int, int]]
"""Partition -> the first and last offset of the records that Kafka removed before the checkpoint
read them.
"""


def data_loss(paths: Paths, declared: Topics, topic: SourceState) -> DataLoss:
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
    # A topic that no batch has yet will be read from where its source once found it to begin, as
    # behind a rewind, or from where it begins then. A partition of another one, from 0.
    names = [each.name for each in declared]
    for number in topic.earliest.inputs - next_to_read.inputs:
        if checkpoint.initial_topic(number) == names[number]:
            next_to_read |= checkpoint.initial_offsets(number)
    gone = next_to_read.parts(topic.earliest.of_these({0} | next_to_read.inputs))
    return {p: (at, stop - 1) for p, [(at, stop)] in gone.items()}


def format_data_loss(loss: DataLoss, shown: Callable[[int], str] = str) -> str:
    """The number of records and the offsets of each partition, on one line."""
    return ", ".join(
        f"partition {shown(p)}: {last - at + 1} records ({at} to {last})"
        for p, (at, last) in loss.items()
    )


class Standing(NamedTuple):
    """What the next batch would be made by, beside what the newest one was made by."""

    paths: Paths
    now: MadeBy
    declared: Declared
    stored: Identity | None
    """As it is beside the checkpoint; None if there is no checkpoint yet."""
    made: Identity | None
    """Of the newest batch; for a digest of an older form it has today's."""
    fields: Fingerprint
    """Of the newest batch; where nothing differs from what the last run accepted, of that."""
    differences: tuple[FieldChange, ...]
    """Between these fields, with what surrounds them, and now."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each allowed change of the spec since the newest batch was made, and for each
        declaration that would allow one which nobody has decided.
        """
        if self.stored is None:
            return ()
        allowed = [change.meaning for change in self.differences if change.weight == "warned"]
        if _is_of_older_form(self.stored, self.now):
            was = self.stored.fingerprint["logic"]
            allowed.append(
                f"logic: an older Sluice made {was!r} in another form; the code is taken for "
                "unchanged, and its digest noted anew"
            )
        return (*allowed, *idle_declarations(self.now.fingerprint, self.declared))

    @property
    def changes(self) -> tuple[str, ...]:
        """What of the spec the newest batch was not made by, in words: all on which its account or
        its state depends. Not the versions and settings of Spark, nor what the checkpoint has
        fixed.
        """
        told = [
            str(change)
            for change in self.differences
            if change.field not in FROZEN and not change.field.startswith(("spark", "version of"))
        ]
        was, now = self.made.classification if self.made else None, self.now.classification
        if was is not None and was != now and not told:
            told = [f"max_ahead, required or rules: was {was!s}, is {now!s}"]
        return tuple(told)

    def identity(self, topic: SourceState) -> Identity:
        """The identity of this run: a new one if there is no checkpoint, else the stored one,
        verified and updated.

        Raises StateIncompatible, TopicRemade, CheckpointBroken, CheckpointForeign or RecordsGone.
        Writes nothing.
        """
        stored, made = self.stored, self.made
        if stored is None or made is None:
            return Identity(generation=uuid.uuid4().hex[:12], topic_id=topic.id, **dict(self.now))
        if not stored.table_id and not Checkpoint(self.paths.checkpoint).planned():
            # Its first run ended before the table was known to be its own: no state, nothing read.
            _refuse_missing_batches(self.paths, stored.generation)
            fresh = {"topic_id": topic.id, **dict(self.now), "before": None}
            return stored.model_copy(update=fresh)
        self._refuse_changes()
        self._refuse_other_records(topic, made)
        accepted = {
            change.field: self.now.fingerprint[change.field]
            for change in self.differences
            if change.field not in FROZEN and change.field in self.now.fingerprint
        }
        now = self.now.model_copy(update={"fingerprint": self.fields | accepted})
        return made.changed_to(now, self.paths).model_copy(update={"topic_id": topic.id})

    def _refuse_changes(self) -> None:
        refused = [change for change in self.differences if change.weight == "refused"]
        if not refused:
            return
        settings = [change.field for change in refused if change.field.startswith("spark.")]
        revert = "Run the Sluice that made the state" if settings else "Revert the spec"
        raise StateIncompatible.spec_changed(
            folder=self.paths.version,
            differences="; ".join(map(str, refused)),
            revert=revert,
            declare=self._declaration(refused) + _beside(self.paths, refused),
            reset=_reset_remedy(self.paths),
        )

    def _refuse_other_records(self, topic: SourceState, made: Identity) -> None:
        """Unless what the checkpoint will read next is what follows on what it has read."""
        paths = self.paths
        names, were = (
            str(of["topic.name"]).split(BETWEEN)
            for of in (self.now.fingerprint, (self.stored or made).fingerprint)
        )
        # A topic that was added has no id there, and one in the place of another that of the other;
        # its name is among the fields.
        known = zip(were, made.topic_id.split(), strict=False)
        for name, id_, (called, was) in zip(names, topic.id.split(), known, strict=False):
            if name == called and id_ != was:
                raise TopicRemade.remade_since_checkpoint(
                    topic=name, found=id_, made=was, reset=_reset_remedy(paths)
                )
        refuse_damaged_logs(Checkpoint(paths.checkpoint), paths.pipeline)
        _refuse_missing_batches(paths, made.generation)
        self._refuse_shortened_topic(topic)
        loss = data_loss(paths, self.declared.inputs, topic)
        if loss and not self.declared.skips_lost:
            told = format_data_loss(loss, self.declared.inputs.shown)
            raise RecordsGone.unread_removed(loss=told, reset=_reset_remedy(paths))

    def _declaration(self, refused: list[FieldChange]) -> str:
        logic = [change.was for change in refused if change.field == "logic"]
        expressions = [sql for change in refused for sql in change.expressions]
        missing = [sql for sql in expressions if sql not in self.declared.expressions]
        if not all(change.field == "logic" or change.expressions for change in refused):
            return ""
        told = [f"add {logic[0]!r} to compatible_logic in spec.py"] if logic else []
        if missing:
            told.append(f"add {', '.join(map(repr, missing))} to compatible_expressions")
        return (
            f" or, if the new code can use that state, {' and '.join(told)}, then run "
            f"`sluice drain {self.paths.pipeline}`;"
        )

    def _refuse_shortened_topic(self, topic: SourceState) -> None:
        # The topic id is unchanged. New records get the offsets of the lost ones, and a query that
        # resumes would skip them.
        checkpoint = Checkpoint(self.paths.checkpoint)
        planned = checkpoint.planned()
        known = checkpoint.batch(planned[-1]).end if planned else Positions()
        short = topic.latest.parts(known.among(topic.latest))
        if short:
            where = ", ".join(
                f"partition {self.declared.inputs.shown(p)} ends at {latest}, but the checkpoint "
                f"has offsets up to {end}"
                for p, [(latest, end)] in short.items()
            )
            raise OffsetsWentBack.topic_went_back(
                topic=self.now.fingerprint["topic.name"],
                where=where,
                reset=_reset_remedy(self.paths),
            )


def standing(present: Present, paths: Paths) -> Standing:
    """Hold them against identity.json. Raises CheckpointBroken."""
    now, declared = present.made_by, present.declared
    stored = read_identity(paths)
    if stored is None:
        return Standing(paths, now, declared, None, None, {}, ())
    last, made = (_in_todays_form(each, now) for each in (stored, stored.of_newest_batch(paths)))
    assert now.environment is not None
    around = (now.fingerprint, now.environment)
    since_last, since_made = (
        tuple(all_changes((of.fingerprint, of.environment or now.environment), around, declared))
        for of in (last, made)
    )
    if not since_last:
        return Standing(paths, now, declared, stored, made, last.fingerprint, ())
    return Standing(paths, now, declared, stored, made, made.fingerprint, since_made)


def _is_of_older_form(of: Identity, now: MadeBy) -> bool:
    both = {"logic"} <= of.fingerprint.keys() & now.fingerprint.keys()
    return both and is_of_older_form(of.fingerprint["logic"])


def _in_todays_form(of: Identity, now: MadeBy) -> Identity:
    """A digest of an older form says nothing of today's: the code is taken for unchanged, once."""
    if not _is_of_older_form(of, now):
        return of
    fields = of.fingerprint | {"logic": now.fingerprint["logic"]}
    around = of.environment or now.environment
    if around and now.environment:
        around = around.model_copy(update={"imports": now.environment.imports})
    return of.model_copy(update={"fingerprint": fields, "environment": around})


def _beside(paths: Paths, refused: list[FieldChange]) -> str:
    if paths.is_archive or not all(change.field.startswith("topic.") for change in refused):
        return ""
    return f" or write the change as NEXT in spec.py and run `sluice rebuild {paths.pipeline}`;"


def _reset_remedy(paths: Paths) -> str:
    if paths.is_archive:
        return (
            f"begin a new checkpoint: `sluice reset {paths.pipeline}` (the table keeps the records "
            "of a topic that is no longer there)"
        )
    return (
        f"start again from Kafka with new state and a new table: `sluice reset {paths.pipeline}` "
        "(the old ones stay for some days)"
    )


def _refuse_missing_batches(paths: Paths, generation: str) -> None:
    # Planned batches count, not committed ones: Spark runs a batch without a commit again, and the
    # transaction id of its rows keeps them from being written twice.
    audited = read_cursor(paths.cursor).audited
    newest = max(Checkpoint(paths.checkpoint).planned(), default=-1)
    if audited > newest:
        raise CheckpointForeign.behind_table(
            checkpoint=paths.checkpoint,
            newest=newest,
            audited=audited,
            generation=generation,
            pipeline=paths.pipeline,
            table=paths.table,
        )
