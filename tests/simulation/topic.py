"""Topic: what stands in for Kafka. An offset is of one record, and its record of one hour; a topic
that was made anew has other records at the same offsets.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from tests.simulation.model import Begins
from tests.simulation.places import arrived

END = 1_000
"""Behind all that is ever read."""


class Topic:
    """As spark_jobs/source/port.py asks it."""

    def __init__(self) -> None:
        self.now = Begins(1, 0)
        self.seen = {self.now}
        """Where a place may have begun to read."""

    def removes(self, before: int) -> None:
        """Retention eats the head."""
        arrived("retention")
        self._became(Begins(self.now.topic, max(before, self.now.offset)))

    def made_anew(self) -> None:
        """It is deleted and created again."""
        arrived("topic made anew")
        self._became(Begins(self.now.topic + 1, 0))

    def _became(self, now: Begins) -> None:
        self.now = now
        self.seen.add(now)

    @property
    def id(self) -> str:
        return f"topic-{self.now.topic}"

    def state(self) -> SourceState:
        return SourceState(self.id, Positions({0: self.now.offset}), Positions({0: END}))

    def earliest(self, partitions: Iterable[int]) -> Positions:
        return Positions(dict.fromkeys(partitions, self.now.offset))

    def newest(self, _: Iterable[int]) -> datetime | None:
        return None

    def compacted(self) -> bool:
        return False

    def note(self, _: Any) -> tuple[str, ...]:
        return ()

    def refuse_gone(self, _: Any) -> None:
        """Its records go by retention alone."""

    def count(self, _: Any) -> int:
        raise NotImplementedError

    read = stream = count
    """No Spark is here."""
