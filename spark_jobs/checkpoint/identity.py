"""Who a checkpoint is: its generation, the topic that it was made from, and the fingerprint of the spec of its state."""

from __future__ import annotations

import json
import uuid
from importlib.metadata import version
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.integrity import refuse_broken
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.errors import CheckpointBroken, CheckpointForeign, RecordsGone, StateIncompatible, TopicRemade
from spark_jobs.contract.files import write_whole
from spark_jobs.contract.fingerprint import FROZEN, changes, fingerprint
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.spec import Pipeline
from spark_jobs.source.topic_state import TopicState
from spark_jobs.storage.folders import begun

if TYPE_CHECKING:
    from upath import UPath


class Identity(BaseModel):
    """The content of identity.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    generation: str
    """New with every new checkpoint: batch ids start at 0 again, so nothing may be keyed by them alone."""
    topic_id: str
    table_id: str = ""
    """Delta's own id of the table, once the first run has made it: a table made anew has another."""
    fingerprint: dict[str, object]

    def owner(self, pipeline: str) -> str:
        """The application id of Delta's transactions: new with every generation, since batch ids then start at 0 again."""
        return f"{pipeline}/{self.generation}"

    def write(self, path: UPath) -> None:
        """Whole or not at all."""
        write_whole(path, json.dumps(self.model_dump(), indent=2, sort_keys=True))


def stored(paths: Paths) -> Identity | None:
    """The identity beside the checkpoint; None where there is no checkpoint yet. Raises CheckpointBroken."""
    if moves := begun(paths.moving):
        raise CheckpointBroken(f"a reset of {paths.table.name} was cut off: {moves[0][0]} is moved in part.",
                               f"It goes on where it stopped: sluice reset {paths.table.name} --execute")
    try:
        if paths.identity.exists():
            return Identity.model_validate_json(paths.identity.read_text())
    except ValueError:
        wrong = "does not parse"
    else:
        if not Checkpoint(paths.checkpoint).planned():
            return None
        wrong = "is missing"
    raise CheckpointBroken(
        f"{paths.identity} {wrong}, and only that says by which topic and spec the checkpoint beside it was made.",
        f"Put it back from a copy, or begin anew from Kafka: sluice reset {paths.table.name}")


def settle(spec: Pipeline, paths: Paths, topic: TopicState) -> Identity:
    """The identity that this spec and this topic must have, held against the stored one.

    Raises StateIncompatible, TopicRemade, CheckpointBroken, CheckpointForeign or RecordsGone. Writes nothing.
    """
    wanted = fingerprint(spec, version("pyspark"))
    known = stored(paths)
    if known is None:
        return Identity(generation=uuid.uuid4().hex[:12], topic_id=topic.id, fingerprint=wanted)
    differences = changes(known.fingerprint, wanted, spec)
    refused = [change for change in differences if change.weight == "refused"]
    if refused:
        logic = next((change for change in refused if change.field == "logic"), None)
        compatible = f" or, if the new code can go on with that state, add {logic.was!r} to compatible_logic;" if logic else ""
        raise StateIncompatible(
            f"the state at {paths.version} was made by another spec: {'; '.join(map(str, refused))}.",
            f"Revert the spec;{compatible} or {_anew(spec)}.",
        )
    if known.topic_id != topic.id:
        raise TopicRemade(
            f"topic {spec.topic.name!r} has id {topic.id}, but this checkpoint was made from {known.topic_id}: "
            "the topic was deleted and created anew, and its offsets mean other records.",
            f"To read the new topic from its beginning, {_anew(spec)}.",
        )
    refuse_broken(Checkpoint(paths.checkpoint), spec.name)
    _refuse_missing(paths, known)
    _refuse_shortened(spec, paths, topic)
    gone = lost(paths, topic)
    if gone and spec.on_lost_records == "refuse":
        raise RecordsGone(
            f"Kafka's retention removed records that were never read: {in_words(gone)}.",
            f"Lengthen the topic's retention; to go on without them, set on_lost_records='skip', or {_anew(spec)}.",
        )
    accepted = {change.field: change.now for change in differences if change.field not in FROZEN}
    return known.model_copy(update={"fingerprint": known.fingerprint | accepted})


def warned(spec: Pipeline, paths: Paths) -> tuple[str, ...]:
    """What differs between the spec and the state's, and may: a line each."""
    known = stored(paths)
    if known is None:
        return ()
    differences = changes(known.fingerprint, fingerprint(spec, version("pyspark")), spec)
    return tuple(change.meaning for change in differences if change.weight == "warned")


def _anew(spec: Pipeline) -> str:
    return f"begin state and table anew from Kafka: `sluice reset {spec.name}` (it keeps the old ones)"


def _refuse_missing(paths: Paths, known: Identity) -> None:
    # Planned, not committed: a batch whose commit is missing is run again, and its rows are known by their transaction.
    audited, newest = read_cursor(paths.cursor).audited, max(Checkpoint(paths.checkpoint).planned(), default=-1)
    if audited > newest:
        raise CheckpointForeign(
            f"{paths.checkpoint} ends at batch {newest}, but batch {audited} of generation "
            f"{known.generation} is in the table: the checkpoint was deleted or is not whole.",
            f"Put the checkpoint back, or begin anew with `sluice reset {paths.table.name}`: a run without it would write "
            f"those rows again into {paths.table}.",
        )


def _refuse_shortened(spec: Pipeline, paths: Paths, topic: TopicState) -> None:
    # The id is the same. New records get the offsets of those that are gone, and whoever reads on passes them over.
    checkpoint = Checkpoint(paths.checkpoint)
    planned = checkpoint.planned()
    known = checkpoint.batch(planned[-1]).end if planned else {}
    short = {p: (latest, known[p]) for p, latest in topic.latest.items() if latest < known.get(p, 0)}
    if short:
        where = ", ".join(f"partition {p} ends at {latest}, and was planned or read to {end}"
                          for p, (latest, end) in short.items())
        raise TopicRemade(
            f"topic {spec.topic.name!r} is shorter than this checkpoint knows it: {where}. The brokers have lost records that "
            "they had acknowledged, or an older copy of the topic was put back, and its offsets will mean other records.",
            f"Put the whole topic back, or a root that is no newer than it; or, to read it from its beginning, {_anew(spec)}.",
        )


Lost = dict[int, tuple[int, int]]
"""Partition -> the first and last offset of the records that nobody will read any more."""


def lost(paths: Paths, topic: TopicState) -> Lost:
    """What retention has removed behind the checkpoint's back."""
    checkpoint = Checkpoint(paths.checkpoint)
    planned, committed = checkpoint.planned(), checkpoint.committed()
    if not planned:
        return {}
    next_to_read = checkpoint.batch(committed[-1]).end if committed else checkpoint.batch(planned[0]).start
    # A partition that no batch knows yet will be read from 0.
    held = {p: (next_to_read.get(p, 0), first - 1) for p, first in topic.earliest.items()}
    return {p: (at, last) for p, (at, last) in held.items() if last >= at}


def in_words(gone: Lost) -> str:
    """Each partition's, with their number."""
    return ", ".join(f"partition {p}: {last - at + 1} records ({at} to {last})" for p, (at, last) in gone.items())
