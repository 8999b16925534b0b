"""Epochs: times as numbers since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.columns.column import Column
from spark_jobs.values.spans.span import EPOCH

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_US: Final = -62_135_596_800_000_000
"""0001-01-01, in microseconds since 1970."""
LAST_US: Final = 253_402_300_799_999_999
NANOSECONDS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
NAMES: Final = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
assert EPOCH.year == 1970  # noqa: PLR2004 - what the numbers above are counted from


def from_epoch(numbers: pa.Array | Sequence[int | None], unit: str, kind: str) -> Column:
    """Whole numbers as times of a `kind`, timestamp or timestamp_ntz. What is finer than a
    microsecond is cut off.
    """
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
    import pyarrow as pa  # noqa: PLC0415 - as above

    from spark_jobs.values.conversions import arrow_type  # noqa: PLC0415 - as above

    try:
        given = numbers if isinstance(numbers, pa.Array) else pa.array(numbers, pa.int64())
        far = np.zeros(len(given), bool)
    except OverflowError:  # of more than 64 bits
        assert not isinstance(numbers, pa.Array)
        far = np.array(
            [each is not None and not -(2**63) <= each < 2**63 for each in numbers], bool
        )
        held = [None if beyond else each for each, beyond in zip(numbers, far, strict=True)]
        given = pa.array(held, pa.int64())
    nulls = given.is_null().to_numpy(zero_copy_only=False)
    values = given.fill_null(0).to_numpy(zero_copy_only=False)
    of_unit = NANOSECONDS[unit]
    first, last = FIRST_US * 1000 // of_unit, (LAST_US * 1000 + 999) // of_unit
    far |= (values < max(first, -(2**63))) | (values > min(last, 2**63 - 1))
    safe = np.where(far, 0, values)
    us = safe * (of_unit // 1000) if of_unit >= 1000 else safe // (1000 // of_unit)  # noqa: PLR2004 - of a microsecond
    array = pa.array(us, pa.int64(), mask=far | nulls).view(arrow_type(kind))
    why = f"is a number that is no time of the years 1 to 9999 in {NAMES[unit]} since 1970"
    return Column(array, dict.fromkeys(np.flatnonzero(far).tolist(), why))
