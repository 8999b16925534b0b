"""Same state: the batch that runs again for its state alone must make the state that it made.

A killed run may have put a batch's rows into the table, and not have committed it.
"""

from __future__ import annotations

from spark_jobs.checkpoint.identity import made_by, read_identity
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.run import Run
from spark_jobs.errors import StateIncompatible
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline


def refuse_half_made(run: Run, earlier: Pipeline, *, other_code: bool) -> None:
    """Raise StateIncompatible if a batch is in the table, its state is not stored yet, and the run
    would make another state of it than `earlier` and its code: table and state would then differ.
    """
    other = {
        "expression": earlier.steps != run.spec.steps,
        "code": other_code,
        "topic (max_ahead, required, rules or fields)": earlier.inputs != run.spec.inputs,
    }
    what = " and the old ".join(part for part, differs in other.items() if differs)
    committed = max(run.checkpoint.committed(), default=-1)
    if what and run.target.table.newest_batch(run.target.owner) > committed:
        name = run.spec.name
        raise StateIncompatible.batch_half_done(batch=committed + 1, pipeline=name, what=what)


def forget_failing(run: Run) -> None:
    """Forget the failing records of a batch that has not run, where the spec or its code has
    changed: by the corrected expression they may be good.
    """
    if made_by(read_identity(run.paths)) == made_by(run.identity):
        return
    known = read_failing(run.target.failing)
    begun = max(run.checkpoint.committed(), default=-1)
    kept = known.up_to(max(begun, run.target.table.newest_batch(run.target.owner)))
    if kept != known:
        kept.put(run.target.failing, run.lease)


def of_the_table(run: Run) -> Positions | None:
    """Where it ends; None if there is none.

    Of a registry's records it runs alone, before anybody asks for schemas: with one more, its state
    and its account would have records that the table has not.
    """
    committed = max(run.checkpoint.committed(), default=-1)
    in_table = run.target.table.newest_batch(run.target.owner)
    return run.checkpoint.batch(in_table).end if in_table > committed else None
