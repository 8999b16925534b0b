"""Holds the asset events of a pipeline against its batches' account, without Sluice's code."""

from collections import Counter
from typing import Any, NamedTuple

Row = dict[str, Any]
Event = dict[str, Any]
OF_REPAIRS = {"kept_aside", "outside"}
"""Counts of a repair's account. No batch has them, so they must be 0."""


class Announced(NamedTuple):
    """What is wrong with the events: batches whose account is in several of them, or in none."""

    twice: int
    never: int
    told: tuple[str, ...]
    left: list[Row]


def announced(events: list[Event], batches: list[Row]) -> Announced:
    """Each event goes on from the one before, by number and version."""
    told = [
        f"version {version} of generation {generation} was told {times} times"
        for (generation, version), times in Counter(map(_key, events)).items()
        if times > 1
    ]
    numbers = [event["number"] for event in events]
    if numbers != [*range(1, len(events) + 1)]:
        told.append(f"the events have the numbers {numbers}")
    times, before, start = [0] * len(batches), None, 0
    for event in events:
        if event["table_version_before"] != before:
            told.append(
                f"the event of version {event['table_version']} begins after version "
                f"{event['table_version_before']}, and the one before it ended at {before}"
            )
        for number in _of_versions(event, batches):
            times[number] += 1
        end = _end(event, batches, start)
        if end is None:
            told.append(
                f"the account in the event of version {event['table_version']} is not that of "
                "its batches"
            )
        before, start = event["table_version"], start if end is None else end
    committed = [
        count
        for count, batch in zip(times, batches, strict=True)
        if batch["table_version"] is not None
    ]
    twice, never = sum(count > 1 for count in committed), committed.count(0)
    if twice or never:
        told.append(f"{twice} batches are in more than one event, {never} in none")
    return Announced(twice, never, tuple(told), batches[start:])


def _key(event: Event) -> tuple[str, int]:
    return event["generation"], event["table_version"]


def _of_versions(event: Event, batches: list[Row]) -> list[int]:
    """The batches that committed one of the event's versions, by their place."""
    before = event["table_version_before"]
    return [
        number
        for number, batch in enumerate(batches)
        if _is_until(batch, event["table_version"])
        and (before is None or batch["table_version"] > before)
    ]


def _is_until(batch: Row, version: int) -> bool:
    return batch["table_version"] is not None and batch["table_version"] <= version


def _end(event: Event, batches: list[Row], start: int) -> int | None:
    """The place after the event's last batch, by its account; None if it is that of no batches."""
    least = max(_of_versions(event, batches), default=start - 1) + 1
    for end in range(max(least, start), len(batches) + 1):
        own = batches[start:end]
        if end > least and own[-1]["table_version"] is not None:
            return None
        if all(
            count == sum(batch[name] or 0 for batch in own if name not in OF_REPAIRS)
            for name, count in event["account"].items()
            if isinstance(count, int)
        ):
            return end
    return None
