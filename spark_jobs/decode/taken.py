"""Taken: columns without the values of malformed records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def taken(columns: Sequence[pa.Array], reasons: Sequence[str | None]) -> list[pa.Array]:
    """The columns, null where there is a reason."""
    if not any(reasons):
        return [*columns]
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
    import pyarrow as pa  # noqa: PLC0415 - as above

    bad = np.fromiter((bool(reason) for reason in reasons), bool, len(reasons))
    indices = pa.array(np.arange(len(reasons)), mask=bad)
    return [column.take(indices) for column in columns]
