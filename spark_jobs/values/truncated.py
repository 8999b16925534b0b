"""Truncated: the reason of a malformed record that tells of a truncate, by which it is counted."""

from __future__ import annotations

from typing import Final

TRUNCATED: Final = "a truncate: all rows of the source's table are gone, and none of them is named"
