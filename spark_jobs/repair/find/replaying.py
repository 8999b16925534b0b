"""Replaying: which quarantined records a replay brings into the rows, and why it leaves others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from spark_jobs.repair.find.quarantine import Replayable
from spark_jobs.values.spans import Span, joined

if TYPE_CHECKING:
    from spark_jobs.spec.analysis.ranged import Ranged

MOST: Final = 100_000
"""Records of one replay: the plan names each. The others wait for the next one."""
MANY: Final = 4_096
"""Spans, after which they are joined: a plan has a few of them."""
MOST_REASONS: Final = 1_000
"""A reason may have a part of the record in it."""
SHOWN: Final = 5
LONGEST: Final = 100
"""Characters of a reason."""
_NUMBER: Final = re.compile(r"\d+(?:[.:]\d+)*")


@dataclass
class Replaying:
    """What one replay finds in quarantine. It counts records, and keeps those that it brings."""

    way: Ranged
    until: datetime
    """Drains write no row before this position any more."""
    bound: Span | None = None
    """Records that touch none of its positions are left out."""
    records: list[Replayable] = field(default_factory=list)
    """Those that it brings."""
    touched: list[Span] = field(default_factory=list)
    """The positions of the rows that these touch."""
    good: int = 0
    outside: int = 0
    """Good ones that the bound leaves out."""
    left: int = 0
    """Good ones beyond MOST."""
    open: int = 0
    """Good ones that wait: drains still write their rows."""
    unreachable: int = 0
    """Good ones beside which records are gone."""
    first_due: datetime | None = None
    """The position before which all rows must be final for the first of them."""
    last_due: datetime | None = None
    bad: Counter[str] = field(default_factory=Counter)
    """Why the others are not good -> how many."""

    def add(self, found: Replayable | str) -> None:
        """Count a record: a good one, or why it is none."""
        if isinstance(found, str):
            self._add_bad(found)
            return
        self.good += 1
        span = self._touched_by(found)
        if self.bound is not None and not span.overlaps(self.bound):
            self.outside += 1
        elif span.end > self.until:
            self.open += 1
            self.first_due = min(span.end, self.first_due or span.end)
            self.last_due = max(span.end, self.last_due or span.end)
        elif len(self.records) >= MOST:
            self.left += 1
        else:
            self.records.append(found)
            self.touched.append(span)
            if len(self.touched) >= MANY:
                self.touched = [*joined(self.touched)]

    def leave(self, spans: Sequence[Span]) -> None:
        """Bring no record that touches one of these: nobody has all records beside it."""
        if not spans:
            return
        kept = [
            each for each in self.records if not any(map(self._touched_by(each).overlaps, spans))
        ]
        self.unreachable = len(self.records) - len(kept)
        self.records = kept

    def _touched_by(self, record: Replayable) -> Span:
        return self.way.touched(record.event_time, partition=record.partition)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The ranges to compute again."""
        return joined(self.touched)

    @property
    def looked_at(self) -> int:
        return self.good + self.bad.total()

    def why_idle(self, reason: str) -> str:
        """Why there is nothing to bring."""
        if not self.looked_at:
            return "no record waits in quarantine" + (
                f" with {reason!r} in its kind or reason" if reason else ""
            )
        if not self.good:
            return f"none of the {self.looked_at:,} records in quarantine is good by today's spec"
        if self.outside == self.good:
            return "no record that is good by today's spec touches the range"
        return "drains still write the rows of all records that are good by today's spec"

    def lines(self) -> Iterator[str]:
        """It for a reader, a line for each part."""
        if self.records:
            yield (
                f"  quarantine      {len(self.records):,} of {self.looked_at:,} records are good by"
                " today's spec, and are merged"
            )
        if self.open:
            first, last = (
                f"{at:%F %H:%M:%S}" for at in (self.first_due, self.last_due) if at is not None
            )
            until = first if first == last else f"{first}, for the last of them {last}"
            yield (
                f"  waiting         {self.open:,} good ones whose rows drains still write: until "
                f"rows before {until} are final"
            )
        if self.outside:
            yield f"  outside         {self.outside:,} good ones touch no row of the given range"
        if self.unreachable:
            yield (
                f"  unreachable     {self.unreachable:,} good ones: neither Kafka nor an archive "
                "has all records beside them"
            )
        if self.left:
            yield (
                f"  left            {self.left:,} good ones: a replay takes {MOST:,} at most, so "
                "give the same command again"
            )
        for why, number in self.bad.most_common(SHOWN):
            yield f"  stay            {number:,}: {why}"
        if len(self.bad) > SHOWN:
            rest = self.bad.total() - sum(n for _, n in self.bad.most_common(SHOWN))
            yield f"  stay            {rest:,} for other reasons"

    def _add_bad(self, why: str) -> None:
        kind = _NUMBER.sub("…", why) if why.startswith("malformed") else why
        kind = kind if len(kind) <= LONGEST else f"{kind[:LONGEST]}…"
        known = kind in self.bad or len(self.bad) < MOST_REASONS
        self.bad[kind if known else "malformed: of another kind"] += 1
