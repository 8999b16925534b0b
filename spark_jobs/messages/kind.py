"""Kind: what kind of run. It is a field of reports, of ops tables and of log lines.

`main.py drain` is a drain. All the others are repairs, which `main.py stage` computes by their plan
(repair/compute/stage.py). A new kind is a name here; mypy and the tests find where it is forgotten.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

RepairKind = Literal["repair", "backfill", "verify", "replay"]
"""What a person may ask for beside the drain.

repair     compute the ranges again that late records touch
backfill   compute a given range again
verify     compute a given range again and compare; change nothing
replay     merge the records in quarantine that are good by today's spec
"""
REPAIR_KINDS: Final[tuple[RepairKind, ...]] = get_args(RepairKind)

AskedKind = Literal[RepairKind, "rebuild"]
"""What Airflow's form takes: a repair, or the rebuild of the whole table by NEXT."""
ASKED_KINDS: Final[tuple[AskedKind, ...]] = get_args(AskedKind)

Kind = Literal["drain", "rebuild"] | RepairKind
"""rebuild: a run of NEXT beside the live table (rebuild/beside.py), as ops.runs has it."""
