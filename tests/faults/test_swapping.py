"""The short form of `make faults REPAIRS=1`: a few real kills of swaps and undos."""

from __future__ import annotations

import logging
from pathlib import Path

from tests.faults.swapping import Swapping

KILLS = 4


def test_no_kill_of_a_swap_or_an_undo_leaves_anything_half_done(tmp_path: Path) -> None:
    found = Swapping(tmp_path, 11, logging.getLogger("campaign").info).run(KILLS)
    assert found.kills >= KILLS, "a last repair may be killed more than once"
    assert found.repairs >= 1
    assert found.undos >= 1
