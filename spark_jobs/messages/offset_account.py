"""Offset account: what happened to each offset of some batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field as Described

from spark_jobs.messages.part import Part


class Account(Part):
    """What happened to each offset. The unit is records, unless the field names another."""

    covered: int = Described(
        default=0, description="offsets between start and end of the committed batches"
    )
    gaps: int = Described(
        default=0, description="offsets without a record: aborted + markers + removed"
    )
    aborted: int = Described(
        default=0,
        description="gaps with a record of an aborted transaction, which only a read_uncommitted "
        "consumer sees",
    )
    markers: int = Described(
        default=0,
        description="gaps with a transaction's marker; 0 if Kafka compacts the topic (`removed`)",
    )
    removed: int = Described(
        default=0,
        description="gaps whose record retention or compaction removed before Spark read. If Kafka "
        "compacts the topic, transaction markers are among them: brokers do not tell which",
    )
    unknown: int = Described(
        default=0,
        description="records that Kafka no longer had when the audit read a committed batch again. "
        "The table has their rows; bad or late ones are not kept. If the batch's progress was lost "
        "they are not in the counts below",
    )
    read: int = Described(
        default=0,
        description="records that Spark read: covered - gaps, and - unknown if the batch's "
        "progress was lost",
    )
    elements: int = Described(
        default=0,
        description="records of its values, of a topic with `each`: elements + empty + refused = "
        "malformed + premature + filtered + late + accepted",
    )
    with_elements: int = Described(
        default=0, description="values with such: read = with_elements + empty + refused"
    )
    empty: int = Described(default=0, description="filtered: values whose list is empty")
    refused: int = Described(default=0, description="malformed: values that have no list")
    undated: int = Described(
        default=0,
        description="of them, those whose Kafka timestamp is not of the years 1700 to 2199: it is "
        "in kafka_millis",
    )
    malformed: int = Described(
        default=0,
        description="records that could not be decoded, on which an expression fails, or that a "
        "rule refuses; in ops.quarantine",
    )
    premature: int = Described(
        default=0,
        description="records with an event time more than max_ahead after the Kafka timestamp, or "
        "after the batch's clock; in ops.quarantine",
    )
    unkept: int = Described(
        default=0,
        description="malformed and premature records whose bytes ops.quarantine does not keep: "
        "SLUICE_QUARANTINE_MEGABYTES of their batch were spent",
    )
    filtered: int = Described(
        default=0,
        description="records that a Transform before the first stateful step removed, or a rule",
    )
    late: int = Described(default=0, description="records behind the watermark; in ops.late")
    kept_aside: int = Described(
        default=0,
        description="of a repair: records of ops.quarantine and ops.late of which it uses nothing",
    )
    outside: int = Described(
        default=0, description="of a repair: good records that no row of its ranges needs"
    )
    accepted: int = Described(
        default=0,
        description="records that entered the first stateful step and were not late; of a repair, "
        "those from which rows are computed",
    )
    duplicates: int | None = Described(
        default=0,
        description="accepted records that a Deduplicate dropped, or copies of the change that "
        "decides in a Latest; null if the progress of a batch was lost and the state before it is "
        "not read",
    )
    inserted: int = Described(
        default=0, description="accepted changes by which a key has a row that had none (Latest)"
    )
    updated: int = Described(default=0, description="those by which a key has another row")
    deleted: int = Described(default=0, description="those by which a key has its row no more")
    absent: int = Described(
        default=0, description="deletes of a key that had no row; they are remembered"
    )
    superseded: int = Described(
        default=0, description="accepted changes that are older than another one of their key"
    )
    rows_out: int = Described(default=0, description="rows written to the table")
    unaccounted: int | None = Described(
        default=0,
        description="mismatches between the counts above and those of Spark and Delta; must be 0. "
        "Null if none was found, but the progress of a batch was lost, and nothing says how many "
        "rows it must have",
    )

    @property
    def records(self) -> int:
        """What was read, counted as what becomes of it is: of values with many, their records."""
        return self.elements + self.empty + self.refused or self.read

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Account:
        """From a row of ops.batches. A count that an older Sluice did not write is 0; one that may
        be unknown stays so.
        """
        return cls(
            **{name: row[name] if name in UNKNOWABLE else row[name] or 0 for name in OF_BATCHES}
        )

    def row(self) -> dict[str, int | None]:
        """Its columns in ops.batches."""
        return self.model_dump(include={*OF_BATCHES})

    def __add__(self, other: Account) -> Account:
        """Field by field: the account of both. A count that one of them does not know is not known
        of both, but mismatches that were found are not hidden by that.

        >>> sum_of_both = Account(read=3, late=1, accepted=2) + Account(read=4, accepted=4)
        >>> sum_of_both.read, sum_of_both.late, sum_of_both.accepted
        (7, 1, 6)
        >>> lost = Account(duplicates=None, unaccounted=None)
        >>> [(lost + Account(duplicates=2, unaccounted=found)).unaccounted for found in (0, 3)]
        [None, 3]
        >>> print((lost + Account(duplicates=2)).duplicates)
        None
        """
        known = {
            name: getattr(self, name) + getattr(other, name)
            for name in Account.model_fields
            if name not in UNKNOWABLE
        }
        return Account(
            **known,
            duplicates=_both(self.duplicates, other.duplicates),
            unaccounted=_mismatches(self.unaccounted, other.unaccounted),
        )


UNKNOWABLE: Final = frozenset(
    name for name, field in Account.model_fields.items() if field.annotation is not int
)
"""The counts that may be null: nothing says how many, which is not 0."""
OF_BATCHES: Final = tuple(
    name for name in Account.model_fields if name not in {"kept_aside", "outside"}
)
"""The counts that a batch has: columns of ops.batches. The others are a repair's."""


def _both(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _mismatches(one: int | None, other: int | None) -> int | None:
    """Mismatches that were found stay, whatever else is unknown."""
    found = sum(filter(None, (one, other)))
    return None if not found and None in (one, other) else found
