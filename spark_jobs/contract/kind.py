"""Kind: what kind of run.

It is an argument of the application, and a field of reports, ops tables and log lines. A new kind
is a name here, and a function in RUNS of main.py, which names what else it needs.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Kind = Literal["drain"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

RepairKind = Literal["repair", "backfill", "verify", "replay", "rebuild"]
"""What a person may ask for beside the drain.

repair     compute the ranges again that late records touch
backfill   compute a given range again
verify     compute a given range again and compare; change nothing
replay     decode the quarantined records again and repair with those that are good now
rebuild    compute everything again, with changed logic, beside the live table
"""
REPAIR_KINDS: Final[tuple[RepairKind, ...]] = get_args(RepairKind)
