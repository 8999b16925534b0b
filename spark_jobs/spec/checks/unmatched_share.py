"""Unmatched share: a state check over the rows for which a dimension has none."""

from __future__ import annotations

from typing import Final

from pydantic import Field as Described

from spark_jobs.spec.checks.check import Check, Severity
from spark_jobs.spec.fields.field import Name
from spark_jobs.spec.model import Model

PREFIX: Final = "unmatched_share_"
"""How the state metric of a dimension begins; its name follows."""


class _Share(Model):
    """What `unmatched_share` is given."""

    dimension: Name
    most: float = Described(ge=0, le=1, strict=False)


def unmatched_share(
    dimension: str, most: float, *, severity: Severity = "critical", about: str = ""
) -> Check:
    """A state check: of the rows that are looked up in the dimension, at most this share, from 0 to
    1, finds none of its rows. Refused behind the state if a later step may drop rows, and with
    missing="quarantine", where `malformed_share` tells. Null where no progress does. Raises
    SpecInvalid.
    """
    asked = _Share(dimension=dimension, most=most)
    return Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": f"{PREFIX}{asked.dimension}", "max_value": asked.most},
        severity=severity,
        about=about or f"rows without one of {asked.dimension}, as a share of the rows looked up",
    )
