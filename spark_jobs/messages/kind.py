"""Kind: what kind of run, and the facts of each.

It is a field of reports, of ops tables and of log lines. What differs between kinds is a fact of
its row here: nothing else compares a kind's name (tests/unit/test_kinds.py). What a kind does for a
fact, for example how its ranges are found, is one table at the place where it is done.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline

AskedKind = Literal["repair", "backfill", "verify", "replay", "excise", "rebuild"]
"""What a person may ask for beside the drain."""
ASKED_KINDS: Final[tuple[AskedKind, ...]] = get_args(AskedKind)
Kind = Literal["drain"] | AskedKind


class Reads(Enum):
    """Which records a run reads."""

    NEW = "records that no run has read"
    WAITING = "ranges that late records touch, or changes beside the stream"
    QUARANTINED = "ranges of quarantined records that are good by today's spec"
    EXCISED = "ranges or keys of excised records"
    GIVEN = "a given range"
    ALL = "the whole history, by NEXT"


class Writes(Enum):
    """Where its rows go."""

    TABLE = "the table, batch by batch"
    SWAP = "staged; then the table, by one commit"
    NOTHING = "nothing: it compares"
    BESIDE = "a table beside, which a switch makes live"


class Alone(Enum):
    """The lease that it has as long as it computes: who may run beside it is who needs another."""

    LIVE = "the live place"
    STAGING = "the pipeline's stagings; drains go on"
    BESIDE = "NEXT's place; drains and repairs go on"


class Facts(NamedTuple):
    """A row: one kind of run."""

    reads: Reads
    writes: Writes
    alone: Alone
    meaning: str = ""
    """What the form says; empty where nobody asks for it there."""
    each_interval: AskedKind | None = None
    """What a backfill of Airflow does with each of its intervals, when it is asked for this kind.
    The form's default is sent by everybody who leaves it as it is: it means a backfill there.
    """
    idle: str = "no record's rows are there"
    """Why there is nothing to do."""
    merges: str = "late records"
    """What its swap puts into the table."""
    taken_back: str = "late records wait for a repair again"
    """What follows when its swap is taken back."""

    @property
    def staged(self) -> bool:
        """Whether it computes by a plan, and beside the table: its rows are not in it yet."""
        return self.alone is Alone.STAGING

    @property
    def moves_state(self) -> bool:
        """Whether it goes on with the state of the place it has the lease of."""
        return not self.staged

    @property
    def swaps(self) -> bool:
        """Whether a person or a policy may put its rows into the table."""
        return self.writes is Writes.SWAP

    @property
    def given(self) -> bool:
        """Whether a person types the range; if not, it finds its own."""
        return self.reads is Reads.GIVEN

    @property
    def by_key(self) -> bool:
        """Whether it can be asked of a table that follows a key, in which nothing is late."""
        return self.reads not in {Reads.NEW, Reads.WAITING}

    @property
    def whole(self) -> bool:
        """Whether it computes the whole table, by NEXT."""
        return self.reads is Reads.ALL


KINDS: Final[dict[str, Facts]] = {
    "drain": Facts(Reads.NEW, Writes.TABLE, alone=Alone.LIVE),
    "repair": Facts(
        Reads.WAITING,
        Writes.SWAP,
        alone=Alone.STAGING,
        meaning="merge the late records, and mend outdated rows; Sluice finds the ranges",
        each_interval="backfill",
        idle="no late record waits, and no row is outdated",
    ),
    "backfill": Facts(
        Reads.GIVEN,
        Writes.SWAP,
        alone=Alone.STAGING,
        meaning="compute the range, or given keys, again",
        each_interval="backfill",
    ),
    "verify": Facts(
        Reads.GIVEN,
        Writes.NOTHING,
        alone=Alone.STAGING,
        meaning="compute the range, or given keys, again and compare; change nothing",
        each_interval="verify",
    ),
    "replay": Facts(
        Reads.QUARANTINED,
        Writes.SWAP,
        alone=Alone.STAGING,
        meaning="merge the quarantined records that are good by today's spec",
        each_interval="replay",
        merges="quarantined and late records",
        taken_back="quarantined records wait for a replay again",
    ),
    "excise": Facts(
        Reads.EXCISED,
        Writes.SWAP,
        alone=Alone.STAGING,
        meaning="compute the rows again that have excised records (`sluice excise`), without these",
        each_interval="excise",
        idle="no final row has an excised record",
        taken_back="the rows have the excised records again",
    ),
    "rebuild": Facts(
        Reads.ALL,
        Writes.BESIDE,
        alone=Alone.BESIDE,
        meaning="compute the whole table by NEXT of spec.py beside the live one, show what "
        "differs by day, always ask, and switch",
    ),
}
"""Name -> facts. docs/reference.md has the same table."""
LIVE_KINDS: Final = tuple(name for name, facts in KINDS.items() if facts.alone is Alone.LIVE)
STATE_KINDS: Final = tuple(name for name, facts in KINDS.items() if facts.moves_state)
LATE_KINDS: Final = tuple(name for name, facts in KINDS.items() if facts.reads is Reads.WAITING)
EXCISING_KINDS: Final = tuple(n for n, facts in KINDS.items() if facts.reads is Reads.EXCISED)
STAGED_KINDS: Final = tuple(name for name, facts in KINDS.items() if facts.staged)
PROVING_KINDS: Final = tuple(n for n, facts in KINDS.items() if facts.writes is Writes.NOTHING)
SWAP_KINDS: Final = tuple(name for name, facts in KINDS.items() if facts.swaps)
KEYED_KINDS: Final = tuple(name for name, facts in KINDS.items() if facts.by_key)
BESIDE_KINDS: Final = tuple(name for name in ASKED_KINDS if name in {*LATE_KINDS, *KEYED_KINDS})
"""Of a table that follows a key: what can be asked of it; and of one that looks rows up, in which
some may be outdated.
"""
WHOLE_KINDS: Final = tuple(name for name, facts in KINDS.items() if facts.whole)
"""For conditions of SQL."""


def kinds_by_key(spec: Pipeline) -> tuple[str, ...]:
    """What can be asked of a table that follows a key; () of another one."""
    if spec.keyed is None:
        return ()
    return BESIDE_KINDS if spec.sides else KEYED_KINDS
