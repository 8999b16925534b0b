"""Checks: runs Great Expectations over the rows that have not passed yet, and over the run's state
metrics.

Spark computes the expectations on the rows, which may be millions. pandas computes those on the
metrics, which are one row.

Its import is told that clients of databases and clouds are missing. Statistics, plots and MLlib,
which few expectations use, come at their first use. So the import takes half of the time and of the
memory (bench/NOTES.md).
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import version
from importlib.util import LazyLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

from pyspark.sql import DataFrame as SparkFrame

from spark_jobs.checkpoint.run import Run
from spark_jobs.errors import CheckBroken
from spark_jobs.messages.report import CheckResult
from spark_jobs.messages.withheld import of_check
from spark_jobs.spec import Check, Pipeline
from spark_jobs.spec.analysis import state_checks
from spark_jobs.spec.checks.check import StateMetrics
from spark_jobs.table import history

if TYPE_CHECKING:
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.expectations.expectation import Expectation
    from pandas import DataFrame as PandasFrame

MISSING: Final = {
    # databases, and the clouds in which their tables or its own stores may be
    *("sqlalchemy", "psycopg2", "snowflake", "trino", "pyodbc", "databricks", "pyathena"),
    *("boto3", "botocore", "google.cloud", "google.api_core", "google.auth", "azure"),
    # Spark Connect, whose sessions we do not use; and MLlib, of which it wants one class (below)
    *("pyspark.sql.connect", "pyspark.ml"),
}
LATER: Final = {"scipy", "altair"}
"""It needs them for distributions, and imports them at once."""


def great_expectations() -> ModuleType:
    """The package, imported."""
    finder = _Finder(threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        found = importlib.import_module("great_expectations")
        of_spark: Any = importlib.import_module("great_expectations.compatibility.pyspark")
    finally:
        sys.meta_path.remove(finder)
    if not of_spark.Bucketizer:  # what it has for a missing one is false
        of_spark.Bucketizer = _bucketizer
    return found


def _bucketizer(**options: Any) -> Any:  # MLlib's class, and its options
    from pyspark.ml.feature import Bucketizer  # noqa: PLC0415 - see the module's docstring

    return Bucketizer(**options)


class _Finder(MetaPathFinder):
    """Asked before Python's own. For one thread: what others import meanwhile is theirs."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raises ModuleNotFoundError for what is MISSING."""
        if threading.get_ident() != self._thread:
            return None
        if name in MISSING:
            raise ModuleNotFoundError(f"{name} is left out: {__name__}", name=name)
        if name.partition(".")[0] not in LATER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = LazyLoader(spec.loader)
        return spec


SAMPLE_SIZE = 20
"""Failing values that a result shows at most."""
Suite = Literal["output", "state", "change"]
ID = "sluice_check"
"""The key in an expectation's meta under which its number stands, by which its result is found."""


def warm_up() -> threading.Thread:
    """Import Great Expectations in the background: it takes seconds, and the driver's Python mostly
    waits for Spark.
    """
    thread = threading.Thread(target=_gx, name="import great_expectations", daemon=True)
    thread.start()
    return thread


def check_output(run: Run, since: int | None, version: int | None) -> list[CheckResult]:
    """Run the output checks over the rows that the table's versions after `since`, up to `version`,
    wrote.

    Returns [] if there is nothing to check. Raises CheckBroken for a check that is not an
    expectation.
    """
    if not run.spec.output_checks or since is None or version is None or version <= since:
        return []
    if not history.rows_changed(run.target.table, since, version):
        return []
    rows = run.target.table.written(run.spark, run.spec, since, version)
    try:
        return check_rows(run.spec, rows)
    finally:
        rows.unpersist()


def check_rows(spec: Pipeline, rows: SparkFrame) -> list[CheckResult]:
    """Run the output checks over rows that are not in the table yet. Raises CheckBroken. No result
    has a value where some tell of persons.
    """
    results = _validate("output", spec.output_checks, rows) if spec.output_checks else []
    return [*map(of_check, results)] if spec.inputs.personal else results


def check_change(spec_checks: Iterable[Check], row: dict[str, float]) -> list[CheckResult]:
    """Run the checks of a change over its metrics (messages/change.py)."""
    return _of_one_row("change", spec_checks, row)


def check_metrics(spec: Pipeline, metrics: StateMetrics) -> list[CheckResult]:
    """Run the state checks, the pipeline's and those that every pipeline has.

    Raises CheckBroken as check_output does.
    """
    checks = state_checks.judged_checks(spec, metrics.rows_read)
    return _of_one_row("state", checks, metrics.model_dump())


def refuse_misspelt(checks: Iterable[Check]) -> None:
    """Raise CheckBroken for a check that is not an expectation: no data is needed to tell."""
    _gx()
    for number, check in enumerate(checks):
        _expectation(check, number)


