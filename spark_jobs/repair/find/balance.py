"""Balance: what became of the late records: each has one fate, or waits for a repair."""

from __future__ import annotations

from collections import Counter

from pydantic import Field as Described

from spark_jobs.messages.part import Part


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


class QuarantineBalance(Part):
    """Quarantined = merged + duplicates + filtered + replayable + waiting + bad + unread, or `off`
    is not 0.
    """

    quarantined: int = Described(default=0, description="rows of ops.quarantine")
    merged: int = Described(
        default=0, description="of them, those that a replay brought into the rows"
    )
    duplicates: int = Described(
        default=0, description="of them, copies of a record that is in the rows"
    )
    filtered: int = Described(
        default=0, description="of them, those that a condition of the spec left out"
    )
    replayable: int = Described(
        default=0, description="good by today's spec: a replay would take them"
    )
    waiting: int = Described(
        default=0, description="good likewise, and drains still write their rows"
    )
    bad: int = Described(default=0, description="still malformed or premature")
    unread: int = Described(default=0, description="not looked at: there are too many")
    off: int = Described(default=0, description="rows less all of these")

    def __str__(self) -> str:
        told = (
            f"{self.quarantined:,} quarantined = {self.merged:,} merged + {self.duplicates:,} "
            f"duplicates + {self.filtered:,} filtered + {self.replayable:,} replayable + "
            f"{self.waiting:,} waiting + {self.bad:,} bad"
        )
        told += f" + {self.unread:,} that were not looked at" if self.unread else ""
        return told + (f"; off by {self.off:,}: one is counted twice" if self.off else "")


def balance(late: int, fates: Counter[str], waiting: int) -> Balance:
    """Of so many rows of ops.late, the fates of their records in ops.merged, and the records
    without one.
    """
    counted = {
        "merged": fates["merged"],
        "duplicates": fates["duplicate"],
        "filtered": fates["filtered"],
        "waiting": waiting,
    }
    return Balance(late=late, off=late - sum(counted.values()), **counted)


def quarantine_balance(
    quarantined: int, fates: Counter[str], good: tuple[int, int], bad: int, unread: int
) -> QuarantineBalance:
    """Of so many rows of ops.quarantine, their fates, and the others as they are by today's spec;
    `good` has those that can be replayed, and those that wait.
    """
    counted = {
        "merged": fates["merged"],
        "duplicates": fates["duplicate"],
        "filtered": fates["filtered"],
        "replayable": good[0],
        "waiting": good[1],
        "bad": bad,
        "unread": unread,
    }
    return QuarantineBalance(
        quarantined=quarantined, off=quarantined - sum(counted.values()), **counted
    )
