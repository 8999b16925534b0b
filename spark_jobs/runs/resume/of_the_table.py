"""Of the table: a batch whose rows a killed run has put there, and which is not committed. It runs
again for its state alone.
"""

from __future__ import annotations

from spark_jobs.checkpoint.run import Run
from spark_jobs.source.micro_batch import Offsets


def of_the_table(run: Run) -> Offsets | None:
    """Where it ends; None if there is none.

    Of a registry's records it runs alone, before anybody asks for schemas: with one more, its state
    and its account would have records that the table has not.
    """
    committed = max(run.checkpoint.committed(), default=-1)
    in_table = run.target.table.newest_batch(run.target.owner)
    return run.checkpoint.batch(in_table).end if in_table > committed else None