def checks_digest(checks: Iterable[Check]) -> str:
    """Of the checks, and of the Great Expectations that knows them."""
    every = [each.model_dump() for each in checks]
    text = json.dumps([version("great_expectations"), every], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _of_one_row(suite: Suite, checks: Iterable[Check], row: dict[str, Any]) -> list[CheckResult]:
    import pandas as pd  # noqa: PLC0415 - loaded with GX, not before

    results = _validate(suite, checks, pd.DataFrame([row]))
    # There is one row, so the value itself is the most useful to show.
    shown = [
        {} if r.outcome == "broken" else {"observed": _json(row.get(r.column or ""))}
        for r in results
    ]
    return [result.model_copy(update=update) for result, update in zip(results, shown, strict=True)]


def _validate(
    suite: Suite, checks: Iterable[Check], data: SparkFrame | PandasFrame
) -> list[CheckResult]:
    gx = _gx()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    if isinstance(data, SparkFrame):
        source = context.data_sources.add_spark(suite, persist=False)
    else:
        source = context.data_sources.add_pandas(suite)
    batch = (
        source.add_dataframe_asset(suite)
        .add_batch_definition_whole_dataframe(suite)
        .get_batch({"dataframe": data})
    )
    checks = tuple(checks)

    def validated(some: Iterable[int], most: int) -> dict[int, ExpectationValidationResult]:
        wanted = [_expectation(checks[number], number) for number in some]
        form = {"result_format": "SUMMARY", "partial_unexpected_count": most}
        asked = gx.ExpectationSuite(name=suite, expectations=wanted)
        # By id: GX lists expectations that it could not evaluate first.
        return {_id(each): each for each in batch.validate(asked, result_format=form).results}

    found = validated(range(len(checks)), 0)
    # Failing values take a query for each check: only of those that have some. The verdict stays:
    # of a check that asks for the time it may be another one by now.
    failing = [n for n, each in found.items() if not each.success or _unexpected(each)]
    for number, each in (validated(failing, SAMPLE_SIZE) if failing else {}).items():
        if each.success == found[number].success and not _exception(each.exception_info):
            found[number] = each
    return [_result(suite, check, found[number]) for number, check in enumerate(checks)]


def _unexpected(result: ExpectationValidationResult) -> int:
    return int((result.result or {}).get("unexpected_count") or 0)


def _id(result: ExpectationValidationResult) -> int:
    assert result.expectation_config is not None
    number: int = (result.expectation_config.meta or {})[ID]
    return number


def _expectation(check: Check, number: int) -> Expectation:
    from great_expectations.exceptions import ExpectationNotFoundError  # noqa: PLC0415 - takes seconds
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration  # noqa: PLC0415
    from great_expectations.expectations.metadata_types import FailureSeverity  # noqa: PLC0415

    try:
        severity = FailureSeverity(check.severity)
        return ExpectationConfiguration(
            type=check.type, kwargs=check.kwargs, severity=severity, meta={ID: number}
        ).to_domain_obj()
    except (ExpectationNotFoundError, ValueError, TypeError) as error:
        raise CheckBroken.no_expectation(
            check=check.type, kwargs=check.kwargs, error=_why(error)
        ) from None


def _why(error: Exception) -> str:
    """What is wrong with an expectation's arguments, each with its name; else the error's text."""
    from great_expectations.compatibility.pydantic import ValidationError  # noqa: PLC0415 - as above

    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    return "; ".join(
        " ".join([*(str(part) for part in each["loc"] if part != "__root__"), each["msg"]])
        for each in error.errors()
    )


def _result(suite: Suite, check: Check, result: ExpectationValidationResult) -> CheckResult:
    error = _exception(result.exception_info)
    outcome: Literal["passed", "failed", "broken"] = "passed" if result.success else "failed"
    details = result.result or {}
    sample = details.get("partial_unexpected_list") or []
    return CheckResult(
        suite=suite,
        type=check.type,
        column=check.kwargs.get("column") or check.kwargs.get("column_A"),
        severity=check.severity,
        about=check.about,
        outcome="broken" if error else outcome,
        observed=error
        or _json(details.get("observed_value", {"rows": details.get("element_count")})),
        unexpected=_unexpected(result),
        sample=_json(sample[:SAMPLE_SIZE]) if sample else "",
    )


def _exception(info: dict[str, Any] | None) -> str:
    """The message of the exception, if any. Some expectations nest it below a metric's id."""
    parts = [info or {}, *(value for value in (info or {}).values() if isinstance(value, dict))]
    return next(
        (str(part.get("exception_message")) for part in parts if part.get("raised_exception")), ""
    )


def _json(value: object) -> str:
    return json.dumps(value, default=str)


@cache
def _gx() -> Any:  # the module: its type would need the import
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    # The collector would look through what is imported again and again, and all of it stays: a
    # quarter of the import's time.
    gc.disable()
    try:
        return great_expectations()
    finally:
        gc.freeze()
        gc.enable()
