"""Same state: whether a spec whose expressions were corrected continues on the stored state; and
the batch that runs again for its state alone.

A person has declared the correction (compatible_expressions). Here Spark tells, before anything is
stored or read, whether the types of the state stay.

A killed run may have put a batch's rows into the table, and not have committed it.
"""

from __future__ import annotations

from difflib import ndiff

from pyspark.sql import DataFrame

from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.run import Run
from spark_jobs.dataflow import dataflow
from spark_jobs.errors import StateIncompatible
from spark_jobs.runs.resume.state_types import state_types
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.steps.timers import Timers


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
        raise StateIncompatible.batch_half_done(
            batch=committed + 1,
            pipeline=name,
            what=what,
        )


def refuse_other_state(run: Run, earlier: Pipeline) -> None:
    """Raise StateIncompatible if the expressions of the run's spec need another state than
    `earlier`'s.
    """
    name = run.spec.name
    before, after = (state_types(_query(run, spec)) for spec in (earlier, run.spec))
    if before != after:
        changes = [line for line in ndiff(before, after) if line.startswith(("-", "+"))]
        raise StateIncompatible.corrected_type_differs(pipeline=name, changes="; ".join(changes))


def forget_failing(run: Run) -> None:
    """Forget the failing records of a batch that has not run: by the corrected expression they may
    be good.
    """
    known = read_failing(run.target.failing)
    begun = max(run.checkpoint.committed(), default=-1)
    kept = known.up_to(max(begun, run.target.table.newest_batch(run.target.owner)))
    if kept != known:
        kept.put(run.target.failing, run.lease)


def _query(run: Run, spec: Pipeline) -> DataFrame:
    records = source_of(spec, run.settings).stream(run.spark)
    flow = dataflow(records, spec, run.settings, run.inputs)
    return flow.output(run.paths.root, Timers(run.spark))


def of_the_table(run: Run) -> Positions | None:
    """Where it ends; None if there is none.

    Of a registry's records it runs alone, before anybody asks for schemas: with one more, its state
    and its account would have records that the table has not.
    """
    committed = max(run.checkpoint.committed(), default=-1)
    in_table = run.target.table.newest_batch(run.target.owner)
    return run.checkpoint.batch(in_table).end if in_table > committed else None
