"""Times: RFC 3339 as text, text of a declared pattern (spec/fields/local_time.py), and numbers
since 1970, in the range of years that Python, Spark and delta-rs share.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final
from zoneinfo import ZoneInfo

import msgspec

from spark_jobs.decode.columns.column import Column, Wrong
from spark_jobs.spec import Local
from spark_jobs.spec.fields.local_time import MONTHS, offset
from spark_jobs.values.spans import EPOCH

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


NOON = 12


class LocalClock:
    """Reads the times of one field."""

    def __init__(self, local: Local) -> None:
        self._local = local
        self._zone = ZoneInfo(local.zone) if local.zone else None
        self._match = local.expression.fullmatch

    def read(self, text: str) -> datetime:
        """In UTC; without a zone where the pattern has none. Raises ValueError: what is wrong."""
        found = self._match(text)
        if found is None:
            raise Wrong(f"is text that is not {self._local.pattern}")
        parts = found.groupdict()
        month = MONTHS.index(parts["b"]) + 1 if "b" in parts else int(parts["m"])
        hour = int(parts.get("H", 0))
        if "I" in parts:
            if not 1 <= int(parts["I"]) <= NOON:
                raise Wrong("is no time of day")
            hour = int(parts["I"]) % NOON + NOON * (parts["p"] == "PM")
        try:
            at = datetime(  # noqa: DTZ001 - it gets its zone below
                int(parts["Y"]),
                month,
                int(parts["d"]),
                hour,
                int(parts.get("M", 0)),
                int(parts.get("S", 0)),
                int(parts.get("f", "0")[:6].ljust(6, "0")),
            )
            if "z" in parts:
                return at.replace(tzinfo=UTC) - offset(parts["z"])
            return at if self._zone is None else self._in_utc(at, self._zone)
        except OverflowError:
            raise Wrong("is a time outside the years 1 to 9999 in UTC") from None
        except Wrong:
            raise
        except ValueError:
            raise Wrong("is no date or time of day") from None

    def _in_utc(self, at: datetime, zone: ZoneInfo) -> datetime:
        first, second = (at.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
        assert first is not None
        assert second is not None
        if first != second:
            # Where the clock goes forward, the later offset is the larger one.
            if second > first:
                raise Wrong(f"is a time that the clock of {zone.key} skips")
            if self._local.twice == "malformed":
                raise Wrong(f"is a time that the clock of {zone.key} has twice")
        ahead: timedelta = second if self._local.twice == "second" else first
        return at.replace(tzinfo=UTC) - ahead
