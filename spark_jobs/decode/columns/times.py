"""Times: RFC 3339 as text, and the range of years that Python, Spark and delta-rs share."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from spark_jobs.decode.columns.column import Column
from spark_jobs.decode.columns.epochs import FIRST_US, LAST_US

if TYPE_CHECKING:
    import pyarrow as pa

ZONED: Final[Any] = Annotated[datetime, msgspec.Meta(tz=True)]
"""The annotation of a time with its zone; Any: Python has no type for annotations."""
LOCAL: Final[Any] = Annotated[datetime, msgspec.Meta(tz=False)]
OUTSIDE: Final = "is a time outside the years 1 to 9999 in UTC"
_DIGITS: Final = re.compile(r"(:[0-9]{2}\.[0-9]{6})[0-9]+")
_ZONED: Final = msgspec.json.Decoder(ZONED)
_LOCAL: Final = msgspec.json.Decoder(LOCAL)


def read_time(text: str) -> Any:
    """A datetime with its zone, of a second six digits. Raises ValueError or msgspec's error."""
    return _ZONED.decode(f'"{_cut(text)}"')


def read_local(text: str) -> Any:
    """As read_time, without a zone."""
    return _LOCAL.decode(f'"{_cut(text)}"')


def in_years(array: pa.Array) -> Column:
    """A column of times, less those outside the years 1 to 9999 in UTC."""
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    us = array.view(pa.int64())
    ends = pc.min_max(us).as_py()
    if ends["min"] is None or (ends["min"] >= FIRST_US and ends["max"] <= LAST_US):
        return Column(array, {})
    values = us.fill_null(0).to_numpy(zero_copy_only=False)
    far = (values < FIRST_US) | (values > LAST_US)
    kept = array.take(pa.array(np.arange(len(array)), mask=far))
    return Column(kept, dict.fromkeys(np.flatnonzero(far).tolist(), OUTSIDE))


def _cut(text: str) -> str:
    if "\\" in text or '"' in text:
        raise ValueError(text)  # it is no time, and must not become one by being read again
    return _DIGITS.sub(r"\1", text, count=1)
