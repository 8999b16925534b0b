"""Rounding, and overflow: measures that a few records can make fail; and measures whose last bits
depend on the order of records, since doubles are added.

Two computations over the same records may differ by that. How far, their terms say: n doubles in
any order come to sums at most n * 2^-52 * sum(abs(x)) apart (Higham, Accuracy and Stability of
Numerical Algorithms, 4.2). The result does not: a ledger's hour may come to 0.0 or to 2.9e-11.
steps/canonical/aggregate.py computes it. What is here is text alone: it may miss what Spark's types
would say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from spark_jobs.spec import Pipeline
from spark_jobs.spec.sql import Token, names_in, tokens

if TYPE_CHECKING:
    from spark_jobs.spec.steps.step import Step

SUMS: Final = frozenset({"sum", "try_sum"})
MEANS: Final = frozenset({"avg", "mean", "try_avg"})
SPREADS: Final = frozenset(
    {"stddev", "std", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"}
)
UNBOUNDED: Final = frozenset(
    {"skewness", "kurtosis", "corr", "covar_pop", "covar_samp"}
    | {f"regr_{of}" for of in ("avgx", "avgy", "intercept", "r2", "slope", "sxx", "sxy", "syy")}
)
"""They add doubles too, and nobody has worked out how far apart two orders may come."""
BOUNDED: Final = SUMS | MEANS | SPREADS
_CALL = re.compile(rf"\b({'|'.join(sorted(BOUNDED | UNBOUNDED))})\s*\(", re.IGNORECASE)
_EXACT = re.compile(
    r"\s*(distinct\s+)?(cast\s*\(.*\bas\s+decimal\b.*\)|decimal\s*\(.*)",
    re.IGNORECASE | re.DOTALL,
)


def counts_records(step: Step) -> bool:
    """Whether a measure has the number of records: it tells a lost one from a rounding, however
    small its amount.
    """
    plain = {sql.replace(" ", "").lower() for sql in step.aggregates.values()}
    return bool(plain & {"count(*)", "count(1)"})


def deciding(spec: Pipeline) -> int | None:
    """The index of the step whose groups are the output's rows; None where there is none."""
    for index, step in reversed([*enumerate(spec.steps)]):
        if step.row_key is not None:
            return index
        if step.condition is None:
            return None
    return None


def output_key(spec: Pipeline) -> tuple[str, ...] | None:
    """The columns that identify an output row; None if a row is what all its columns say."""
    if spec.keyed:
        return spec.keyed.row_key
    index = deciding(spec)
    return None if index is None else spec.steps[index].row_key


def rounded(spec: Pipeline) -> tuple[str, ...]:
    """The measures of the output that this is true of, as far as text and declared types tell."""
    index = deciding(spec)
    if index is None:
        return ()
    types = spec.inputs.types
    for step in spec.steps[:index]:
        types = step.types_after(types)
    measures = spec.steps[index].aggregates
    return tuple(name for name, sql in measures.items() if any(_adds(sql, types)))


def rounding_line(spec: Pipeline) -> str | None:
    """What is to be known of them, in a line; None where there is none."""
    names = rounded(spec)
    if not names:
        return None
    step = spec.steps[deciding(spec) or 0]
    told = f"{', '.join(names)}: sums of doubles, whose last bits depend on the order of records"
    if counts_records(step):
        return f"{told}; what that can make of them counts as equal"
    return f"{told}; without a measure count(*) a repair may have to ask a person"


def _adds(sql: str, types: Mapping[str, str]) -> Iterator[bool]:
    """For each call: whether it adds doubles."""
    for call in _CALL.finditer(sql):
        argument = _argument(sql, call.end())
        names = names_in(argument)
        doubles = any(types.get(name) in ("double", "float") for name in names)
        unknown = not any(name in types for name in names)
        always = call[1].lower() in SPREADS | UNBOUNDED
        yield always or (not _EXACT.fullmatch(argument) and (doubles or unknown or "/" in argument))


def _argument(sql: str, start: int) -> str:
    """The text up to the parenthesis that ends the call."""
    depth = 1
    for at in range(start, len(sql)):
        depth += {"(": 1, ")": -1}.get(sql[at], 0)
        if not depth:
            return sql[start:at]
    return sql[start:]


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
