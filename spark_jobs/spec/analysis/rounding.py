"""Rounding: measures whose last bits depend on the order of records, since doubles are added.

Two computations over the same records may differ by that. How far, their terms say: n doubles in
any order come to sums at most n * 2^-52 * sum(abs(x)) apart (Higham, Accuracy and Stability of
Numerical Algorithms, 4.2). The result does not: a ledger's hour may come to 0.0 or to 2.9e-11.
steps/canonical/rounding.py computes it. What is here is text alone: it may miss what Spark's types
would say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from spark_jobs.spec.sql.types import names_in

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
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
