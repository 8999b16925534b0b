"""Change: what a repair would change in the table, in numbers, and the checks that judge it."""

from __future__ import annotations

from pydantic import Field as Described

from spark_jobs.messages.kind import KINDS, AskedKind
from spark_jobs.messages.part import Part
from spark_jobs.spec import Check
from spark_jobs.spec.checks.check import Severity


class Change(Part):
    """The computed rows of the ranges, held against the table's."""

    rows_before: int = Described(default=0, description="rows of the ranges in the table")
    rows_after: int = Described(default=0, description="rows of the ranges as computed")
    added: int = Described(default=0, description="computed rows that the table does not have")
    removed: int = Described(default=0, description="rows of the table that are not computed")
    changed: int = Described(default=0, description="groups with other values")
    unexplained: int = Described(
        default=0,
        description="of the three, those that no late, replayed or excised record explains, nor a "
        "change beside the stream",
    )
    rounded: int = Described(
        default=0,
        description="rows that count as equal, and whose sums of doubles differ by no more than "
        "another order of their records makes; they stay as they are",
    )
    merged: int = Described(
        default=0, description="late and replayed records that are in the computed rows"
    )
    duplicates: int = Described(
        default=0, description="late and replayed records that are copies of others"
    )
    filtered: int = Described(
        default=0, description="late and replayed records that a condition of the spec leaves out"
    )
    superseded: int = Described(
        default=0, description="replayed records older than what the table has of their key"
    )
    replayed: int = Described(default=0, description="of these four, those that were in quarantine")
    newly_bad: int = Described(
        default=0,
        description="records that are malformed or premature by today's spec, and that no drain "
        "and no repair has put into ops.quarantine; the swap does",
    )
    excised: int = Described(
        default=0, description="excised records that the swap puts into ops.quarantine"
    )
    count_difference: int = Described(
        default=0,
        description="how far the records that an Aggregate's `counts` has gained are from the late "
        "and replayed records that were merged",
    )
    thinned: int = Described(
        default=0,
        description="records of the ranges that drains read and that compaction has removed from "
        "Kafka since: without them nobody can compute the rows",
    )
    unaccounted: int = Described(
        default=0,
        description="mismatches between the records that were read and what became of them, or "
        "what the index of offsets says; must be 0",
    )
    parts: int = Described(
        default=0,
        description="rows of the ranges that are a part of a session which ends outside of them: "
        "they stay until the range in which it ends is computed",
    )

    @property
    def differs(self) -> int:
        return self.added + self.removed + self.changed

    @property
    def late(self) -> int:
        """Late records that it has merged or left out."""
        of_both = self.merged + self.duplicates + self.filtered + self.superseded
        return of_both - self.replayed

    def __str__(self) -> str:
        same = self.rows_before - self.removed - self.changed
        explained = self.differs - self.unexplained
        sources = "late records"
        if self.replayed:
            sources += f" and {self.replayed:,} from quarantine"
        bad = (
            f"; {self.newly_bad:,} records are malformed or premature by today's spec"
            if self.newly_bad
            else ""
        )
        bad += f"; {self.excised:,} excised records are left out" if self.excised else ""
        parts = (
            f"; {self.parts:,} other rows are parts of sessions that end outside of the ranges"
            if self.parts
            else ""
        )
        older = f", {self.superseded:,} superseded" if self.superseded else ""
        order = f" ({self.rounded:,} but for the order of doubles)" if self.rounded else ""
        gone = (
            f"; compaction has removed {self.thinned:,} of their records from Kafka: how rows "
            "differ says nothing"
            if self.thinned
            else ""
        )
        return (
            f"{self.rows_before:,} rows -> {self.rows_after:,}: {self.added:,} added, "
            f"{self.removed:,} removed, {self.changed:,} changed, {same:,} as they were{order}; "
            f"{sources}: {self.merged:,} merged, {self.duplicates:,} duplicates, {self.filtered:,} "
            f"filtered{older}; {explained:,} of {self.differs:,} changes explained, unexplained "
            f"{self.unexplained:,}{bad}{parts}{gone}"
        )


def needs_approval(change: Change, policy: str) -> bool:
    """Whether a person must agree, by the policy of the spec or of the request."""
    if not change.differs or policy == "never":
        return False
    return policy == "always" or bool(
        change.unexplained or change.newly_bad or change.count_difference
    )


def change_checks(kind: AskedKind, policy: str, *, thinned: bool = False) -> tuple[Check, ...]:
    """The checks of a change, whatever the spec has.

    What a person is asked about only warns; where nobody is asked it fails. Of a range that is
    `thinned` only that is judged: how its rows differ says nothing then.
    """
    swaps = KINDS[kind].swaps
    asked: Severity = "critical" if not swaps or policy == "never" else "warning"
    unaccounted = _at_most(
        "unaccounted",
        0,
        "critical",
        "every record of the ranges must be accounted for; if not, records are gone from Kafka, "
        "or Sluice has a bug",
    )
    compacted = _at_most(
        "thinned",
        0,
        "critical",
        "compaction has removed records that drains read: the range cannot be proved, nor computed "
        "again",
    )
    if thinned:
        return (unaccounted, compacted)
    unexplained = _at_most(
        "unexplained",
        0,
        asked,
        "rows differ that no late, replayed or excised record explains, nor a change of a table "
        "beside the stream: the logic changed since, somebody edited rows, or a measure depends on "
        "the order of records",
    )
    newly_bad = _at_most(
        "newly_bad",
        0,
        asked,
        "records are malformed or premature by today's spec, and neither a drain nor a repair has "
        "put them into ops.quarantine: the swap of a backfill does",
    )
    counted = _at_most(
        "count_difference",
        0,
        asked,
        "the groups gained another number of records than were merged: an explained group may "
        "hide a lost record",
    )
    differs = _at_most("differs", 0, "critical", "the table is not what its records give")
    parts = _at_most(
        "parts",
        0,
        "critical",
        "rows are parts of sessions that end outside of the ranges: verify, or repair, up to the "
        "ends of these",
    )
    every = (unaccounted, unexplained, newly_bad, counted)
    return every if swaps else (*every, differs, parts)


def metrics(change: Change) -> dict[str, float]:
    """Name -> value, for the checks."""
    return {**change.model_dump(), "differs": change.differs}


def _at_most(column: str, most: float, severity: Severity, about: str) -> Check:
    return Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": column, "max_value": most},
        severity=severity,
        about=about,
    )
