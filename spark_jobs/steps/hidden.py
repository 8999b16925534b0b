"""Hidden: a column that Spark needs and a pipeline's function for applyInPandasWithState must not
get.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from spark_jobs.steps.timers import StateFunction


def hide_column(function: StateFunction, name: str) -> StateFunction:
    """The same function; the frames that it is called with lack the column."""

    @functools.wraps(function)
    def called(key: Any, frames: Iterable[Any], state: Any) -> Iterator[Any]:
        if isinstance(frames, list):  # Spark's form for a time-out: one frame without rows
            return function(key, [frame.drop(columns=name) for frame in frames], state)
        return function(key, (frame.drop(columns=name) for frame in frames), state)

    return called
