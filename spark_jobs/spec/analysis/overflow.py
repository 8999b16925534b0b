"""Overflow: the measures of a spec that a few records can make fail, as far as their texts tell.

In ANSI mode a sum of bigint fails beyond 2^63, and two records are enough. A sum of int is a bigint
too: it takes four billion records, and is not told. A sum of double is infinite, and does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spark_jobs.spec import Pipeline
from spark_jobs.spec.sql.tokens import Token, tokens

WIDE: Final = "bigint"
SAFE: Final = {"double", "float", "decimal"}
"""Types to which a text may cast: their sums hold any number of bigints."""


def overflowing(spec: Pipeline) -> Iterator[str]:
    """A line for each measure that can overflow, and one if no run could put its records aside."""
    tried = spec.state.takes_trials
    aside = "; or set on_failing_expression='quarantine'" if tried else ""
    grouped = any(step.grouping_keys is not None for step in spec.steps)
    if grouped and not tried and spec.on_failing_expression == "quarantine":
        yield (
            "on_failing_expression='quarantine' with state.provider='hdfs': records that fail "
            "together are not looked for, and the run ends with EXPRESSION_FAILED"
        )
    types = spec.inputs.types
    for number, step in enumerate(spec.steps, 1):
        for name, sql in step.aggregates.items():
            if _overflows(sql, types):
                yield (
                    f"step {number} ({step.kind}), measures[{name!r}]: {sql} fails beyond 2^63, "
                    "which two records can reach: use try_sum, which is null then, or cast to "
                    f"decimal(38, 0){aside}"
                )
        types = step.types_after(types)


def _overflows(sql: str, types: dict[str, str]) -> bool:
    found = tokens(sql) or ()
    return any(
        _is_wide({token.text for token in _within(found, at + 1)}, types)
        for at, token in enumerate(found[:-1])
        if token == ("name", "sum") and found[at + 1].text == "("
    )


def _is_wide(names: set[str], types: dict[str, str]) -> bool:
    kinds = {kind for name, kind in types.items() if name.lower() in names}
    return WIDE in kinds and not (kinds | names) & SAFE


def _within(found: tuple[Token, ...], opened: int) -> Iterator[Token]:
    """What stands between a parenthesis and its end."""
    depth = 0
    for token in found[opened:]:
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "other" else 0
        if depth == 0:
            return
        yield token
