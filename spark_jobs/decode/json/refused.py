"""Refused: what decoding raises for a malformed record."""

from __future__ import annotations

from typing import Final

import msgspec

REFUSED: Final = (msgspec.DecodeError, ValueError, RecursionError, OverflowError)
