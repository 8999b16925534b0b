"""The sources of the rows in ops.merged."""

from __future__ import annotations

from typing import Final

TAKEN_OUT: Final = "taken out"
"""In ops.merged, in place of the source of a record from quarantine that is not in the rows."""
