"""Great Expectations' documents of a run: real results, with hostile text in every place that a
record or a spec can reach. What a document may have is written here anew.

GX evaluates on pandas here. tests/spark/test_drain.py has a drain's document.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import logging
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from spark_jobs.checks import expectations
from spark_jobs.contract.checks import Check
from spark_jobs.contract.paths import document_path
from spark_jobs.contract.settings import REPO, VARIABLES, Settings
from spark_jobs.contract.store import opened
from spark_jobs.contract.visible import visible
from spark_jobs.documents.allowed import cleaned
from spark_jobs.documents.kept import KeptResults, is_stored, stored
from spark_jobs.documents.masked import masked, unmasked
from spark_jobs.documents.page import POLICY, framed

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads
PIPELINE, RUN = "departure_delays", "scheduled__2026-03-01T12:00:00+00:00-try1"
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</td></table></main></style><style>*{background:url(//evil)}",
    "<meta http-equiv=refresh content=0;url=//evil>",
    "<iframe srcdoc='<script>x</script>'></iframe><form action=//evil><button>",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "$PARAMETER ${html_success_icon} $$ $x",
    "{{ 7 * 7 }}{% include 'page.j2' %}",
    r"\ue000script\ue001 \x3c \u003c",
    "\ue000script\ue001",
    "\u202eevil\u202c\u2066\x1b[31m\x00\r\n",
    "<!--", "<![CDATA[<b>]]>", "<![x", "</p",
    "[a](javascript:alert(1)) **b** <http://evil>",
)  # fmt: skip
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main",
    "h1", "h2", "h3", "h4", "p", "br", "div", "span", "strong", "em", "code", "pre", "ul", "ol",
    "li", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary",
}  # fmt: skip
ATTRIBUTES = {
    *(("class", each) for each in ("good", "bad", "warned", "value", "note", "bad value")),
    ("hidden", None), ("scope", "col"), ("lang", "en"), ("charset", "utf-8"), ("name", "viewport"),
    ("content", "width=device-width, initial-scale=1"),
}  # fmt: skip


class Read(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.text, self.style = set[str](), set[Any](), "", ""
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, "each element ends"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)
        if tag not in {"br", "meta"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "and none within another"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def harmless(page: str) -> Read:
    """The page, read; it has nothing that could run, load or lead anywhere, or turn text."""
    found = Read(page)
    assert found.tags <= TAGS
    assert {each for each in found.attributes if each[0] != "aria-label"} <= ATTRIBUTES
    assert page.count("<style>") == page.count("<title>") == 1
    assert all(each.isprintable() or each in "\n\t" for each in found.text)
    assert not any(each in found.style for each in ("url", "@import", "//"))
    return found


def validated(suite: Any, checks: list[Check], data: dict[str, list[Any]]) -> Any:
    """What Great Expectations finds in these columns."""
    kept = list[Any]()
    frame = pd.DataFrame(data)
    expectations._validate(suite, checks, frame, kept.append)  # noqa: SLF001 - rows without Spark
    [outcome] = kept
    return outcome


def check(kind: str, **kwargs: Any) -> Check:
    return Check(type=f"expect_{kind}", kwargs=kwargs)


@pytest.fixture(scope="module")
def rows() -> Any:
    """Checks of rows that are hostile, and some numbers: most checks fail, two cannot be evaluated."""
    columns = {"text": [*HOSTILE, None, "fine"], **{each: [1] * 2 for each in HOSTILE[:4]}}
    longest = max(map(len, columns.values()))
    columns["number"] = [float(each) for each in range(longest)]
    columns["nested"] = [{"content_block_type": "page", "x": HOSTILE[0]}] * longest
    columns["exact"] = [Decimal("1.5")] * longest
    columns["time"] = [datetime(2026, 3, 1, tzinfo=UTC)] * longest
    data = {name: [*each, *[None] * (longest - len(each))] for name, each in columns.items()}
    return validated(
        "output",
        [
            check("column_values_to_be_in_set", column="text", value_set=["fine", *HOSTILE[:3]]),
            check("column_values_to_not_be_null", column="text"),
            check("column_values_to_match_regex", column="text", regex="(?<!<)^[a-z]{3}$"),
            check("column_values_to_match_regex", column="text", regex="(<script>"),
            check("column_values_to_match_json_schema", column="text", json_schema={HOSTILE[2]: 1}),
            check("column_distinct_values_to_be_in_set", column="text", value_set=["fine"]),
            check("column_most_common_value_to_be_in_set", column="text", value_set=["fine"]),
            check("column_values_to_be_between", column="number", max_value=3),
            check("column_max_to_be_between", column="number", max_value=3),
            check("column_values_to_be_in_set", column="nested", value_set=[]),
            check("column_values_to_be_in_set", column="exact", value_set=[2]),
            check("column_values_to_be_in_set", column="time", value_set=[2]),
            check("table_columns_to_match_set", column_set=["text", HOSTILE[1]]),
            check("table_row_count_to_equal", value=7),
            *(check("column_values_to_be_null", column=each) for each in HOSTILE[:4]),
        ],
        data,
    )  # fmt: skip


@pytest.fixture(scope="module")
def state() -> Any:
    return validated("state", [check("column_max_to_be_between", column="late_share", max_value=0.05)],
                     {"late_share": [0.0625]})  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(str(tmp_path / "root"), "none:1", tmp_path, "local[1]", "1g")
    assert found.documents == VARIABLES["SLUICE_DOCUMENTS"][1] == "off"
    return found._replace(documents="on", record_bytes="shown")


def kept(settings: Settings, *outcomes: Any, run_id: str = RUN) -> None:
    made = KeptResults(settings, PIPELINE, run_id)
    for each in outcomes:
        made.add(each)
    made.store()


def page(settings: Settings, *, values: bool, run_id: str = RUN) -> str:
    found = stored(opened(settings.root), PIPELINE, run_id, values=values)
    assert found is not None
    return found


def test_whatever_a_value_says_it_is_text_and_a_document_has_no_script_and_no_address(
    settings: Settings, rows: Any, state: Any
) -> None:
    kept(settings, rows, state)
    for values in (True, False):
        file = document_path(settings.root, PIPELINE, RUN, values=values).read_text()
        harmless(file)
        found = harmless(page(settings, values=values))
        for each in HOSTILE[:4]:
            assert each in found.text, "a column of this name"
    file = document_path(settings.root, PIPELINE, RUN, values=True).read_text()
    for each in HOSTILE:
        assert visible(each) in Read(file).text, "as it is, and escaped once"
    assert "('page', '<script>alert(1)</script>')" in Read(file).text, "a struct"


def test_a_document_has_great_expectations_words_and_tables_and_verdicts(
    settings: Settings, rows: Any, state: Any
) -> None:
    kept(settings, rows, state)
    text = " ".join(Read(page(settings, values=False)).text.split())
    for each in (
        f"Great Expectations' document of {PIPELINE}, run {RUN}",
        f"Run Name{RUN}",
        "Status Expectation Observed Value",
        "failed maximum value must be less than or equal to 3.0. 20",
        "failed Must have exactly 7 rows. 21",
        "failed values must never be null. 1 unexpected values found. ≈4.762% of 21 total rows.",
        "failed maximum value must be less than or equal to 0.05. 0.0625",
        "not evaluated values must match this regular expression: (<script>",
    ):
        assert each in text, text
    assert "Traceback" not in text
    assert "traceback" not in text


def test_without_the_right_a_document_has_no_value_of_a_record(
    settings: Settings, state: Any
) -> None:
    secret, name = "secret of a person", "ana"
    failing = validated(
        "output",
        [
            check("column_values_to_be_in_set", column="text", value_set=["fine"]),
            check("column_distinct_values_to_be_in_set", column="text", value_set=["fine"]),
            check("column_most_common_value_to_be_in_set", column="text", value_set=["fine"]),
            check("column_values_to_match_json_schema", column="text", json_schema={}),
            check("column_value_lengths_to_equal", column="text", value=3),
            check("column_quantile_values_to_be_between", column="number",
                  quantile_ranges={"quantiles": [0.5], "value_ranges": [[0, 1]]}),
            check("column_min_to_be_between", column="number", min_value=10),
        ],
        {"text": [secret, name, secret], "number": [4815.5, 162342.5, 162342.5]},
    )  # fmt: skip
    quoted = [str(each.exception_info) + str(each.result) for each in failing.results]
    assert sum(secret in each for each in quoted) > 3, "there is something to leave out"
    kept(settings, failing, state)
    with_values, without = (Read(page(settings, values=each)).text for each in (True, False))
    for each in (secret, name, "162342.5", "Expecting value"):
        assert each not in without
    for each in (secret, name, "162342.5", "Expecting value"):
        assert each in with_values
    assert "Without values of records" in without
    assert "Without values of records" not in with_values
    assert "3 unexpected values found" in without
    assert "4815.5" in without.replace(",", ""), "an observed number, which the page of a run has"
    assert "0.0625" in without, "a metric is no value of a record"


def test_a_value_is_cut_and_says_so_and_so_is_a_list(settings: Settings) -> None:
    long = "<b>" + "x" * 5_000_000
    outcome = validated(
        "output",
        [
            check("column_values_to_be_in_set", column="a", value_set=list(range(9_000))),
            check("column_values_to_match_regex", column="a", regex="y" * 100_000),
        ],
        {"a": [long]},
    )
    kept(settings, outcome)
    for values in (True, False):
        file = document_path(settings.root, PIPELINE, RUN, values=values)
        assert file.stat().st_size < 60_000
        text = harmless(file.read_text()).text
        assert "… (99,500 more characters)" in text
        assert "… more: 8900" in text
        assert ("… (4,999,503 more characters)" in text) is values


SPECIAL = set("<>&\"'`$\\{}")
TEXTS = st.text(st.characters(exclude_categories=()), max_size=80)


@given(TEXTS | st.sampled_from(HOSTILE))
def test_a_masked_value_has_no_special_character_and_becomes_itself(text: str) -> None:
    sent = masked(text)
    assert not set(sent) & SPECIAL
    ways = [sent, repr(sent)[1:-1], *([json.dumps(sent)[1:-1]] if text.isascii() else [])]
    for written in ways:
        assert unmasked(written) == visible(text, 500)


@hypothesis_settings(max_examples=40)
@given(st.recursive(st.none() | st.integers() | st.floats() | TEXTS | st.decimals() | st.binary(),
                    lambda each: st.lists(each) | st.dictionaries(TEXTS, each)))  # fmt: skip
def test_a_masked_value_is_of_plain_types_and_keeps_its_numbers_and_its_keys_are_masked_too(
    value: Any,
) -> None:
    def plain(each: Any) -> bool:
        if isinstance(each, dict):
            return all(plain(part) for pair in each.items() for part in pair)
        if isinstance(each, list):
            return all(map(plain, each))
        if isinstance(each, str):
            return not set(each) & SPECIAL
        return type(each) in {bool, int, float, type(None)}

    assert plain(masked(value))
    assert masked(np.float64(1.5)) == 1.5
    assert type(masked(np.int64(7))) is int
    assert "content_block_type" not in masked({"content_block_type": "page"})


PIECES = st.lists(
    st.sampled_from(
        ("<p>", "</p>", "<td>", "</td>", "<table>", "</table>", "<i class='text-danger'>", "<h5>", "</h5>",
         "<script>", "</script>", "<style>", "</style>", "<svg>", "</svg>", "<a href=//x onclick=y>", "</a>",
         "<!--", "-->", "<![", "<!x", "]]>", "<title>", "</title>", "<br/>", "<plaintext>", "<p", "&lt;", "&")
    )
    | TEXTS,
    max_size=20,
)  # fmt: skip


@given(PIECES)
def test_whatever_markup_comes_what_is_written_is_harmless_and_is_not_changed_again(
    pieces: list[str],
) -> None:
    body = cleaned("".join(pieces))
    harmless(framed("t", "".join(pieces)))
    assert cleaned(body) == body
    assert cleaned(framed("t", body)) == body


@hypothesis_settings(max_examples=12)
@given(st.lists(TEXTS.filter(bool), min_size=1, max_size=30))
def test_great_expectations_shows_any_text_as_it_is(texts: list[str]) -> None:
    from great_expectations.core import (  # noqa: PLC0415 - it takes seconds
        ExpectationSuiteValidationResult,
        ExpectationValidationResult,
    )
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration  # noqa: PLC0415

    from spark_jobs.documents.gx import rendered  # noqa: PLC0415

    results = [
        ExpectationValidationResult(
            success=False,
            expectation_config=ExpectationConfiguration(
                type="expect_column_values_to_be_in_set",
                kwargs={"column": text, "value_set": texts, "batch_id": text},
            ),
            result={
                "element_count": 9,
                "unexpected_count": 9,
                "unexpected_percent": 100.0,
                "observed_value": text,
                "partial_unexpected_list": texts,
                "partial_unexpected_counts": [{"value": each, "count": 1} for each in texts],
                text: {text: texts},
            },
            exception_info={text: {"raised_exception": place % 2 == 0, "exception_message": text}},
        )
        for place, text in enumerate(texts)
    ]
    outcome = ExpectationSuiteValidationResult(
        success=False,
        results=results,
        suite_name=texts[0],
        meta={"great_expectations_version": texts[0], texts[0]: texts},
    )
    shown = rendered(outcome, texts[0], texts[0], values=True)
    text = harmless(framed("t", shown)).text
    for each in texts:
        assert " ".join(visible(each, 500).split()) in " ".join(text.split())


def test_the_policy_allows_one_style_which_is_the_page_s(settings: Settings, state: Any) -> None:
    kept(settings, state)
    style = Read(page(settings, values=False)).style
    found = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{found}'" in POLICY
    assert "default-src 'none'" in POLICY
    assert POLICY.endswith("; sandbox"), "without a script, a form, a window or an origin"
    assert "unsafe" not in POLICY


def test_what_somebody_put_in_the_place_of_a_document_is_cleaned_again(
    settings: Settings, state: Any
) -> None:
    kept(settings, state)
    file = document_path(settings.root, PIPELINE, RUN, values=False)
    file.write_bytes(b"<p onclick=x()>left</p><script>alert(1)</script><![x \xff")
    assert "left" in harmless(page(settings, values=False)).text


def test_values_are_stored_only_where_the_setting_shows_them_and_in_a_folder_of_their_own(
    settings: Settings, rows: Any
) -> None:
    root = opened(settings.root)
    kept(settings, rows)  # a run of that name, from when they were shown
    assert document_path(settings.root, PIPELINE, RUN, values=True).exists()
    kept(settings._replace(record_bytes="hidden"), rows)
    assert is_stored(root, PIPELINE, RUN)
    assert not document_path(settings.root, PIPELINE, RUN, values=True).exists()
    assert page(settings, values=True) == page(settings, values=False)
    kept(settings, rows, run_id="another")
    assert page(settings, values=True, run_id="another") != page(
        settings, values=False, run_id="another"
    )
    for tricky in ("values/another", "../values/another", "values%2Fanother", "another.values"):
        assert stored(root, PIPELINE, tricky, values=False) is None


def test_without_the_setting_nothing_is_kept_stored_or_loaded(settings: Settings) -> None:
    kept(settings._replace(documents="off"), object())
    assert not Path(settings.root).exists()
    script = (
        "import sys; import spark_jobs.documents.kept; "
        "print({'great_expectations', 'pyspark', 'pandas', 'jinja2'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=REPO
    )
    assert done.stdout.strip() == "set()"


@pytest.fixture
def no_folder(settings: Settings) -> None:
    """A file where the folder of the documents should be."""
    Path(settings.root).mkdir()
    (Path(settings.root) / "documents").write_text("")


def test_a_document_that_cannot_be_written_or_made_is_a_warning_and_no_more(
    settings: Settings, state: Any, no_folder: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        kept(settings, state)
        kept(settings, object())
    said = [each.getMessage() for each in caplog.records if each.name.startswith("spark_jobs")]
    assert len(said) == 2
    assert all(f"document of run {RUN} was not stored" in each for each in said)
    assert not is_stored(opened(settings.root), PIPELINE, RUN)


def test_the_title_is_text_too(settings: Settings, state: Any) -> None:
    kept(settings, state, run_id=HOSTILE[5])
    found = harmless(page(settings, values=False, run_id=HOSTILE[5]))
    assert html.unescape(visible(HOSTILE[5])) in found.text
