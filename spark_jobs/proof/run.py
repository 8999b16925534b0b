"""Run: a case through real drains, a run for each of its batches, in a root of its own.

The spec is as it is, but for its topic, and the checks, which judge many records and not three.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F

from spark_jobs.errors import CaseInvalid
from spark_jobs.launch.session import session
from spark_jobs.log import LOGGER
from spark_jobs.messages.report import Problem
from spark_jobs.ops import ops_tables
from spark_jobs.proof.cases import Case, Expected, cases_of
from spark_jobs.proof.compare import differences
from spark_jobs.proof.records import CaseTopic, send, topic_of
from spark_jobs.proof.show import table
from spark_jobs.registry import find as registry
from spark_jobs.root.path_forms import spark_url
from spark_jobs.root.paths import Paths
from spark_jobs.runs.drain import drain
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.spec.state_metrics import StateMetrics
from spark_jobs.storage import delta
from spark_jobs.values.own_columns import DELETED, is_own

if TYPE_CHECKING:
    from spark_jobs.proof.compare import Values

COUNTS = tuple(name for name in Expected.model_fields if name not in {"rows", "fails"})


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
    for spec, _ in wanted:
        if len(spec.topic.each) > 1:
            raise CaseInvalid.several_topics(pipeline=spec.name)
    # Spark has the state of all of them in memory until it ends: no folder goes before.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder, _silent():
        for number, (spec, case) in enumerate(wanted):
            place = Path(folder) / str(number)
            place.mkdir()
            began = time.monotonic()
            differs = tuple(_differs(spec, case, settings, place))
            yield Outcome(spec.name, case.name, time.monotonic() - began, differs)


@contextmanager
def _silent() -> Iterator[None]:
    """Nobody reads the lines of these runs."""
    logger = logging.getLogger(LOGGER)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _differs(spec: Pipeline, case: Case, settings: Settings, place: Path) -> Iterator[str]:
    """The lines of what is not as expected."""
    partitions = 1 + max((each.partition for batch in case.given for each in batch), default=0)
    topic = topic_of(spec.topic, place / "records", partitions)
    changes: dict[str, Any] = {"topic": topic, "close_after": None}
    changes |= {"output_checks": (), "state_checks": ()}
    changes |= {"state_checks_off": tuple(StateMetrics.model_fields)}
    spec = spec.model_copy(update=changes)
    settings = settings._replace(root=str(place / "root"), next="off", locks="one-host")
    runs, problem = _drained(spec, topic, case, settings)
    code = problem.code if problem else None
    if code != case.expect.fails or runs < len(case.given):
        wanted, got = case.expect.fails or "success", problem.error() if problem else "success"
        yield f"run {runs} of {len(case.given)}: expected {wanted}, got {got}"
        return
    paths = Paths(settings.root, spec)
    yield from _counts(paths, case.expect)
    if case.expect.rows is not None:
        yield from _rows(spec, paths, case.expect.rows)


def _drained(
    spec: Pipeline, topic: CaseTopic, case: Case, settings: Settings
) -> tuple[int, Problem | None]:
    """How many runs there were, and the problem of the last, behind which none begins. Raises
    Stopped.
    """
    number = 0
    for number, batch in enumerate(case.given, 1):
        send(topic, batch)
        problem = drain(spec, settings, f"batch-{number}").problem
        if problem and problem.code == "STOPPED":
            raise problem.error()
        if problem:
            return number, problem
    return number, None


def _counts(paths: Paths, expected: Expected) -> Iterator[str]:
    sums = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in COUNTS)
    [got] = ops_tables.query(paths.root, "batches", f"SELECT {sums} FROM batches").to_pylist()
    for name in COUNTS:
        wanted = getattr(expected, name)
        count = len(wanted) if isinstance(wanted, list) else wanted
        reasons = _reasons(paths, name) if name in {"malformed", "premature"} else []
        if count is not None and count != got[name]:
            yield f"{name}: expected {count}, got {got[name]}"
            yield from (f"  {reason}" for reason in reasons)
        elif isinstance(wanted, list):
            for part, reason in _unlike(wanted, reasons):
                yield f"{name}: no reason has {part!r}, one is: {reason}"


def _reasons(paths: Paths, kind: str) -> list[str]:
    sql = f"SELECT reason FROM quarantine WHERE kind = '{kind}' ORDER BY partition, \"offset\""
    return [row["reason"] for row in ops_tables.query(paths.root, "quarantine", sql).to_pylist()]


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


def _rows(spec: Pipeline, paths: Paths, expected: Sequence[Values]) -> Iterator[str]:
    columns, got = _table(spec, paths)
    unknown = sorted({name for row in expected for name in row} - set(columns))
    if unknown:
        yield f"rows: no column {', '.join(unknown)}; the columns are {', '.join(columns)}"
        return
    found = differences(expected, got)
    if found:
        yield f"rows: expected {len(expected)}, got {len(got)}; {len(found)} differ"
        yield from (f"  {line}" for line in table(found))


def _table(spec: Pipeline, paths: Paths) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns that consumers see, and the rows."""
    if not delta.is_table(paths.table):
        return [], []
    spark = session(spec.name, spec.state, str(paths.root))
    rows = spark.read.format("delta").load(spark_url(paths.table))
    if DELETED in rows.columns:
        rows = rows.where(~F.col(DELETED))
    columns = [name for name in rows.columns if not is_own(name)]
    return columns, rows.select(*columns).toArrow().to_pylist()
