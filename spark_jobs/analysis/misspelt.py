"""Misspelt: names in a step's SQL that no column has, where a column's name is near. Spark finds
every unknown one (`sluice validate --deep`); this is text alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from spark_jobs.spec import Pipeline
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.sql.types import names_in

NEAR: Final = 0.8
"""Of difflib. A word of SQL is hardly so near to a column's name."""


def misspelt(spec: Pipeline) -> Iterator[str]:
    """A line for each such name of an expression over a step's input."""
    columns: Columns = spec.topic.columns
    for number, step in enumerate(spec.steps, 1):
        known = {name.lower() for name in columns or ()}
        for each in step.sql_texts:
            for name in () if each.query else sorted(names_in(each.text) - known):
                for close in difflib.get_close_matches(name, known, n=1, cutoff=NEAR):
                    yield (
                        f"step {number} ({step.kind}), {each.field}: {name!r} is no column. "
                        f"Did you mean {close}?"
                    )
        columns = step.columns_after(columns)
