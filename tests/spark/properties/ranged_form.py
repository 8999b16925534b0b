"""A form whose ranges can be computed again: where its rows are, what a late record touches."""

from collections.abc import Sequence
from typing import Protocol

from tests.harness.replay import Place
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Form, Row
from tests.spark.properties.replay import Seen


class RangedForm(Form, Protocol):
    """All positions are in microseconds since the epoch."""

    def touches(self, event: Event, missed_us: int) -> tuple[int, int]:
        """The positions of the rows that the late event lacks in; the second is behind the last."""
        ...

    def until_us(self, watermark_us: int) -> int:
        """No drain writes a row before this position any more."""
        ...

    def position_us(self, row: Row) -> int:
        """The row's position."""
        ...

    def kept(self, seen: Sequence[Seen]) -> set[Place]:
        """Where the accepted records are that are no copies."""
        ...
