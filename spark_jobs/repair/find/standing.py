"""Standing: the repairs that are in a table, and what each has computed last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.messages.kind import EXCISING_KINDS
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.outdated import Marks
from spark_jobs.storage.pin import Pin
from spark_jobs.values.spans import Span, joined

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths


class Standing(NamedTuple):
    """A repair that is in the table, or found the table as it had computed it."""

    order: tuple[int, bool]
    """The table's version, and whether it changed no row. A later one has a higher order."""
    at: datetime
    """Since when it stands."""
    spans: tuple[Span, ...]
    inputs: Mapping[str, Pin]
    batch: int
    """The newest whose records it has."""

    @classmethod
    def of(cls, row: Row) -> Standing:
        version, before = row["table_version"], row["table_version_before"]
        order = (before if version is None else version) or 0
        inputs = json.loads(row["inputs"] or "{}").items()
        return cls(
            (order, version is None),
            row["swapped_at"] or row["staged_at"] or datetime.now(UTC),
            tuple(Span(part["start"], part["end"]) for part in row["ranges"] or ()),
            {name: Pin(**each) for name, each in inputs},
            -1 if row["batch"] is None else row["batch"],
        )

    def without_later(self, inputs: Mapping[str, Pin]) -> Standing:
        """The same without versions behind those that runs have noted: the table is a backup of
        before, and its next versions have these numbers again.
        """
        now = {name: pin.version for name, pin in inputs.items()}
        mine = self.inputs.items()
        kept = {name: pin for name, pin in mine if pin.version <= now.get(name, pin.version)}
        return self._replace(inputs=kept)

    def settles(self, marks: Marks, *, final: bool) -> bool:
        """`final`: whether no later batch has written into its ranges."""
        pin = self.inputs.get(marks.input)
        if pin is None or pin.table_id != marks.table_id or pin.version < marks.version:
            return False
        if self.at < marks.noted_at:  # a backup was put back since: its versions are others
            return False
        return final or self.batch >= marks.batch


def settled(paths: Paths, generations: Sequence[str], marks: Marks) -> bool:
    """Whether a repair for excised records that stands has computed all keys of a table without
    them.
    """
    ours = ops_tables.among("generation", generations)
    kinds = ops_tables.among("kind", EXCISING_KINDS)
    stands = f"{ours} AND {kinds} AND state IN ('swapped', 'canonical') AND inputs IS NOT NULL"
    rows = repairs.stored(paths.root, paths.pipeline, stands)
    return any(Standing.of(row).settles(marks, final=False) for row in rows)


class Part(NamedTuple):
    """Positions, and the repair that has computed their rows last."""

    span: Span
    by: Standing


def in_parts(standing: Iterable[Standing]) -> list[Part]:
    """Of these repairs, the latest first, what each has computed last; in the order of time."""
    found, seen = list[Part](), list[Span]()
    for repair in standing:
        found += [Part(part, repair) for span in repair.spans for part in span.without(seen)]
        seen += repair.spans
        seen = [*joined(seen, len(seen))]
    return sorted(found, key=lambda part: part.span)
