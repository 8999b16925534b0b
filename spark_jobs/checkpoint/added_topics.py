"""Added topics: what the checkpoint says of each topic, for another list of topics.

Spark resumes from the newest entry of the offset log and the one before, and asks of both for as
many lines as the query has sources (OffsetSeqBase.toStreamProgress). A topic that was added has
none: its line says so, and Spark begins it where `sources/<n>/0` says, if that is there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import NO_OFFSETS, checkpoint_broken, topic_of
from spark_jobs.checkpoint.notes.live import with_known_topics
from spark_jobs.errors import LeaseLost
from spark_jobs.source.positions import Positions
from spark_jobs.storage.seen import look, put_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upath import UPath

    from spark_jobs.checkpoint.log import Checkpoint
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held

HEAD = 2
"""Lines of an entry before its topics': the version and the metadata."""


def fit(
    checkpoint: Checkpoint, topics: Sequence[str], begins: Positions, held: Held, pipeline: str
) -> None:
    """May be cut off anywhere, and is repeated. A line that no batch needs goes again: its topic
    was taken back before anything of it was read. Where another topic has its number now, that one
    begins at its offset in `begins`.

    Raises LeaseLost; CheckpointBroken if a batch has read more topics than these or others, or was
    planned to.
    """
    for batch in checkpoint.planned()[-2:]:
        path = checkpoint.folder / "offsets" / str(batch)
        seen = look(path)
        lines = (seen.text or "").splitlines()
        fitted = _fitted(lines, HEAD + len(topics))
        if lines and (what := _wrong(fitted[HEAD:], topics)):
            raise checkpoint_broken(f"{path} has {what}", pipeline)
        if lines and fitted != lines:
            _put(path, "\n".join(fitted), held)
    for number in checkpoint.begun():
        wanted = topics[number] if number < len(topics) else None
        if checkpoint.initial_topic(number) != wanted:
            _put(checkpoint.initial_path(number), _begins(wanted, number, begins), held)


def _wrong(lines: Sequence[str], topics: Sequence[str]) -> str:
    if len(lines) > len(topics):
        return f"{len(lines)} topics, and the spec {len(topics)}"
    of = (None if line == NO_OFFSETS else topic_of(line) for line in lines)
    pairs = zip(of, topics, strict=True)
    return next(
        (f"the topic {was}, and the spec {now}" for was, now in pairs if was and was != now), ""
    )


def _begins(topic: str | None, number: int, begins: Positions) -> str:
    own = begins.of_inputs().get(number, Positions())
    offsets = {} if topic is None else {topic: own.named}
    return f"\0v1\n{json.dumps(offsets, separators=(',', ':'))}"


def _put(path: UPath, text: str, held: Held) -> None:
    """Over what is there. Nothing is removed: on a store a removal may come late, when the next
    holder of the lease has written.
    """
    seen = look(path)
    held.confirm()
    # Before the text: by the old checksum Hadoop would refuse the new text.
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    try:
        put_over(path, seen, text, alone=True)
    except FileExistsError:
        raise LeaseLost.planned_elsewhere(batch=path.name, folder=path.parent) from None


def _fitted(lines: list[str], length: int) -> list[str]:
    """With lines for topics that no batch has, or without those.

    >>> _fitted(["v1", "{}", '{"a":{"0":5}}'], 4)
    ['v1', '{}', '{"a":{"0":5}}', '-']
    >>> _fitted(["v1", "{}", '{"a":{"0":5}}', "-"], 3)
    ['v1', '{}', '{"a":{"0":5}}']
    """
    found = [*lines, *[NO_OFFSETS] * (length - len(lines))]
    while len(found) > length and found[-1] == NO_OFFSETS:
        found.pop()
    return found


def with_new_topics(spec: Pipeline, settings: Settings) -> Pipeline:
    """The spec with those that its checkpoint has, and behind them the new ones by their names.

    The first batch that may read them notes them in the identity. Raises KafkaUnreachable,
    KafkaRefused, KafkaConfigInvalid.
    """
    if spec.more_topics is None:
        return spec
    from spark_jobs.source.topic_state import topic_names  # noqa: PLC0415 - Kafka's client

    spec = with_known_topics(spec, settings.root)
    known = [each.name for each in spec.inputs]
    found = spec.more_topics.among(topic_names(settings, known[0])) if spec.more_topics else []
    return spec.with_topics([*known, *(name for name in found if name not in known)])
