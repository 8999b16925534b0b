"""Going live: the step that says which place is live, of a switch, its way back, a reset and a
beginning anew.
"""

from __future__ import annotations

from spark_jobs.checkpoint.notes.live import Live
from spark_jobs.journal.change import Facts, Scene


class GoesLive(Facts):
    """Which place is live then. root/live_place.py finds it here too, by the name `live`."""

    live: Live


def go_live(facts: GoesLive, scene: Scene) -> None:
    """Write it: until then another place drains, from then on this one."""
    facts.live.write_whole(scene.paths.above, scene.held)
