"""GX: Great Expectations' pages of results, rendered of values that are masked, and cleaned.

Imported only where a run has Great Expectations loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view.view import DefaultJinjaPageView
from jinja2 import ChoiceLoader, FileSystemLoader

from spark_jobs.documents.allowed import cleaned
from spark_jobs.documents.masked import masked, masked_scalar, unmasked

VIEWS: Final = Path(__file__).parent / "views"
COUNTS: Final = frozenset(
    {"element_count", "unexpected_count", "unexpected_percent", "missing_count", "missing_percent"}
    | {"unexpected_percent_total", "unexpected_percent_nonmissing"}
)
"""Of a result, what is no value of a record."""
OF_THE_TABLE: Final = frozenset(
    {"expect_table_columns_to_match_set", "expect_table_columns_to_match_ordered_list"}
)
"""Checks that observe names of columns."""
NOT_QUOTED: Final = "The page of the run has the error, which may quote a value."


class _PageRenderer(ValidationResultsPageRenderer):
    def _determine_page_title(self, *_: Any, **__: Any) -> str:
        """Of its own it would parse the name of the run as a time. The document has its title."""
        return ""


def rendered(
    outcome: ExpectationSuiteValidationResult, pipeline: str, run_id: str, *, values: bool
) -> str:
    """Markup of allowed tags. Without `values`, none of a record's is in it.

    Raises whatever Great Expectations raises.
    """
    safe = ExpectationSuiteValidationResult(
        success=bool(outcome.success),
        results=[_masked_result(each, values=values) for each in outcome.results],
        suite_name=masked(outcome.suite_name),
        statistics=masked(outcome.statistics),
        meta={
            "great_expectations_version": masked(outcome.meta["great_expectations_version"]),
            "run_id": {"run_name": masked(run_id), "run_time": _loaded_at(outcome)},
            "batch_spec": {"data_asset_name": masked(pipeline)},
        },
    )
    view: Any = DefaultJinjaPageView()  # it has no types
    view.env.loader = ChoiceLoader([FileSystemLoader(VIEWS), view.env.loader])
    with _quiet():
        markup = view.render(_PageRenderer().render(safe), template="sections.j2")
    return cleaned(markup, unmasked)


def _loaded_at(outcome: ExpectationSuiteValidationResult) -> str:
    """When Great Expectations was given the data, in its own form; empty where it does not say."""
    return str(masked(outcome.meta.get("batch_markers", {}).get("ge_load_time", "")))


def _masked_result(
    result: ExpectationValidationResult, *, values: bool
) -> ExpectationValidationResult:
    config = result.expectation_config
    assert config is not None
    own = {name: each for name, each in config.kwargs.items() if name != "batch_id"}
    return ExpectationValidationResult(
        success=bool(result.success),
        expectation_config=ExpectationConfiguration(type=config.type, kwargs=masked(own)),
        result=_details(config.type, result.result or {}, values=values),
        exception_info=_exception(result.exception_info or {}, values=values),
    )


def _details(kind: str, found: dict[str, Any], *, values: bool) -> dict[str, Any]:
    """Of a result what is shown. Great Expectations renders failing values only with a count."""
    shown = {name: masked(each) for name, each in found.items() if name in COUNTS}
    if "unexpected_percent" not in shown:
        shown.pop("unexpected_count", None)  # it would look for the other, and find an error
    observed = found.get("observed_value")
    if values or kind in OF_THE_TABLE or isinstance(masked_scalar(observed), int | float):
        shown["observed_value"] = masked(observed)
    if values and "unexpected_count" in found:
        shown["unexpected_count"] = masked(found["unexpected_count"])
        failing = found.get("partial_unexpected_list") or []
        shown["partial_unexpected_list"] = [masked_scalar(each) for each in failing]
        shown["partial_unexpected_counts"] = [
            {"value": masked_scalar(each["value"]), "count": masked(each["count"])}
            for each in found.get("partial_unexpected_counts") or []
            if isinstance(each, dict) and {"value", "count"} <= each.keys()
        ]
    return shown


def _exception(info: dict[str, Any], *, values: bool) -> dict[str, Any]:
    """Without the traceback. Some expectations nest the error below a metric's id."""
    parts = [info, *(each for each in info.values() if isinstance(each, dict))]
    raised = [each for each in parts if each.get("raised_exception")]
    message = str(raised[0].get("exception_message")) if raised and values else NOT_QUOTED
    return {
        "raised_exception": bool(raised),
        "exception_message": masked(message) if raised else None,
        "exception_traceback": "" if raised else None,
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Great Expectations logs a traceback for a cell that it cannot render, and goes on."""
    logger = logging.getLogger("great_expectations.render")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
