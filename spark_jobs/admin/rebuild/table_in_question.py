"""Table in question: which one a person is asked about, and by what it is to be replaced. An answer
holds for that alone.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from spark_jobs.admin.rebuild.beside import beside_paths, logic_of
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.rebuild import read_begun
from spark_jobs.errors import RebuildRefused

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

COMPUTED = "what is computed"
JUDGED = {"on_lost_records", "close_after", "output_checks", "state_checks", "state_checks_off"}
"""Fields that change freely between drains, and that decide which rows are switched to."""

Shown = dict[str, str]
"""A thing in words -> what tells it from another one, as JSON has it; empty for none."""


def shown(live: Paths, following: Pipeline) -> Shown:
    """What is there now. `live` are the paths of the version that drains.

    Drains change nothing of it: the switch lets NEXT catch up with the live pipeline. A rewind, a
    reset, a switch and its way back change a generation.
    """
    side, begun, known = beside_paths(live, following), read_begun(live), read_identity(live)
    computed = read_identity(side) if Checkpoint(side.checkpoint).committed() else None
    judged = following.model_dump(mode="json", include=JUDGED)
    made = json.dumps([logic_of(following), judged], sort_keys=True, default=str)
    return {
        "the rebuild": begun.began.isoformat() if begun else "",
        "NEXT": hashlib.sha256(made.encode()).hexdigest()[:16],
        "the live table": known.generation if known else "",
        COMPUTED: computed.generation if computed else "",
    }


def refuse_changed(name: str, was: Shown, now: Shown) -> None:
    """Raise RebuildRefused if the answer was about something else. Where nothing was computed yet,
    it may be by now.
    """
    if differing := [each for each in now if was.get(each) not in (now[each], "")]:
        raise RebuildRefused.question_outdated(pipeline=name, differing=", ".join(differing))
