"""Rule: what a good record of a topic fulfils, over its decoded columns, before the first step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field as Described

from spark_jobs.spec.fields.field import Name
from spark_jobs.spec.model import Model, refuse
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


def refuse_twice(rules: Iterable[Rule]) -> None:
    """Refuse two rules of one name."""
    names = [rule.name for rule in rules]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        refuse("rules", twice, "two rules have this name", "Give each rule a name of its own")
