"""The older form of arbitrary state. A day is written when the watermark has passed its end."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.streaming.state import GroupState


def with_day(rows: DataFrame) -> DataFrame:
    """The day of the event time, as text."""
    return rows.withColumn("day", F.date_format("event_time", "yyyy-MM-dd"))


def days(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Count until the day is over; a day that is over is written at once, without a time-out."""
    events, miles = state.getOption or (0, 0)
    for frame in frames:
        events = events + len(frame)
        miles = miles + int(frame["distance_miles"].sum())
    over_ms = int(
        datetime.combine(date.fromisoformat(key[1]) + timedelta(days=1), time(), UTC).timestamp()
        * 1000
    )
    if state.hasTimedOut or over_ms <= state.getCurrentWatermarkMs():
        state.remove()
        yield pd.DataFrame(
            {"carrier": [key[0]], "day": [key[1]], "events": [events], "miles": [miles]}
        )
    else:
        state.update((events, miles))
        state.setTimeoutTimestamp(over_ms)
