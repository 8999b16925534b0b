"""Table in question: which one a person is asked about, and by what it is to be replaced. An answer
holds for that alone.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.rebuild import read_begun
from spark_jobs.errors import RebuildRefused
from spark_jobs.rebuild.beside import beside_paths, logic_of

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths
    from spark_jobs.spec import Pipeline

JUDGED = {"on_lost_records", "close_after", "output_checks", "state_checks", "state_checks_off"}
"""Fields that change freely between drains, and that decide which rows are switched to."""


class Shown(NamedTuple):
    """The facts of both places. Text and numbers, as JSON has them."""

    began: str
    """When the rebuild began."""
    following: str
    """The digest of NEXT: all on which its rows, and whether they pass, depend."""
    replaced: str
    """The generation of the live checkpoint. Drains keep it; a rewind, a reset, a switch and its
    way back do not.
    """
    computed: str
    """The generation of the one beside; empty without a batch."""
    batch: int
    """The newest batch of the one beside; -1 without any."""


def shown(live: Paths, following: Pipeline) -> Shown:
    """The facts of now. `live` are the paths of the version that drains."""
    side, begun, known = beside_paths(live, following), read_begun(live), read_identity(live)
    computed, committed = read_identity(side), Checkpoint(side.checkpoint).committed()
    judged = following.model_dump(mode="json", include=JUDGED)
    made = json.dumps([logic_of(following), judged], sort_keys=True, default=str)
    return Shown(
        began=begun.began.isoformat() if begun else "",
        following=hashlib.sha256(made.encode()).hexdigest()[:16],
        replaced=known.generation if known else "",
        computed=computed.generation if computed and committed else "",
        batch=committed[-1] if committed else -1,
    )


def refuse_changed(name: str, was: Shown, now: Shown) -> None:
    """Raise RebuildRefused if the answer was about something else. NEXT may have read on: the
    switch lets it catch up with the live pipeline.
    """
    rewound = was.computed not in ("", now.computed) or was.batch > now.batch
    differing = [
        word
        for word, differs in (
            ("another rebuild is there", was.began != now.began),
            ("NEXT has changed", was.following != now.following),
            ("the live table was rewound, reset or switched", was.replaced != now.replaced),
            ("the rebuild was rewound or reset", rewound),
        )
        if differs
    ]
    if differing:
        raise RebuildRefused.question_outdated(pipeline=name, differences="; ".join(differing))
