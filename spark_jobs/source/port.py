"""Port: what a pipeline's source is asked for, whatever it is.

A source has partitions, and in each of them records at offsets that only grow. Kafka is one
(kafka.py), a topic's archive another (archive.py), several topics a third (sources.py, which finds
the source that a spec declares). Outside this room nobody knows more of it.
Without Spark, until records are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

from spark_jobs.errors import QuestionRefused
from spark_jobs.messages.part import HeldBack
from spark_jobs.source.positions import Parts, Positions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.messages.part import UpTo
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


class SourceState(NamedTuple):
    """What a source holds now. Only the first three matter to a source that is not Kafka."""

    id: str
    """Its identity. Offsets of another one are other records, whatever the name says."""
    earliest: Positions
    """At the first records that retention has left."""
    latest: Positions
    """Behind the last records that may be read. A run reads up to there."""
    timestamps: str = ""
    """Whose clock sets Kafka timestamps: CreateTime, a producer's; LogAppendTime, the broker's.
    Empty if nobody says.
    """
    appended: datetime | None = None
    """With LogAppendTime: the broker's clock when the newest record came. Its clock is not earlier
    now. No request of Kafka's protocol asks a broker for its clock itself.
    """
    compacted: bool = False
    """Whether records may go from between others."""
    held: Mapping[int, HeldBack] = MappingProxyType({})
    """Partition -> what waits behind an open transaction: from `latest` to the partition's end."""
    starting: Positions = Positions()
    """Where the topic's declaration says that it begins; nothing where it says nothing."""
    to_note: tuple[str, ...] = ()
    """What waits behind `latest` until a run has noted it, in words: it is work for one."""
    told: tuple[str, ...] = ()
    """What a person should know: one line each."""

    @property
    def begins(self) -> Positions:
        """The first records that are read, if no batch has read any."""
        return self.earliest.maximum(self.starting.among(self.earliest))


class Leaving(NamedTuple):
    """What retention leaves at coming times."""

    first: tuple[Positions, ...]
    """For each time, at the first records that certainly stay until then."""
    untold: str = ""
    """Why nobody can tell; empty if it is told."""
    of_nobody: Positions = Positions()
    """Behind all records of the partitions of which nobody can tell."""

    @classmethod
    def not_told(cls, why: str, partitions: Iterable[int], times: Sequence[datetime]) -> Leaving:
        """Nobody can tell for these partitions."""
        behind = Positions(dict.fromkeys(partitions, 2**63 - 1))
        return cls((Positions(),) * len(times), why, behind)


class Gap(NamedTuple):
    """What an offset is at which a batch has found no record."""

    kind: Literal["aborted", "marker", "removed"]
    why: str
    untold: str = ""
    """What of it nobody can tell; empty if it is told."""


