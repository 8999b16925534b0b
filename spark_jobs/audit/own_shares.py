"""Own shares: the state metrics of a spec's own rules and dimensions, of some batches together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spark_jobs.ops import accounts
from spark_jobs.spec.checks.rule import PREFIX as OF_RULE, rule_metrics
from spark_jobs.spec.checks.unmatched_share import PREFIX as OF_DIMENSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.messages.offset_account import Account
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline


def own_shares(spec: Pipeline, rows: Sequence[Row], account: Account) -> dict[str, float | None]:
    """Pipeline.own_metrics, from 0 to 1, of rows of ops.batches and the sum of their accounts."""
    return _of_rules(spec, rows, account.records) | _of_dimensions(spec, rows)


def share(part: int, whole: int) -> float:
    """0 of nothing."""
    return part / whole if whole else 0.0


def _of_rules(spec: Pipeline, rows: Sequence[Row], records: int) -> dict[str, float | None]:
    """Of several topics, the rules of one name together."""
    failing = Counter[str]()
    for name, count in accounts.failing_rules(row["rules"] for row in rows).items():
        failing[f"{OF_RULE}{name.rpartition('/')[2]}"] += count
    names = rule_metrics(spec.inputs.rules)
    return {name: share(failing[name], records) for name in names}


def _of_dimensions(spec: Pipeline, rows: Sequence[Row]) -> dict[str, float | None]:
    """Of the batches that have counted it; None where there are some, and none has."""
    found: dict[str, float | None] = {}
    for name, among in spec.looked_up.items():
        counted = [(row, of[name]) for row in rows if name in (of := dict(row["unmatched"] or ()))]
        whole = sum(row[each] for row, _ in counted for each in among.elements())
        known = counted or not rows
        missing = sum(count for _, count in counted)
        found[f"{OF_DIMENSION}{name}"] = share(missing, whole) if known else None
    return found
