"""New keys: tells once of a key in the records that no field names, and how to declare it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.json.unnamed import Seen, is_named, names_of
from spark_jobs.errors import SpecInvalid
from spark_jobs.messages.part import FEWEST, NewKey
from spark_jobs.settings.installation import record_bytes
from spark_jobs.spec import Field, Topic
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.stored import Stored
from spark_jobs.values import path as paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


LOG = logging.getLogger(__name__)
MOST: Final = 50
"""Keys that are told of a pipeline: of records whose keys are data there is no end."""
MOST_LINES: Final = 10
"""Keys with a line in a plan: it has them as long as no field names them."""


def tell(
    spec: Pipeline, paths_: Paths, found: Iterable[Seen], held: Held | None
) -> tuple[NewKey, ...]:
    """Log keys that nobody was told of, and note them, under the lease that this run holds.

    Unless values of records may be shown, a key that may be one is counted and not named. Keys of
    few records wait for a run with more.
    """
    stored = read_new_keys(paths_.new_keys)
    known = _unnamed(spec.inputs, stored)
    told = {each.path for each in known.keys}
    seen = (
        key
        for key in (_new_key(each, spec.inputs) for each in found)
        if key.looked_at >= FEWEST or record_bytes()
    )
    news = [key for key in seen if key.path not in told]
    names = [key for key in news if _may_be_told(key)]
    room = names[: MOST - len(known.keys)]
    others = known.others or len(news) - len(names)
    more = known.more or len(room) < len(names)
    changed = {"keys": (*known.keys, *room), "more": more, "others": others}
    if (now := known.model_copy(update=changed)) == stored:
        return ()
    now.put(paths_.new_keys, held)
    for key in room:
        LOG.warning("%s: %s; sluice plan shows how to declare it", spec.name, key.line)
    if others and not known.others:
        most = sum(key.records for key in news if key not in names)
        looked_at = news[0].looked_at
        LOG.warning(
            "%s: no field names %s, in at most %d of %d records that were looked at",
            spec.name,
            _told(others),
            min(most, looked_at),
            looked_at,
        )
    if more and not known.more:
        told_all = "%s: there are more such keys; no more than %d are told"
        LOG.warning(told_all, spec.name, MOST)
    return tuple(room)


def declarations(inputs: Topics, paths_: Paths) -> tuple[str, ...]:
    """A line for each of the keys that were told and that still no field names, with the line of
    the spec that would.
    """
    taken, lines = {*inputs.columns}, list[str]()
    found = _unnamed(inputs, read_new_keys(paths_.new_keys))
    known = found.keys
    for key in known[:MOST_LINES]:
        taken.add(name := key.name(taken))
        lines.append(f"{key.line}. {_how(inputs.of_partition(key.partition), key, name)}")
    more = len(known) - len(lines)
    return (
        *lines,
        *([f"{more:,} other keys that no field names are in {paths_.new_keys}"] if more else []),
        *([f"no field names {_told(found.others)}"] if found.others else []),
    )


def _how(topic: Topic, key: NewKey, name: str) -> str:
    given = key.attributes(name)
    if given is None:
        return "None can"
    try:
        Topic(**{**dict(topic), "fields": (*topic.fields, Field(**given))})
    except SpecInvalid:
        return "A field of its own cannot; the type of the field that it is in can"
    return f"To declare it: {key.declaration(name)}"


def _told(others: int) -> str:
    return f"{others:,} other keys, whose names may be values of records"


def _may_be_told(key: NewKey) -> bool:
    return record_bytes() or key.is_a_name


def _unnamed(inputs: Topics, known: NewKeys) -> NewKeys:
    names = names_of(inputs)
    kept = tuple(key for key in known.keys if not is_named(names, paths.parsed(key.path)))
    more = known.more and len(kept) == len(known.keys)
    named = tuple(key for key in kept if _may_be_told(key))
    others = 0 if record_bytes() else known.others or len(kept) - len(named)
    return known.model_copy(update={"keys": named, "more": more, "others": others})


def _new_key(seen: Seen, inputs: Topics) -> NewKey:
    return NewKey(
        path=paths.as_text(seen.path),
        kinds=tuple(sorted(seen.kinds)),
        records=seen.records,
        looked_at=seen.looked_at,
        partition=seen.partition,
        offset=seen.offset,
        place=inputs.shown(seen.partition),
    )


class NewKeys(Stored):
    """The content of new_keys.json."""

    keys: tuple[NewKey, ...] = ()
    more: bool = False
    """Whether there were more than it may hold."""
    others: int = 0
    """Keys, of the first run that saw such, whose names may be data and are not told."""


def read_new_keys(path: UPath) -> NewKeys:
    """What was told; nothing without the file, or if it does not parse: then it is told again."""
    try:
        return NewKeys.read(path)
    except (FileNotFoundError, ValueError):
        return NewKeys().over(path)