class Sampled(NamedTuple):
    """One record."""

    partition: int
    offset: int
    timestamp: int | None
    """Kafka's, in milliseconds since 1970."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


class Records(Protocol):
    """Records that can be read again by their places."""

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:
        """The records at these offsets, at least one range, as a batch query. One that is gone
        fails the read. `uncommitted`: also records of aborted transactions.

        Column: kafka struct<partition int, offset bigint, timestamp timestamp, millis bigint,
        raw struct<key, value binary, headers>>. A timestamp that is no time (source/kafka_time.py)
        is in millis, and timestamp is null; else millis is null. Headers: values/own_columns.py.
        """

    def count(self, parts: Parts) -> int:
        """How many records a read of these offsets finds, without Spark."""


Versions = Mapping[str, int]
"""The name of a table beside the stream -> its version."""


class Current(Protocol):
    """What a source is asked for too, if others take the place of its records. Its topic is a table
    beside its own stream (Topic.beside), so a version of it is noted for each batch.
    """

    def keep(self, since: Mapping[str, int | None], now: Versions, held: Held) -> None:
        """Note, under the lease and before Spark plans a batch, where the records are that come
        with these versions. `since` has the versions of which the batches before have read others;
        None: nobody knows which.
        """

    def slices(self, versions: Versions, horizon: Positions) -> pa.Table:
        """At which offsets the records of these versions are, in place of what drains noted.
        Columns: as those of ops.slices (repair/offsets/slices.py). Offsets in no slice are read by
        nobody. Raises AccountBehind where what a repair writes would be written by a drain too.
        """


class Source(Records, Protocol):
    """Records that go on coming. All that is asked of it raises KafkaUnreachable, KafkaRefused,
    KafkaConfigInvalid or TopicMissing where it is Kafka.
    """

    def note(self, held: Held) -> tuple[str, ...]:
        """Note, under the pipeline's lease, what a run may read from now on, before it looks at
        the state. Lines for a person. Nothing of a source that numbers its records itself.
        """

    def state(self) -> SourceState:
        """What it holds now."""

    def earliest(self, partitions: Iterable[int]) -> Positions:
        """At the first records of these partitions that retention has left now."""

    def newest(self, partitions: Iterable[int]) -> datetime | None:
        """The largest timestamp of its records; None without any."""

    def compacted(self) -> bool:
        """Whether records may go from between others."""

    def leaving(self, partitions: Sequence[int], times: Sequence[datetime]) -> Leaving:
        """What it will still have at these times, ascending."""

    def stays(self) -> str:
        """For how long it keeps a record, in words."""

    def refuse_gone(self, parts: Parts) -> None:
        """Raise RecordsUnreachable if a person has taken away what is at some of these offsets;
        what retention takes, `earliest` says.
        """

    def taken(self, parts: Parts) -> Parts:
        """At which of these offsets somebody has taken away records that it had, as far as the
        source has noted them; what retention takes, `earliest` says.
        """

    def gaps(self, places: Collection[Place]) -> Mapping[Place, Gap]:
        """What each of these is, at which a batch has found no record, from `earliest` on."""

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:
        """The records at these offsets, without Spark. `uncommitted` as in `read`."""

    def origin(self, place: Place) -> str:
        """Where the record is, in words; empty where its place says all."""

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        """The records as a stream for each topic, from the first offset or from the checkpoint's
        last one.

        Column: as above. Spark's offset log has one line for each: name -> partition -> offset.
        """


class Lasting:
    """The answers of a source that keeps all of its records for ever: a base for one."""

    def note(self, held: Held) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        return ()

    def stays(self) -> str:
        return "the source keeps the record for ever"

    def refuse_gone(self, parts: Parts) -> None:
        """See Source."""

    def taken(self, parts: Parts) -> Parts:  # noqa: ARG002 - the port's
        return {}

    def gaps(self, places: Collection[Place]) -> Mapping[Place, Gap]:
        return dict.fromkeys(places, Gap("removed", "the source had no record there"))

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:  # noqa: ARG002 - the port's
        """See Source. A source whose records `sluice where` is to tell has its own. Raises
        QuestionRefused.
        """
        raise QuestionRefused.no_sample(source=type(self).__name__)

    def origin(self, place: Place) -> str:  # noqa: ARG002 - the port's
        return ""

    def earliest(self, partitions: Iterable[int]) -> Positions:
        return Positions(dict.fromkeys(partitions, 0))

    def compacted(self) -> bool:
        return False

    def leaving(self, partitions: Sequence[int], times: Sequence[datetime]) -> Leaving:
        return Leaving((self.earliest(partitions),) * len(times))

    def count(self, parts: Parts) -> int:
        return sum(stop - first for ranges in parts.values() for first, stop in ranges)


class End(Protocol):
    """Where a run ends."""

    @property
    def up_to(self) -> UpTo | None:
        """Its name for consumers; None before the first that has one."""

    def is_end_of(self, ends: Positions) -> bool:
        """Whether a batch that ends there has all up to it, and nothing else."""


class Cut(NamedTuple):
    """What a run reads at most."""

    latest: Positions
    """Where it ends."""
    held: Mapping[int, HeldBack]
    """Partition -> what waits behind that."""
    lines: tuple[str, ...]
    """What a person should know."""
    end: End | None
    """To be noted before a record is read; None where nobody knows yet that it is one."""


class Ends(Protocol):
    """The ends of a pipeline's runs. A kill or a limit may end a run before."""

    def cut(self, state: SourceState, done: Positions, settings: Settings) -> Cut:
        """Where the next run ends. `done`: the end of the newest planned batch, empty without one.
        Writes nothing. Raises what the source does.
        """

    def note(self, end: End, held: Held) -> None:
        """Note it, under the lease."""

    def at(self, offsets: Positions) -> End | None:
        """The noted end at which a batch ends that ends there; None at none."""


def current_of(spec: Pipeline, source: Source) -> Current | None:
    """The source, if others take the place of its records; None where a record stays what it is."""
    return cast("Current", source) if any(topic.beside for topic in spec.inputs) else None


def ends_of(spec: Pipeline, paths: Paths) -> Ends | None:
    """What the spec asks for; None if it does not."""
    if spec.publish_at is None:
        return None
    return cast("Ends", resolve_name(spec.publish_at.ends)(spec, paths))
