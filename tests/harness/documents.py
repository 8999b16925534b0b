"""Great Expectations' document of a run, held against the run's report."""

from __future__ import annotations

import html
import re

from spark_jobs.contract.paths import document_path
from spark_jobs.contract.report import Report
from tests.harness.scene import Scene

OBSERVED = re.compile(r"(≈?[\d.]+% (unexpected|not null)|--)$")
"""In Great Expectations' words; -- of a metric that is null."""


def assert_document(made: Scene, report: Report) -> None:
    """It has a line for each check of the report: its column, whether it has passed, and what was
    observed. Values of records are not stored without the setting.
    """
    name, run_id = made.spec.name, report.run_id
    path = document_path(made.settings.root, name, run_id, values=False)
    assert not document_path(made.settings.root, name, run_id, values=True).exists()
    page = path.read_text()
    failed = [check for check in report.checks if check.outcome != "passed"]
    assert page.count('<span class="bad">failed</span>') == len(failed)
    rows = re.findall(
        r"<tr>\s*<td><div>\s*<span>\s*<span class=\"good\">passed.*?</tr>", page, re.DOTALL
    )
    assert len(rows) == len(report.checks) - len(failed) > 0, "a line for each"
    text = [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", row)).split()) for row in rows]
    assert all(OBSERVED.search(row) for row in text), text
    unknown = [check for check in report.checks if check.observed == "null"]
    assert sum(row.endswith("--") for row in text) == len(unknown), text
    for suite in {check.suite for check in report.checks}:
        assert f"Expectation Suite:</span> {suite}<br>" in page
    for check in report.checks:
        assert check.column is None or check.column in html.unescape(page), check
    for part in ("<script", "<link", " src=", " href=", "http"):
        assert part not in page
