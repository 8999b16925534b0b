"""Group forms: what each form of GroupState can hold and cannot have.

pandas counts nanoseconds in 64 bits: from 1677 to 2262. And Spark takes what code stores through a
calendar that has no 5th to 14th of October 1582: it stores the 10th as the 15th (measured on Spark
4.2.0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import refuse
from spark_jobs.values.gap import Gap

MOST_BUCKETS: Final = 10_000
"""Each batch visits every bucket, at some tenths of a millisecond each."""
CALLED_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "apply": ("key", "frames", "state"),
    "buckets": ("rows", "state"),
}
"""Form -> what a function of logic.py gets, by position. The other forms have a class there."""
UNFOLLOWED: Final = {
    "apply": "Spark allows no stateful step after applyInPandasWithState",
    "buckets": "no stateful step can follow a GroupState in buckets",
}
"""Form -> why no stateful step can follow it. They take no event_time."""
FIRST: Final = datetime(1677, 9, 21, 0, 12, 43, 145225, UTC)
LAST: Final = datetime(2262, 4, 11, 23, 47, 16, 854775, UTC)
"""The first and the last microsecond of pandas."""
NO_JULIAN: Final = Gap(
    datetime(1582, 10, 5, tzinfo=UTC), datetime(1582, 10, 14, 23, 59, 59, 999999, UTC)
)
BEYOND: Final = (
    Gap(datetime.min.replace(tzinfo=UTC), FIRST.replace(microsecond=145224)),
    Gap(LAST.replace(microsecond=854776), datetime.max.replace(tzinfo=UTC)),
)
_JULIAN: Final = "Spark's state has no times from 1582-10-05 to 1582-10-14 for a GroupState of form"
_PANDAS: Final = "there are times from 1677-09-21 to 2262-04-11 alone for a GroupState of form"
GAPS: Final[Mapping[tuple[str, str], tuple[tuple[Gap, ...], str]]] = {
    ("row", "timestamp"): ((NO_JULIAN,), _JULIAN),
    ("row", "date"): ((NO_JULIAN,), _JULIAN),
    ("pandas", "timestamp"): (BEYOND, _PANDAS),
    ("pandas", "timestamp_ntz"): (BEYOND, _PANDAS),
    ("pandas", "date"): ((NO_JULIAN,), _JULIAN),
    ("apply", "timestamp"): (BEYOND, _PANDAS),
    ("apply", "timestamp_ntz"): (BEYOND, _PANDAS),
    ("apply", "date"): ((NO_JULIAN,), _JULIAN),
}
"""Form of GroupState and type of the field -> what it cannot hold, and the words for it. Buckets
have Arrow's times: every one that a record can have.
"""


def refuse_in_apply(
    state: Sequence[Field], initial_state: str | None, event_time: str | None
) -> None:
    """Refuse what applyInPandasWithState has not."""
    if not state:
        refuse(
            "state",
            (),
            "applyInPandasWithState must know the columns of a key's state before it runs",
            "Declare them: state=(Field(name='seen', type='bigint'),)",
        )
    if parted := [field.name for field in state if "<" in field.type]:
        refuse(
            "state",
            parted,
            "Spark 4.2's applyInPandasWithState keeps no array, map or struct",
            "Keep their parts, or their JSON as a string, or use another form",
        )
    if initial_state is not None:
        refuse(
            "initial_state",
            initial_state,
            "Spark's applyInPandasWithState takes no initial state in Python",
            "Use form='row' or 'pandas', whose processor has handleInitialState",
        )
    if event_time is not None:
        refuse(
            "event_time",
            event_time,
            "no stateful step can follow applyInPandasWithState",
            "Leave it out",
        )


def refuse_in_buckets(
    buckets: int | None,
    keys: Sequence[str],
    state: Sequence[Field],
    time_mode: str,
    initial_state: str | None,
) -> None:
    """Refuse what buckets have not, and a number of them that is none."""
    if buckets is None or not 1 <= buckets <= MOST_BUCKETS:
        refuse(
            "buckets",
            buckets,
            f"form 'buckets' needs a number of buckets, from 1 to {MOST_BUCKETS:,}",
            "Write for example buckets=64: a bucket is best of 1,000 to 10,000 keys",
        )
    if time_mode != "none":
        refuse(
            "time_mode",
            time_mode,
            "Spark compares rows with the watermark and fires timers one by one, and here it "
            "sees buckets alone",
            "Use time_mode='none', or form='row' for timers and late rows",
        )
    if not state:
        refuse(
            "state",
            (),
            "the columns of the state must be known before the function runs",
            "Declare them: state=(Field(name='seen', type='bigint'),)",
        )
    if twice := sorted({*keys} & {field.name for field in state}):
        refuse(
            "state",
            twice,
            "the function gets the keys as columns of the state, beside those of `state`",
            "Leave the keys out of `state`",
        )
    if initial_state is not None:
        refuse(
            "initial_state",
            initial_state,
            "buckets take no initial state",
            "Use form='row' or 'pandas', whose processor has handleInitialState",
        )


def refuse_no_time(name: str, output: Sequence[Field], time_mode: str) -> None:
    """Refuse an event time that output has not, or that Spark compares with no watermark."""
    if not any(
        field.name == name and field.type == "timestamp" and field.required for field in output
    ):
        refuse(
            "event_time",
            name,
            "it is not a required timestamp column of output",
            "Name such a column, or declare this one so",
        )
    if time_mode != "event":
        refuse(
            "event_time",
            name,
            f"in time mode {time_mode} Spark does not compare the output with the watermark",
            "Use time_mode='event'",
        )


def refuse_key_types(form: str, of: Mapping[str, str]) -> None:
    """Refuse keys by their types, in this form."""
    parted = [key for key in of if "<" in of[key]]
    if parted and form in ("row", "pandas"):
        refuse(
            "GroupState.keys",
            parted,
            "Spark 4.2 gives a processor no key of type array or struct",
            "Use other keys, or take parts of it in a Transform",
        )
    doubles = [key for key in of if re.search(r"\b(double|float)\b", of[key])]
    if doubles and form == "buckets":
        refuse(
            "GroupState.keys",
            doubles,
            "form 'buckets' has no keys of type double or float: NaN and -0.0 are other keys "
            "in Arrow than in Spark",
            "Use a key of another type, or form='row'",
        )
