"""Failing search: finds the records on which an expression of the spec fails, in a batch that
failed, and puts them aside, or proposes them to a person.

The batch's offsets are read again; record_search.py looks for records that fail by
themselves, group_search.py for those that fail together.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from spark_jobs.checkpoint.notes.failing import FailingRecord, FailingRecords, read_failing
from spark_jobs.checkpoint.run import Run
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.errors import ExpressionFailed, RecordsRefused
from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.runs.failures.group_search import together
from spark_jobs.runs.failures.record_search import Failing, all_failing, failing
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.sources import source_of
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps import by_rules, chain
from spark_jobs.steps.classify import good_records

LOG = logging.getLogger(__name__)
SLICE = 500_000
"""Offsets that are read and kept at once."""
MOST = 100
"""Failing records of one batch that a run puts aside unasked. If there are more, or several fail
together, the expression may be wrong, and not the records.
"""
FEW = 10
"""Failing records of a part that are looked for by halves, at some twenty queries each."""
MOST_ASIDE = 100_000
"""Records of one batch that are put aside at all: the decoder's tasks have them in memory."""
SHOWN = 5
REPEATED = "The next run repeats the batch without them, and looks for more if it fails again."


def set_failing_aside(run: Run, failed: StreamingQueryException, audited: int) -> int:
    """See failed.py. More than MOST_ASIDE are too many."""
    error = DataError.of(str(failed))
    committed, planned = run.checkpoint.committed(), run.checkpoint.planned()
    if error is None or planned[-1:] == committed[-1:]:
        raise failed
    batch = run.checkpoint.batch(planned[-1])
    if batch.id <= run.target.table.newest_batch(run.target.owner):
        raise _nobody(run, error, f"Batch {batch.id} is in the table with all of its records.")
    known = read_failing(run.target.failing)
    # A value may have the words of such an error, and then no record is one.
    if by_rules.REFUSED in error.message and (refused := _refused(run, batch, known)):
        raise refused
    alone = list[FailingRecord]()
    if not (found := _new([each for each in known.proposed if each.batch == batch.id], known)):
        LOG.info("%s: batch %d failed; looking for the records", run.spec.name, batch.id)
        alone = _new(_alone(run, batch, known), known)
        found = alone or _new(_together(run, batch, known, error), known)
    if not found:
        why = "the state alone fails, or several groups together"
        text = f"No record or group of batch {batch.id} makes it fail: {why}."
        raise _nobody(run, error, text, _by_name(run))
    before = len(known.of(batch.id))
    if before + len(found) > MOST_ASIDE:
        why = f"It fails on more than {MOST_ASIDE:,} records of batch {batch.id}: the expression is"
        raise _nobody(run, error, f"{why} wrong, not the records.")
    few = bool(alone) and before + len(found) <= MOST
    if not few and run.spec.on_failing_expression == "refuse":
        known.model_copy(update={"proposed": tuple(found)}).put(run.target.failing, run.lease)
        raise _for_a_person(run, error, found)
    known.with_more(found, audited).put(run.target.failing, run.lease)
    # Without the reasons, which may contain values: logs are read by more people than the records.
    LOG.warning(
        "%s: batch %d: an expression fails on %d record(s), which are malformed: %s; "
        "`sluice show quarantine` has the reasons",
        run.spec.name,
        batch.id,
        len(found),
        places(found, run.spec.inputs),
    )
    return batch.id


def _refused(run: Run, batch: Batch, known: FailingRecords) -> RecordsRefused | None:
    """Proposes them; None if there are none."""
    found = list[FailingRecord]()
    for part in slices(batch):
        flow, left = _flow(run, part, known), MOST_ASIDE - len(found)
        for place, reason in by_rules.refused(flow.by_decoder, flow.spec.inputs, left):
            found.append(FailingRecord.at(place, batch.id, reason))
    if not found:
        return None
    known.model_copy(update={"proposed": tuple(found)}).put(run.target.failing, run.lease)
    more = f", and {len(found) - SHOWN:,} others" if len(found) > SHOWN else ""
    told = f"{places(found, run.spec.inputs)}{more}"
    return RecordsRefused.batch(pipeline=run.spec.name, batch=batch.id, places=told)


def _flow(run: Run, part: Batch, known: FailingRecords) -> Dataflow:
    return dataflow(
        source_of(run.spec, run.settings).read(run.spark, part.parts),
        run.spec,
        run.settings,
        run.inputs,
        clock_ms=part.clock_ms or None,
        failing=known.reasons,
    )


