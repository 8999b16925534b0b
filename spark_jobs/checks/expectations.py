"""Checks: Great Expectations over the rows that have not been judged yet, and over the run's state metrics.

Spark computes the expectations on the rows, where there may be millions; pandas those on the metrics, which are one row.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame

from spark_jobs.contract import state_checks
from spark_jobs.contract.checks import Check
from spark_jobs.contract.errors import CheckBroken
from spark_jobs.contract.report import CheckResult
from spark_jobs.contract.state_metrics import StateMetrics
from spark_jobs.contract.store import spark_url
from spark_jobs.run import Run

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult

SAMPLE = 20


Suite = Literal["output", "state"]


def warm_up() -> threading.Thread:
    """Import Great Expectations in the background: it takes seconds, and the driver's Python mostly waits for Spark."""
    thread = threading.Thread(target=_gx, name="import great_expectations", daemon=True)
    thread.start()
    return thread


def judge_output(run: Run, since: int | None, version: int | None) -> list[CheckResult]:
    """The pipeline's output checks over the rows of the table's versions after `since` up to `version`; without it none."""
    if not run.spec.output_checks or since is None or version is None or version <= since:
        return []
    table = run.spark.read.format("delta")
    if run.spec.output_mode == "complete":  # the last batch's rows are the whole result
        rows = table.option("versionAsOf", version).load(spark_url(run.target.table))
    else:
        changes = table.option("readChangeFeed", "true").option("startingVersion", since + 1).option("endingVersion", version)
        rows = changes.load(spark_url(run.target.table)).where("_change_type IN ('insert', 'update_postimage')")
    rows = rows.drop("_change_type", "_commit_version", "_commit_timestamp").cache()
    try:
        return _judge("output", run.spec.output_checks, rows)
    finally:
        rows.unpersist()


def judge_state(run: Run, metrics: StateMetrics) -> list[CheckResult]:
    """The pipeline's state checks, and those that every pipeline has, over the state metrics."""
    import pandas as pd  # noqa: PLC0415 - loaded with GX, not before

    row = metrics.model_dump()
    results = _judge("state", state_checks.state_checks_of(run.spec), pd.DataFrame([row]))
    # Of one row, the value itself is what a person wants to see.
    shown = [{} if r.outcome == "broken" else {"observed": _json(row.get(r.column or ""))} for r in results]
    return [result.model_copy(update=update) for result, update in zip(results, shown, strict=True)]


def _judge(suite: Suite, checks: Iterable[Check], data: DataFrame | Any) -> list[CheckResult]:
    gx = _gx()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    if isinstance(data, DataFrame):
        source = context.data_sources.add_spark(suite, persist=False)
    else:
        source = context.data_sources.add_pandas(suite)
    batch = source.add_dataframe_asset(suite).add_batch_definition_whole_dataframe(suite).get_batch({"dataframe": data})
    checks = tuple(checks)
    wanted = gx.ExpectationSuite(name=suite)
    for check in checks:
        wanted.add_expectation(_expectation(check))
    outcome: ExpectationSuiteValidationResult = batch.validate(
        wanted, result_format={"result_format": "SUMMARY", "partial_unexpected_count": SAMPLE}
    )
    return [_result(suite, check, result) for check, result in zip(checks, outcome.results, strict=True)]


def _expectation(check: Check) -> Any:
    from great_expectations.exceptions import ExpectationNotFoundError  # noqa: PLC0415 - takes seconds
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration  # noqa: PLC0415
    from great_expectations.expectations.metadata_types import FailureSeverity  # noqa: PLC0415

    try:
        severity = FailureSeverity(check.severity)
        return ExpectationConfiguration(type=check.type, kwargs=check.kwargs, severity=severity).to_domain_obj()
    except (ExpectationNotFoundError, ValueError, TypeError) as error:
        raise CheckBroken(f"{check.type} with {check.kwargs} is not an expectation: {str(error).splitlines()[0]}.",
                          "Correct the check in the pipeline's spec.") from None


def _result(suite: Suite, check: Check, result: ExpectationValidationResult) -> CheckResult:
    broken = _exception(result.exception_info)
    details = result.result or {}
    sample = details.get("partial_unexpected_list") or []
    return CheckResult(
        suite=suite, type=check.type, column=check.kwargs.get("column") or check.kwargs.get("column_A"),
        severity=check.severity, about=check.about,
        outcome="broken" if broken else "passed" if result.success else "failed",
        observed=broken or _json(details.get("observed_value", {"rows": details.get("element_count")})),
        unexpected=int(details.get("unexpected_count") or 0),
        sample=_json(sample[:SAMPLE]) if sample else "",
    )


def _exception(info: dict[str, Any] | None) -> str:
    """GX nests the exception below a metric's id, or not, by expectation."""
    found = [info or {}, *(value for value in (info or {}).values() if isinstance(value, dict))]
    return next((str(part.get("exception_message")) for part in found if part.get("raised_exception")), "")


def _json(value: object) -> str:
    return json.dumps(value, default=str)


def _gx() -> Any:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx  # noqa: PLC0415 - takes seconds, and runs that only plan need none

    return gx
