"""Measures: the sizes of a step's keys, and when its rows expire, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from spark_jobs.state.answer import Expiry, KeySizes

SPANS: Final = ((1, "an hour"), (24, "a day"), (7 * 24, "a week"), (30 * 24, "30 days"))
WHAT: Final = {"rows": "expire", "timers": "fire", "timeouts": "time out"}
BY: Final = {
    "watermark": "with the watermark",
    "clock": "by the clock",
    "processor": "when the processor removes them",
    "nothing": "never",
}


class Measures(NamedTuple):
    """Of one step. No sizes: its store does not tell them."""

    sizes: KeySizes | None
    expiry: tuple[Expiry, ...]


def told(measures: Measures) -> Iterator[str]:
    """A few lines."""
    if measures.sizes is None:
        yield "key sizes: the store on the heap does not tell them"
    else:
        yield from _sizes(measures.sizes)
    for each in measures.expiry:
        yield expires(each)


def _sizes(sizes: KeySizes) -> Iterator[str]:
    yield f"keys: {sizes.keys:,}; {sizes.rows:,} rows, {sizes.bytes:,} bytes before compression"
    if sizes.powers:
        yield "bytes of a key: " + ", ".join(
            f"{2**each.power:,} to {2 ** (each.power + 1) - 1:,}: {each.keys:,}"
            for each in sizes.powers
        )
    for key in sizes.largest[:1]:
        named = ", ".join(map(" ".join, zip(sizes.columns, key.key, strict=True)))
        share = 100 * key.bytes / max(1, sizes.bytes)
        yield f"largest key: {key.rows:,} rows, {key.bytes:,} bytes, {share:.1f} %: {named}"
    if sizes.untimed is not None:
        yield f"keys without a timer: {sizes.untimed:,}"


def expires(expiry: Expiry) -> str:
    """How many rows of a variable expire when, on one line."""
    of = f"{expiry.variable}: " if expiry.variable else ""
    told = f"{of}rows {WHAT[expiry.counted]} {BY[expiry.by]}"
    if expiry.by in {"processor", "nothing"}:
        return f"{told}: {expiry.never:,}"
    if expiry.since is None:
        return f"{told}: {expiry.later:,}; there is no watermark yet"
    due = [f"{expiry.within(0):,} due"] if expiry.within(0) else []
    most = expiry.within(SPANS[-1][0])
    needed = 1 + sum(expiry.within(hours) < most for hours, _ in SPANS)
    within = [f"{expiry.within(hours):,} within {name}" for hours, name in SPANS[:needed]]
    rest = [f"{expiry.later:,} in over ten years"] if expiry.later else []
    return f"{told}: {', '.join([*due, *within, *rest])}, {expiry.never:,} never"