def places(found: Iterable[FailingRecord], inputs: Topics) -> str:
    """The first of them, for a reader."""
    return ", ".join(each.place.told(inputs.shown) for each in islice(found, SHOWN))


def _new(found: Iterable[FailingRecord], known: FailingRecords) -> list[FailingRecord]:
    """Without those that are malformed already, or this would never end."""
    return [each for each in found if known.reasons.get(each.place) is None]


def _nobody(run: Run, error: DataError, why: str, first: str = "") -> ExpressionFailed:
    return error.failed(run.spec.name, error.where(run.spec), why, first=first)


def _by_name(run: Run) -> str:
    if _is_beside(run):
        return ""
    return f"Name them: sluice quarantine {run.spec.name} --record PARTITION:OFFSET. Or: "


def _is_beside(run: Run) -> bool:
    """No command puts the records of a rebuild's run aside."""
    return run.paths.place.beside


def _for_a_person(run: Run, error: DataError, found: list[FailingRecord]) -> ExpressionFailed:
    name, batch = run.spec.name, found[0].batch
    more = ", and others" if len(found) > SHOWN else ""
    by_itself = "on_failing_expression='quarantine' lets a run put them into quarantine by itself."
    by_hand = f"Look at them, and put them into quarantine: sluice quarantine {name}. {REPEATED} "
    return error.failed(
        name,
        error.where(run.spec),
        f"It fails on {len(found):,} record(s) of batch {batch}: "
        f"{places(found, run.spec.inputs)}{more}.",
        first=f"{'' if _is_beside(run) else by_hand}{by_itself} Or: ",
    )


def _alone(run: Run, batch: Batch, known: FailingRecords) -> list[FailingRecord]:
    """Up to one more than MOST_ASIDE. Raises ExpressionFailed if there are more than MOST, and only
    halving can find them.
    """
    spec, found = run.spec, list[FailingRecord]()
    for part in slices(batch):
        flow = _flow(run, part, known)
        good = good_records(flow.by_decoder, spec.inputs).persist()

        def computed(
            rows: DataFrame, flow: Dataflow = flow, late_before_ms: int = part.late_before_ms
        ) -> DataFrame:
            entering = chain.stateful_input(rows, spec, flow.sides)
            return chain.row_part(entering, spec, flow.sides, late_before_ms)

        try:
            search = failing(part, good, computed)
            each = [*islice(search, FEW + 1)]
            if len(each) > FEW:
                every = all_failing(good, computed, MOST_ASIDE - len(found), spec.inputs)
                each = every or [*each, *islice(search, MOST - FEW)]
                if every is None and len(each) > MOST:
                    raise _too_many(run, batch, each[0].error)
        finally:
            good.unpersist()
        found += (_record(run, batch, one) for one in each)
        if len(found) > MOST_ASIDE:
            break
    return found


def _together(
    run: Run, batch: Batch, known: FailingRecords, error: DataError
) -> list[FailingRecord]:
    """Raises ExpressionFailed where no trial may look for them."""
    if run.spec.state.takes_trials or not run.spec.keeps_state:
        return together(run, batch, known, error, MOST_ASIDE)
    why = (
        f"No record of batch {batch.id} fails by itself. With state.provider='hdfs' Sluice does "
        "not look for records that fail together."
    )
    rocksdb = "Use provider='rocksdb', which needs sluice reset. Or: "
    raise _nobody(run, error, why, _by_name(run) + rocksdb)


def _record(run: Run, batch: Batch, found: Failing) -> FailingRecord:
    return FailingRecord.at(found.place, batch.id, found.error.reason(run.spec))


def _too_many(run: Run, batch: Batch, error: DataError) -> ExpressionFailed:
    return error.failed(
        run.spec.name,
        error.where(run.spec),
        f"It fails on more than {MOST} records of batch {batch.id}, and its plan is none of "
        "conditions and selections, of which all could be found at once.",
        first=_by_name(run),
    )


def slices(batch: Batch, most: int = SLICE) -> Iterator[Batch]:
    """The batch in parts of about `most` offsets or fewer.

    All partitions are cut at the same shares.
    """
    parts = max(1, -(-batch.covered // most))
    cuts = [batch.start.share(batch.end, n, parts) for n in range(parts + 1)]
    for start, end in pairwise(cuts):
        yield batch._replace(start=start, end=end)
