"""`sluice report` and `sluice show growth`: the pictures without Airflow."""

import json
import re
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from spark_jobs.cli import app
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Report, StateUse
from spark_jobs.pages.chart import CELLS, blocks
from spark_jobs.runs.run_record import append_row
from tests.harness import roots
from tests.harness.roots import ROOT

NAME = "departure_delays"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAMPLE = "<script>secret</script>\u202e"


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    for place in range(4):
        of_state = {"suite": "state", "severity": "warning", "observed": "0.01"}
        kind = "expect_column_values_to_be_between"
        check = roots.check("passed", "late_share", type=kind, sample=SAMPLE, **of_state)
        highest = check.model_copy(
            update={"suite": "output", "type": "expect_column_max_to_be_between",
                    "column": "carrier", "observed": '"a person"'}
        )  # fmt: skip
        report = Report(
            pipeline=NAME,
            run_id=f"run<{place}>",
            status="succeeded",
            started_at=NOON + timedelta(hours=place),
            ended_at=NOON + timedelta(hours=place, minutes=1),
            watermark=NOON,
            account=Account(read=100, late=place, rows_out=10 * place),
            state=StateUse(rows=1000 * (place + 1)),
            checks=(check, highest),
            seconds={"query": 1.0},
        )
        append_row(report, str(folder))
    return folder


def sluice(root: Path, *words: str, width: int | None = None) -> Result:
    env = {"SLUICE_ROOT": str(root), "COLUMNS": str(width) if width else None, "TERM": "dumb"}
    return CliRunner().invoke(app, list(words), env=env)


class Loads(HTMLParser):
    """What a browser would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.charts: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.charts += [
            json.loads(value) for name, value in attrs if value and name == "data-chart"
        ]
        if tag in {"iframe", "object", "embed", "link", "img", "base", "form"}:
            self.found.append((tag, ""))
        self.found += [
            (tag, name)
            for name, value in attrs
            if name.startswith("on")
            or (name in {"href", "src"} and not (value or "").startswith("#"))
        ]


def test_the_report_is_one_file_that_loads_nothing_and_runs_its_charts_alone_without_failing_values(
    root, tmp_path
):
    file = tmp_path / "r.html"
    done = sluice(root, "report", NAME, "--html", str(file))
    assert done.exit_code == 0, done.output
    text = file.read_text()
    page = Loads()
    page.feed(text)
    assert page.found == []
    names = ["run<0>", "run<1>", "run<2>", "run<3>"]
    assert [each["names"] for each in page.charts] == [names] * 4, "account, lag, late, phases"
    [policy] = re.findall(r'content-security-policy" content="([^"]*)"', text)
    for kind in ("script", "style"):
        [inline] = re.findall(f"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = b64encode(sha256(inline.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy, "it runs, and nothing else does"
    assert "unsafe" not in policy
    text = re.sub(r"<script>.*</script>", "", text, flags=re.DOTALL)
    assert "run&lt;3&gt;" in text
    assert "late_share" in text
    assert '<td class="n">0.05</td>' in text, "the bound, with its digits"
    assert "secret" not in text
    assert "expect_column_max_to_be_between(carrier)" in text
    assert "a person" not in text, "what a check of rows observed is a row's value"
    assert '">0.01</td>' in text or "<td>0.01</td>" in text, "a metric is none"
    assert "no drain has accounted for a batch yet" in text, "why there is no coverage"
    assert ("http://" in text, "https://" in text) == (False, False)
    assert list(tmp_path.iterdir()) == [file]


def test_the_report_of_a_pipeline_that_never_ran_is_written_and_makes_no_root(tmp_path):
    done = sluice(tmp_path / ROOT, "report", NAME, "--html", str(tmp_path / "r.html"))
    assert done.exit_code == 0, done.output
    assert "no runs" in (tmp_path / "r.html").read_text()
    assert not (tmp_path / ROOT).exists()


def test_a_report_that_cannot_be_written_is_refused_in_words(root, tmp_path):
    done = sluice(root, "report", NAME, "--html", str(tmp_path / "none" / "r.html"))
    assert done.exit_code == 2
    assert "cannot be written" in done.output
    assert "Traceback" not in done.output


def test_growth_is_a_line_of_blocks_oldest_left_with_its_least_most_and_last(root):
    shown = sluice(root, "show", "growth", NAME, width=140).stdout
    [state, written, read] = [line for line in shown.splitlines() if "least" in line]
    assert state == "state   ▃▅▇█  least 1,000, most 4,000, last 4,000 rows"
    assert written.split()[1] == "▁▄▆█", "0 is no height"
    assert read.endswith("████  least 100, most 100, last 100 records")


def test_the_report_in_a_terminal_has_the_charts_of_the_page_as_lines(root, tmp_path):
    done = sluice(root, "report", NAME)
    assert done.exit_code == 0, done.output
    told = done.stdout.splitlines()
    assert "  accepted  ████  least 97, most 100, last 97 records" in told
    assert "  late      ▁▄▆█  least 0, most 3, last 3 records" in told
    assert not any("malformed" in line for line in told), "only zeros"
    assert "  check: 5.00 %" in told
    assert [*tmp_path.iterdir()] == []


def test_growth_for_programs_has_numbers_and_no_bars(root):
    shown = sluice(root, "show", "growth", "--format", "csv").stdout
    assert shown.splitlines()[0] == "pipeline,state_rows,rows_out,read,run_id,kind,started_at"
    assert "█" not in shown


def test_of_more_points_than_cells_each_block_is_the_largest_of_its_neighbours():
    assert blocks([0] * 999 + [1]) == "▁" * (CELLS - 1) + "█"
    assert blocks([*range(1, 8)]) == "".join(sorted(blocks([*range(1, 8)])))
    assert blocks([1, None, 10**9]) == "▂ █", (
        "what is not nothing is seen; what is not known is not"
    )
