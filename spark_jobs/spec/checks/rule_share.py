"""Rule share: a state check over the records that fail a rule (spec/checks/rule.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import Field as Described

from spark_jobs.spec.checks.check import Check, Severity
from spark_jobs.spec.fields.field import Name
from spark_jobs.spec.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.spec.checks.rule import Rule

PREFIX: Final = "rule_share_"
"""How the state metric of a rule begins; its name follows."""


def rule_metrics(rules: Iterable[Mapping[str, Rule]]) -> tuple[str, ...]:
    """The state metrics of the rules of all inputs, as inputs.py has them: each name once."""
    names = (rule.name for each in rules for rule in each.values())
    return tuple(f"{PREFIX}{name}" for name in dict.fromkeys(names))


class _Share(Model):
    """What `rule_share` is given."""

    rule: Name
    most: float = Described(ge=0, le=1, strict=False)


def rule_share(
    rule: str, most: float, *, severity: Severity = "critical", about: str = ""
) -> Check:
    """A state check: at most this share of the records that were read, from 0 to 1, fails the rule.
    Of several topics, the rules of this name together. Raises SpecInvalid.
    """
    asked = _Share(rule=rule, most=most)
    return Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": f"{PREFIX}{asked.rule}", "max_value": asked.most},
        severity=severity,
        about=about or f"records that fail the rule {asked.rule}, as a share of those read",
    )
