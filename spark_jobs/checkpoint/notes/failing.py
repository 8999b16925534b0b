"""Failing records: the records on which an expression of the spec fails, in failing.json beside
the checkpoint.

Such a record is malformed. When a batch fails, runs/failures/failing_search.py finds them. They are
stored before the batch runs again: the batch, and every later reading of it for the account, must
classify them alike.

Where that is for a person to decide, the search proposes them, and `sluice quarantine` puts them
aside (admin/quarantine.py). A person may also name records that no search has found, or take out
all that a condition holds for (excise/).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.excised import EXCISED, Excised, Refused
from spark_jobs.source.place import Place
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.source.positions import Positions

PUT_ASIDE = "put aside by"
"""How the reason of a record begins that a person has named."""
FILE = "failing.json"


UNREAD = -1
"""No accounted batch has the record."""


class FailingRecord(BaseModel):
    """One record."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    batch: int
    """The batch that it made fail; of one that a person has named, the newest accounted batch if
    its batch was accounted for then, else UNREAD.
    """
    partition: int
    offset: int
    reason: str
    """The step, the field and Spark's error."""
    element: int | None = None
    """Its number in its value; None: the whole value."""

    @classmethod
    def at(cls, place: Place, batch: int, reason: str) -> Self:
        partition, offset, _ = place
        element = place.number
        return cls(batch=batch, partition=partition, offset=offset, element=element, reason=reason)

    @property
    def place(self) -> Place:
        return Place.at(self.partition, self.offset, self.element)


class FailingRecords(Stored):
    """The content of failing.json.

    A batch needs its records until it is audited. Older ones may be in the file, and do no harm.
    """

    known: ClassVar[int] = 3

    records: tuple[FailingRecord, ...] = ()
    proposed: tuple[FailingRecord, ...] = ()
    """Those that a run has found, and that a person may put aside. They are good until then."""
    named: tuple[FailingRecord, ...] = ()
    """Those that a person has named. Never forgotten: a repair may read them at any time."""
    excised: tuple[Excised, ...] = ()
    """The records of excisions. Never forgotten."""
    excisions: int = 0
    """How many there have been."""
    ledger: str = ""
    """A random id of this count."""

    @property
    def form(self) -> int:
        """See Stored: an older Sluice would forget excisions, or not read their elements."""
        return 3 if self.ledger else 1

    @property
    def reasons(self) -> Refused:
        """The records, as decode/decoder.py takes them in a drain and for its account: without
        those that an accounted batch has as what they were.
        """
        unread = (record for record in self.named if record.batch == UNREAD)
        ahead = (each for each in self.excised if each.since.before(each.until))
        known = [each.known(coming=True) for each in ahead]
        return Refused(_reasons((*unread, *self.records)), known)

    @property
    def in_repairs(self) -> Refused:
        """The same, as a repair takes them."""
        every = _reasons((*self.named, *self.records))
        return Refused(every, [each.known(coming=False) for each in self.excised])

    @property
    def pins(self) -> dict[str, Pin]:
        """What a repair knows of excisions, as of a table beside the stream: one more is a version
        by which its rows are made otherwise.
        """
        return {EXCISED: Pin(table_id=self.ledger, version=self.excisions)} if self.ledger else {}

    def of(self, batch: int) -> tuple[FailingRecord, ...]:
        """The records of one batch."""
        return tuple(record for record in self.records if record.batch == batch)

    def up_to(self, batch: int) -> Self:
        """Without the records of later batches."""
        kept = tuple(record for record in self.records if record.batch <= batch)
        return self.model_copy(update={"records": kept, "proposed": ()})

    def read_again_from(self, end: Positions) -> Self:
        """With what a person has named for the next drains too, from these offsets on."""
        named = tuple(
            record.model_copy(update={"batch": UNREAD}) if not end.passed(record.place) else record
            for record in self.named
        )
        excised = tuple(each.read_again_from(end) for each in self.excised)
        return self.model_copy(update={"named": named, "excised": excised})

    def with_more(self, found: Iterable[FailingRecord], audited: int) -> Self:
        """With these records, and without records of the batches up to `audited`."""
        kept = (record for record in self.records if record.batch > audited)
        return self.model_copy(update={"records": (*kept, *found), "proposed": ()})


def _reasons(records: Iterable[FailingRecord]) -> dict[Place, str]:
    return {record.place: record.reason for record in records}


def read_failing(path: UPath) -> FailingRecords:
    """The stored records; none if there is no file.

    Raises CheckpointBroken if it does not parse: a batch that is read again without them would be
    classified in another way than its rows were.
    """
    try:
        return FailingRecords.read(path) if path.exists() else FailingRecords()
    except ValueError:
        raise checkpoint_broken(f"{path} does not parse", path.parent.parent.name) from None
