"""Unmatched share: a state check over the rows for which a dimension has none."""

from __future__ import annotations

from typing import Final

from spark_jobs.spec.checks.check import Check, Severity, share_check

PREFIX: Final = "unmatched_share_"
"""How the state metric of a dimension begins; its name follows."""


def unmatched_share(
    dimension: str, most: float, *, severity: Severity = "critical", about: str = ""
) -> Check:
    """A state check: of the rows that are looked up in the dimension, at most this share, from 0 to
    1, finds none of its rows. Refused behind the state if a later step may drop rows, and with
    missing="quarantine", where `malformed_share` tells. Null where no progress does. Raises
    SpecInvalid.
    """
    about = about or f"rows without one of {dimension}, as a share of the rows looked up"
    return share_check(PREFIX, dimension, most, severity, about)
