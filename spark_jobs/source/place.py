"""Place: where one record is in its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Place(NamedTuple):
    """Ascending in the order in which a partition is read."""

    partition: int
    offset: int

    def text(self, shown: Callable[[int], str] = str) -> str:
        """As a person types it; `shown` names a partition.

        >>> Place(3, 120).text()
        '3:120'
        """
        return f"{shown(self.partition)}:{self.offset}"
