"""Kind: what kind of run.

It is an argument of the application, and a field of reports, ops tables and log lines. A new kind
is a name here, and a function in RUNS of main.py, which names what else it needs.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Kind = Literal["drain"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
