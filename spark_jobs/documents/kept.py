"""Kept: Great Expectations' results of a run, and the documents that are stored of them.

A run's verdict never depends on them: what goes wrong here is a warning in the log.
"""

from __future__ import annotations

import logging
from html import escape
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.contract.files import write_whole
from spark_jobs.contract.paths import document_path, older_document_path
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.store import is_remote
from spark_jobs.contract.visible import visible
from spark_jobs.documents.page import framed

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult
    from upath import UPath

LOG = logging.getLogger(__name__)
SUITES: Final = {
    "output": "The rows",
    "state": "The state and the account",
    "change": "The change",
}
ROWS: Final = "output"
"""The suite of which the values are a record's. The others have the metrics of a run."""
WITHOUT_VALUES: Final = (
    "Without values of records: failing values are left out, and what was observed where it is no "
    "number."
)


class KeptResults:
    """The results of one run, in the order in which they came."""

    def __init__(self, settings: Settings, pipeline: str, run_id: str) -> None:
        self._settings, self._pipeline, self._run_id = settings, pipeline, run_id
        self._outcomes: list[ExpectationSuiteValidationResult] = []

    def add(self, outcome: ExpectationSuiteValidationResult) -> None:
        """Keep a suite's results, if documents are wanted."""
        if self._settings.documents == "on":
            self._outcomes.append(outcome)

    def store(self) -> None:
        """Write the documents of what was kept, if anything was. Raises nothing.

        The one with values is written only if SLUICE_RECORD_BYTES is `shown`, and before the other,
        whose presence says that there is a document.
        """
        if not self._outcomes:
            return
        try:
            if self._settings.record_bytes == "shown":
                self._write(values=True)
            else:  # a run of that name may have left one, when they were shown
                self._path(values=True).unlink(missing_ok=True)
            self._write(values=False)
        except Exception as error:  # noqa: BLE001 - the run has its verdict, whatever GX or the store threw
            LOG.warning(
                "%s: Great Expectations' document of run %s was not stored: %s: %s",
                self._pipeline,
                self._run_id,
                type(error).__name__,
                visible(str(error), 200),
            )

    def _write(self, *, values: bool) -> None:
        path = self._path(values=values)
        if not is_remote(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        page = framed(_title(self._pipeline, self._run_id), self._body(values=values))
        # ASCII with references, whatever encoding this machine writes text in.
        write_whole(path, page.encode("ascii", "xmlcharrefreplace").decode())

    def _path(self, *, values: bool) -> UPath:
        return document_path(self._settings.root, self._pipeline, self._run_id, values=values)

    def _body(self, *, values: bool) -> str:
        from spark_jobs.documents.gx import rendered  # noqa: PLC0415 - it loads Great Expectations

        parts = [f"<h1>{escape(_title(self._pipeline, self._run_id))}</h1>"]
        if not values:
            parts.append(f'<p class="note">{WITHOUT_VALUES}</p>')
        for outcome in self._outcomes:
            heading = SUITES.get(outcome.suite_name, outcome.suite_name)
            shown = values or outcome.suite_name != ROWS
            parts += [
                f"<h2>{escape(heading)}</h2>",
                rendered(outcome, self._pipeline, self._run_id, values=shown),
            ]
        return "".join(parts)


def is_stored(root: UPath, pipeline: str, run_id: str) -> bool:
    """Whether the run has a document."""
    found: Any = document_path(str(root), pipeline, run_id, values=False).exists()
    return bool(found) or _older(root, pipeline, run_id, values=False) is not None


def stored(root: UPath, pipeline: str, run_id: str, *, values: bool) -> str | None:
    """The run's document as a page, cleaned again: a file may have been changed. With values, if
    they are wanted and stored. None without a document.
    """
    for wanted in (True, False) if values else (False,):
        try:
            content = document_path(str(root), pipeline, run_id, values=wanted).read_bytes()
        except FileNotFoundError:
            older = _older(root, pipeline, run_id, values=wanted)
            if older is None:
                continue
            content = older
        return framed(_title(pipeline, run_id), content.decode("utf-8", "replace"))
    return None


def _older(root: UPath, pipeline: str, run_id: str, *, values: bool) -> bytes | None:
    """The document that an older Sluice stored, if it is this run's: others had the same name."""
    path = older_document_path(str(root), pipeline, run_id, values=values)
    if not path.exists():
        return None
    content: bytes = path.read_bytes()
    title = escape(_title(pipeline, run_id)).encode("ascii", "xmlcharrefreplace")
    return content if b"<h1>" + title + b"</h1>" in content else None


def _title(pipeline: str, run_id: str) -> str:
    return f"Great Expectations' document of {pipeline}, run {visible(run_id)}"
