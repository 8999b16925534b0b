"""Words of ops.merged and ops.repairs that other rooms ask for."""

from __future__ import annotations

from typing import Final

TAKEN_OUT: Final = "taken out"
"""In ops.merged, in place of the source of a record from quarantine that is not in the rows."""
UNDO: Final = "/undo"
"""The end of an undo's id in ops.repairs, after the repair's."""
