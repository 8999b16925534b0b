"""Run: a case through real drains, a run for each of its batches, in a root of its own; and the
application's job that runs cases, and says of each how it ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import CaseInvalid, CasesFailed, SluiceError, Stopped
from spark_jobs.proof.acts import Unmet, acted
from spark_jobs.proof.cases import Case, Expected, cases_of
from spark_jobs.proof.compare import differences, table
from spark_jobs.proof.dimensions import of_case, put
from spark_jobs.proof.records import send
from spark_jobs.proof.scratch import COUNTS, Scratch, silent
from spark_jobs.registry import find as registry

if TYPE_CHECKING:
    from spark_jobs.messages.job import Prove
    from spark_jobs.proof.compare import Values
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


class Outcome(NamedTuple):
    """How a case ended."""

    pipeline: str
    case: str
    seconds: float
    differs: tuple[str, ...]
    """Lines; none if all is as expected."""


def outcomes(
    pipelines: Sequence[str], settings: Settings, only: Sequence[tuple[str, str]] = ()
) -> Iterator[Outcome]:
    """Each case's outcome. `only`: these cases, by pipeline and name. Raises CaseInvalid before
    the first, or what refuses a spec.
    """
    wanted = [
        (registry.load(name), case)
        for name in pipelines
        for case in cases_of(name)
        if not only or (name, case.name) in only
    ]
    for spec, case in wanted:
        _refuse_topics(spec, case)
    # Spark has the state of all of them in memory until it ends: no folder goes before.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder, silent():
        for number, (spec, case) in enumerate(wanted):
            place = Path(folder) / str(number)
            place.mkdir()
            began = time.monotonic()
            differs = tuple(_differs(spec, case, settings, place))
            yield Outcome(spec.name, case.name, time.monotonic() - began, differs)


def _refuse_topics(spec: Pipeline, case: Case) -> None:
    """Raises CaseInvalid for a record of no topic of these, or of several that names none."""
    if spec.more_topics is not None:
        raise CaseInvalid.topics_by_pattern(pipeline=spec.name)
    names = [each.name for each in spec.inputs]
    known = {*names} if spec.is_several else {*names, None}
    for topic in (each.topic for batch in case.given for each in batch):
        if topic not in known:
            raise CaseInvalid.topic_wrong(
                pipeline=spec.name, case=case.name, topic=topic, known=", ".join(names)
            )


def _differs(spec: Pipeline, case: Case, settings: Settings, place: Path) -> Iterator[str]:
    partitions = 1 + max((each.partition for batch in case.given for each in batch), default=0)
    spec = of_case(spec, case.dimensions, case.corrections, place)
    scratch = Scratch.of(spec, settings, place, partitions)
    scratch, number, error = _done(scratch, case)
    acts, wanted = case.acts, case.expect.fails
    code = error.code if isinstance(error, SluiceError) else None
    if isinstance(error, Unmet) or code != wanted or number < len(acts):
        act = f"{acts[number - 1].verb} {acts[number - 1].of}".strip()
        expected, got = wanted or "success", error or "success"
        yield f"{number} of {len(acts)}, {act}: expected {expected}, got {got}"
        return
    yield from _counts(scratch, case.expect)
    if case.expect.rows is not None:
        yield from _rows(scratch, case.expect.rows)


def _done(scratch: Scratch, case: Case) -> tuple[Scratch, int, SluiceError | Unmet | None]:
    """The pipeline behind the last act, how many there were, and the error of the last, behind
    which none begins. Raises Stopped.
    """
    batches, corrections = iter(case.given), iter(case.corrections)
    for number, act in enumerate(case.acts, 1):
        if act.takes:
            batch = next(batches, ())
            for topic in scratch.topics:
                send(topic, [each for each in batch if each.topic in {None, topic.name}])
        if act.verb == "correct":
            put(scratch.spec, next(corrections))
        try:
            scratch = acted(scratch, act, f"act-{number}")
        except Stopped:
            raise
        except (SluiceError, Unmet) as error:
            return scratch, number, error
    return scratch, len(case.acts), None


def _counts(scratch: Scratch, expected: Expected) -> Iterator[str]:
    got = scratch.counts()
    for name in COUNTS:
        wanted = getattr(expected, name)
        count = len(wanted) if isinstance(wanted, list) else wanted
        reasons = scratch.reasons(name) if name in {"malformed", "premature"} else []
        if count is not None and count != got[name]:
            yield f"{name}: expected {count}, got {got[name]}"
            yield from (f"  {reason}" for reason in reasons)
        elif isinstance(wanted, list):
            for part, reason in _unlike(wanted, reasons):
                yield f"{name}: no reason has {part!r}, one is: {reason}"


def _unlike(parts: list[str], reasons: list[str]) -> Iterator[tuple[str, str]]:
    """The parts that no reason of their own has, each with one that is left."""
    left = list(reasons)
    unfound = []
    for part in sorted(parts, key=len, reverse=True):
        found = next((reason for reason in left if part in reason), None)
        if found is None:
            unfound.append(part)
        else:
            left.remove(found)
    return zip(unfound, left, strict=True)


def _rows(scratch: Scratch, expected: Sequence[Values]) -> Iterator[str]:
    rows = scratch.rows()
    columns, got = ([], []) if rows is None else (rows.columns, rows.toArrow().to_pylist())
    unknown = sorted({name for row in expected for name in row} - set(columns))
    if unknown:
        yield f"rows: no column {', '.join(unknown)}; the columns are {', '.join(columns)}"
        return
    found = differences(expected, got)
    if found:
        yield f"rows: expected {len(expected)}, got {len(got)}; {len(found)} differ"
        yield from (f"  {line}" for line in table(found))


def prove(job: Prove, _: Pipeline, settings: Settings) -> Iterator[str]:
    """Lines to print: one for each case, and behind one that failed what differs. Raises
    CasesFailed at the end, or CaseInvalid before the first.
    """
    ended = list[Outcome]()
    for each in outcomes(job.pipelines, settings, job.only):
        ended.append(each)
        if job.results:
            with Path(job.results).open("a") as file:
                file.write(json.dumps(each._asdict()) + "\n")
        word = "FAILED" if each.differs else "ok"
        yield f"{word:<6}  {each.pipeline}: {each.case} ({each.seconds:.1f} s)"
        yield from (f"          {line}" for line in each.differs)
    if failed := sum(bool(each.differs) for each in ended):
        raise CasesFailed.some(failed=failed, all_=len(ended))
