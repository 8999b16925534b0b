"""Balance: what became of the late records: each has one fate, or waits for a repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import Field as Described

from spark_jobs.contract.part import Part
from spark_jobs.repair.late import LateRecord, Settled


class Balance(Part):
    """Late rows = merged + duplicates + filtered + waiting, or `off` is not 0."""

    late: int = Described(description="rows of ops.late")
    merged: int = Described(description="of them, those that a repair brought into the rows")
    duplicates: int = Described(description="of them, copies of a record that is in the rows")
    filtered: int = Described(description="of them, those that a condition of the spec left out")
    waiting: int = Described(description="records of ops.late that no repair has used")
    off: int = Described(
        description="rows less fates and waiting: not 0 if ops.late has a record twice, or "
        "ops.merged has two fates of one"
    )

    def __str__(self) -> str:
        told = (
            f"{self.late:,} late = {self.merged:,} merged + {self.duplicates:,} duplicates + "
            f"{self.filtered:,} filtered + {self.waiting:,} waiting"
        )
        return told + (f"; off by {self.off:,}: one is counted twice" if self.off else "")


def balance(late: Sequence[LateRecord], settled: Sequence[Settled]) -> Balance:
    """Of these rows of ops.late and of ops.merged. Fates of late records that ops.late no longer
    keeps are left out.
    """
    known = {each[:2] for each in late}
    fates = Counter(each.fate for each in settled if each[:2] in known)
    waiting = len(known - {each[:2] for each in settled})
    counted = {
        "merged": fates["merged"],
        "duplicates": fates["duplicate"],
        "filtered": fates["filtered"],
        "waiting": waiting,
    }
    return Balance(late=len(late), off=len(late) - sum(counted.values()), **counted)
