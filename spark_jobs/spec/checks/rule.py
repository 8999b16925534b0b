"""Rule: what a good record of a topic fulfils, over its decoded columns, before the first step; and
a state check over the share of records that fail it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from pydantic import Field as Described

from spark_jobs.spec.checks.check import Check, Severity, share_check
from spark_jobs.spec.fields.field import Name
from spark_jobs.spec.model import Model
from spark_jobs.spec.sql import Expression

OnFailure = Literal["warn", "drop", "quarantine", "refuse"]


class Rule(Model):
    """A condition that a GOOD record fulfils: not one that finds the bad ones.

    All rules of a topic judge each record that decodes, whatever becomes of it. Of the rules that
    it fails the strictest decides: refuse, quarantine, drop, warn. A record is malformed if it
    makes the SQL of any rule fail, such as by a division by zero.
    """

    name: Name
    """counts, reasons and checks have this name"""
    sql: Expression = Described(min_length=1)
    """a Spark SQL condition over the topic's columns that a GOOD record fulfils"""
    on_failure: OnFailure
    """what becomes of a record for which it is false: warn counts it; drop filters it; quarantine
    keeps it in ops.quarantine, as malformed; refuse ends the batch, and proposes the record to
    `sluice quarantine`
    """
    null: Literal["passes", "fails"] = "passes"
    """what a record does for which the condition is null"""


PREFIX: Final = "rule_share_"
"""How the state metric of a rule begins; its name follows."""


def rule_metrics(rules: Iterable[Mapping[str, Rule]]) -> tuple[str, ...]:
    """The state metrics of the rules of all inputs, as inputs.py has them: each name once."""
    names = (rule.name for each in rules for rule in each.values())
    return tuple(f"{PREFIX}{name}" for name in dict.fromkeys(names))


def rule_share(
    rule: str, most: float, *, severity: Severity = "critical", about: str = ""
) -> Check:
    """A state check: at most this share of the records that were read, from 0 to 1, fails the rule.
    Of several topics, the rules of this name together. Raises SpecInvalid.
    """
    about = about or f"records that fail the rule {rule}, as a share of those read"
    return share_check(PREFIX, rule, most, severity, about)
