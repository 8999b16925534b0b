"""A column that only Spark needs, kept from a pipeline's function."""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from spark_jobs.steps.group_state import hide_column
from spark_jobs.steps.timers import StateFunction

FRAMES = [
    pd.DataFrame({"key": ["a", "a"], "value": [1, 2], "_watermark": [3, 4]}),
    pd.DataFrame({"key": [], "value": [], "_watermark": []}),
]


def columns(key: Any, frames: Iterable[Any], state: Any) -> Iterator[Any]:
    """What it was called with, for the test."""
    for frame in frames:
        yield key, list(frame.columns), len(frame), state


def test_a_function_gets_all_columns_but_the_hidden_one():
    function: StateFunction = hide_column(columns, "_watermark")
    for frames in (iter(FRAMES), FRAMES):
        assert list(function(("a",), frames, "state")) == [
            (("a",), ["key", "value"], 2, "state"),
            (("a",), ["key", "value"], 0, "state"),
        ]


def test_where_spark_gives_a_list_it_gets_one():
    """Behind a time-out: code that asks for its length works in a drain, and in a repair too."""

    def lengths(_: Any, frames: Any, __: Any) -> Iterator[Any]:
        yield len(frames), list(frames[0].columns)

    function = hide_column(lengths, "_watermark")
    assert list(function(("a",), FRAMES[1:], "state")) == [(1, ["key", "value"])]
