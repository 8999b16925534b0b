"""Proof: what the newest verify has said of a day, and whether that still holds.

It holds until a commit changes a row of the day, by the table's log and not by the clock. What only
rearranges files changes no row; what a commit rewrote is compared row by row.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import ChangeUnexplained, CheckFailed, StagingStale
from spark_jobs.messages.kind import PROVING_KINDS
from spark_jobs.messages.report import parse_report
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.exchange.commit import Base
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import Span, joined

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans import Position

REFUTING = frozenset({ChangeUnexplained.code, CheckFailed.code})
"""Problems of a verify that has found other rows. Any other one says nothing of the rows."""


class Proof(NamedTuple):
    """What a verify has said of some ranges."""

    repair_id: str
    at: datetime
    passed: bool
    version: int
    """Of the table that was compared."""
    spec_digest: str
    """Of the spec and the code by which the rows were computed."""
    spans: tuple[Span, ...]

    def covers(self, day: Span) -> bool:
        """Whether it has compared all of the day."""
        return any(span.start <= day.start and day.end <= span.end for span in self.spans)


class Standing(NamedTuple):
    """What is known of a day: the verify that proves it, the one that refutes it, or neither."""

    proved: Proof | None = None
    refuted: Proof | None = None


UNKNOWN = Standing()


def standings(
    paths: Paths, known: Identity, position: Position, spec_digest: str, days: Sequence[Span]
) -> dict[Span, Standing]:
    """Of each day, by the verifies of today's spec. One with another digest proves nothing of what
    today's spec gives.
    """
    stored = [
        each for each in verifies(paths, known.generations) if each.spec_digest == spec_digest
    ]
    newest = _newest(stored, days)
    if not newest or table_of(paths).identifier() != known.table_id:
        return dict.fromkeys(days, UNKNOWN)
    holds = _holding(paths, position, newest)
    return {
        day: UNKNOWN
        if day not in holds
        else Standing(proved=newest[day])
        if newest[day].passed
        else Standing(refuted=newest[day])
        for day in days
    }


def verifies(paths: Paths, generations: Sequence[str]) -> list[Proof]:
    """Those that have said something of rows, oldest first: by the version that they compared, as
    a clock may be set back.
    """
    where = (
        f"{ops_tables.among('generation', generations)} "
        f"AND {ops_tables.among('kind', PROVING_KINDS)} AND state IN ('canonical', 'failed')"
    )
    rows = repairs.stored(paths.root, paths.pipeline, where)
    return sorted(filter(None, map(_proof, rows)), key=lambda each: (each.version, each.at))


def _proof(row: Row) -> Proof | None:
    """None where a person left records out, and where it could not be told."""
    passed = row["state"] == "canonical"
    if "without" in json.loads(row["request"] or "{}") or row["table_version_before"] is None:
        return None
    if not passed and _problem(row) not in REFUTING:
        return None
    return Proof(
        row["repair_id"],
        row["staged_at"],
        passed,
        row["table_version_before"],
        row["spec_digest"] or "",
        tuple(Span(each["start"], each["end"]) for each in row["ranges"] or ()),
    )


def _problem(row: Row) -> str | None:
    problem = parse_report(row["report"], f"the report of {row['repair_id']}").problem
    return problem.code if problem else None


def _newest(stored: Iterable[Proof], days: Sequence[Span]) -> dict[Span, Proof]:
    """Day -> the newest that says something of it. One that found a part of the day wrong counts;
    one that found a part of it right does not.
    """
    found, ordered = dict[Span, Proof](), sorted(days)
    ends = [day.end for day in ordered]
    for proof in stored:
        for span in proof.spans:
            for day in islice(ordered, bisect_right(ends, span.start), None):
                if day.start >= span.end:
                    break
                if not proof.passed or proof.covers(day):
                    found[day] = proof
    return found


def _holding(paths: Paths, position: Position, proofs: dict[Span, Proof]) -> set[Span]:
    """The days that no commit has changed since their proof, as far as the log still tells."""
    table = table_of(paths)
    told = table.changes(min(each.version for each in proofs.values()))
    newest = table.version()
    holds, asked = set[Span](), defaultdict[int, list[Span]](list)
    for day, proof in proofs.items():
        if told is None or not told.since <= proof.version <= newest:
            continue
        since = (each for each in told.commits if each.version > proof.version)
        touching = [each for each in since if each.touches(position.column, (day,))]
        if not touching:
            holds.add(day)
        elif not any(each.restores for each in touching):
            asked[proof.version].append(day)
    for version, days in asked.items():
        holds.update(_same(Base(table, version, position, ()), sorted(days)))
    return holds


def _same(base: Base, days: Sequence[Span]) -> Iterator[Span]:
    """The days with the rows of the base's version. Usually all have: one question then."""
    try:
        base._replace(spans=joined(days, len(days))).compared()
    except StagingStale:
        if len(days) > 1:
            middle = len(days) // 2
            yield from _same(base, days[:middle])
            yield from _same(base, days[middle:])
        return
    yield from days
