"""Sources: what a topic's brokers say, for tests that need no records of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.source import sources as union
from spark_jobs.source.port import Lasting, Leaving, SourceState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.source.place import Place
    from spark_jobs.source.port import Gap, Sampled
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.storage.lease_view import Held


KEPT = Lasting().leaving


class Said(NamedTuple):
    """A source that answers, and gives no records."""

    asked: Callable[[], SourceState]
    newest_at: datetime | None = None
    records: int = 0
    """At any offsets."""
    leaves: Callable[[Sequence[int], Sequence[datetime]], Leaving] = KEPT

    def note(self, held: Held) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        return ()

    def state(self) -> SourceState:
        return self.asked()

    def earliest(self, partitions: Iterable[int]) -> Positions:
        return self.asked().earliest.among(Positions(dict.fromkeys(partitions, 0)))

    def newest(self, partitions: Iterable[int]) -> datetime | None:  # noqa: ARG002 - the port's
        return self.newest_at

    def compacted(self) -> bool:
        return self.asked().compacted

    def leaving(self, partitions: Sequence[int], times: Sequence[datetime]) -> Leaving:
        return self.leaves(partitions, times)

    def count(self, parts: Parts) -> int:
        return self.records if parts else 0

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:
        raise NotImplementedError

    def stays(self) -> str:
        return "it stays"

    def taken(self, parts: Parts) -> Parts:  # noqa: ARG002 - the port's
        return {}

    def gaps(self, places: Collection[Place]) -> Mapping[Place, Gap]:  # noqa: ARG002 - the port's
        return {}

    def refuse_gone(self, parts: Parts) -> None:
        """A topic's records go by retention alone."""

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:  # noqa: ARG002 - the port's
        if parts:
            raise NotImplementedError
        return iter(())

    def origin(self, place: Place) -> str:  # noqa: ARG002 - the port's
        return ""

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        raise NotImplementedError


def says(patch, state, newest=None, records=0, leaves=KEPT) -> None:
    """From now on the brokers say this of every topic."""
    asked = state if callable(state) else lambda: state
    patch.setattr(union, "kafka", lambda *_: Said(asked, newest, records, leaves))
