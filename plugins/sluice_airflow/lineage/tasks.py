"""What each task of a pipeline tells OpenLineage, from what it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, Literal

from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.facet_v2 import data_quality_assertions_dataset as assertions

from sluice_airflow.lineage.datasets import Datasets
from sluice_airflow.lineage.facets import (
    CHANGE,
    PUBLICATION,
    RUN,
    ChangeFacet,
    PublicationFacet,
    SluiceRunFacet,
)
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Report

SEVERITIES = {"critical": "error", "warning": "warn", "info": "info"}
"""Sluice's severity -> the specification's example of it."""

Told = OperatorLineage[Any, Any]


def of_nothing() -> Told:
    """What a task tells that does not know yet what it reads."""
    return OperatorLineage()


def of_drain(data: Datasets, report: Report | None) -> Told:
    """From the topic into the table and, of rejected records, into the ops tables."""
    if report is None:
        return OperatorLineage(inputs=data.topic(None), outputs=[data.table(None)])
    rows = report.account.rows_out
    return OperatorLineage(
        inputs=data.topic(report),
        outputs=[data.table(report.table_version, rows), *data.rejected(report)],
        run_facets={RUN: _run(report)},
    )


def of_stage(data: Datasets, repair_id: str, report: Report | None) -> Told:
    """From the topic, late records and the table that they are compared with, to staged rows."""
    if report is None:
        return OperatorLineage(
            inputs=[*data.topic(None), data.table_read(None)],
            outputs=[data.staged(repair_id, None)] if repair_id else [],
        )
    facets: dict[str, Any] = {RUN: _run(report)}
    if report.change is not None:
        facets[CHANGE] = ChangeFacet(
            repairId=report.repair_id, change=report.change.model_dump(mode="json")
        )
    return OperatorLineage(
        inputs=[*data.topic(report), *data.late_read(report), data.table_read(None)],
        outputs=[data.staged(report.repair_id, report.account.rows_out)],
        run_facets=facets,
    )


def of_swap(data: Datasets, done: dict[str, Any] | None) -> Told:
    """From the staged rows into the table. `done` is what the swap has returned."""
    if done is None:
        return OperatorLineage(outputs=[data.table(None)])
    counts = {name: done[name] for name in ("added", "removed", "changed", "merged")}
    return OperatorLineage(
        inputs=[data.staged_read(done["repair_id"])],
        outputs=[data.swapped(done["table_version"], counts["added"] + counts["changed"])],
        run_facets={CHANGE: ChangeFacet(repairId=done["repair_id"], change=counts)},
    )


def of_checks(data: Datasets, suite: Literal["output", "state", "change"], report: Report) -> Told:
    """The results of one suite, about the version of the table or the staged rows."""
    facet = assertions.DataQualityAssertionsDatasetFacet(
        assertions=[_assertion(check) for check in report.checks if check.suite == suite]
    )
    read = (
        data.staged_read(report.repair_id, dataQualityAssertions=facet)
        if report.repair_id
        else data.table_read(report.table_version, dataQualityAssertions=facet)
    )
    return OperatorLineage(inputs=[read])


def of_publication(data: Datasets, told: Sequence[Mapping[str, Any]]) -> Told:
    """From the table into the published one. `told` are the events of consumers, in their order."""
    if not told:
        return OperatorLineage()
    event = told[-1]
    accounts = (Account.model_validate(each["account"]) for each in told)
    facet = PublicationFacet(
        runId=event["run_id"],
        generation=event["generation"],
        tableVersion=event["table_version"],
        tableVersionBefore=told[0]["table_version_before"],
        account=reduce(add, accounts).model_dump(),
        decisions=[
            {"check": made["check"], "by": made["by"]}
            for each in told
            for made in each["decisions"]
        ],
        repairs=[made["repair_id"] for each in told for made in each["repairs"]],
    )
    return OperatorLineage(
        inputs=[data.table_read(event["table_version"])],
        outputs=[data.published()] if event["published_table"] else [],
        run_facets={PUBLICATION: facet},
    )


def _run(report: Report) -> SluiceRunFacet:
    return SluiceRunFacet(
        kind=report.kind,
        runId=report.run_id,
        status=report.status,
        problem=report.problem.code if report.problem else None,
        generation=report.generation,
        batches=list(report.batches),
        watermark=report.watermark.isoformat() if report.watermark else None,
        account=report.account.model_dump(),
        seconds=report.seconds,
    )


def _assertion(check: CheckResult) -> assertions.Assertion:
    """Without the failing values. What was observed goes along where it is a metric's number."""
    numbers = check.suite != "output" and check.outcome != "broken"
    return assertions.Assertion(
        assertion=check.type,
        success=check.outcome == "passed",
        column=check.column if check.suite == "output" else None,
        severity=SEVERITIES[check.severity],
        name=check.name,
        description=check.about or None,
        actual=check.observed if numbers and check.observed else None,
        params={"outcome": check.outcome, "unexpected": check.unexpected},
    )
