"""New keys: tells once of a key in the records that no field names, and how to declare it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.notes.new_keys import NewKeys, read_new_keys
from spark_jobs.decode.json.unnamed import Seen, is_named, names_of
from spark_jobs.messages.new_keys import NewKey
from spark_jobs.values import path as paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spark_jobs.root.paths import Paths
    from spark_jobs.spec import Pipeline, Topic

LOG = logging.getLogger(__name__)
MOST: Final = 50
"""Keys that are told of a pipeline: of records whose keys are data there is no end."""
MOST_LINES: Final = 10
"""Keys of which a plan has a line: it has them as long as no field names them."""


def tell(
    spec: Pipeline, paths_: Paths, found: Iterable[Seen], confirm: Callable[[], None]
) -> tuple[NewKey, ...]:
    """Log those that nobody was told of, and note them. `confirm`: that the lease is held."""
    known = _unnamed(spec.topic, read_new_keys(paths_.new_keys))
    told = {each.path for each in known.keys}
    news = [key for key in map(_new_key, found) if key.path not in told]
    room = news[: MOST - len(known.keys)]
    more = known.more or len(room) < len(news)
    if not room and more == known.more:
        return ()
    confirm()
    NewKeys(keys=(*known.keys, *room), more=more).write(paths_.new_keys)
    for key in room:
        LOG.warning("%s: %s; sluice plan shows how to declare it", spec.name, key.line)
    if more and not known.more:
        told_all = "%s: there are more such keys; no more than %d are told"
        LOG.warning(told_all, spec.name, MOST)
    return tuple(room)


def declarations(topic: Topic, paths_: Paths) -> tuple[str, ...]:
    """A line for each of the keys that were told and that still no field names, with the line of
    the spec that would.
    """
    taken, lines = {*topic.columns}, list[str]()
    known = _unnamed(topic, read_new_keys(paths_.new_keys)).keys
    for key in known[:MOST_LINES]:
        taken.add(name := key.name(taken))
        declared = key.declaration(name)
        lines.append(f"{key.line}. {f'To declare it: {declared}' if declared else 'None can'}")
    more = len(known) - len(lines)
    return (
        *lines,
        *([f"{more:,} other keys that no field names are in {paths_.new_keys}"] if more else []),
    )


def _unnamed(topic: Topic, known: NewKeys) -> NewKeys:
    """Without those that a field names by now."""
    names = names_of(topic)
    kept = tuple(key for key in known.keys if not is_named(names, paths.parsed(key.path)))
    return NewKeys(keys=kept, more=known.more and len(kept) == len(known.keys))


def _new_key(seen: Seen) -> NewKey:
    return NewKey(
        path=paths.as_text(seen.path),
        kinds=tuple(sorted(seen.kinds)),
        records=seen.records,
        looked_at=seen.looked_at,
        partition=seen.partition,
        offset=seen.offset,
    )
