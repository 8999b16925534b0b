"""Great Expectations as a run imports it, against the same as its guide does."""

import json
import sys
from functools import cache

from tests.harness import every_expectation
from tests.harness.every_expectation import EVERY
from tests.harness.long_form import long_form
from tests.harness.ran import ran
from tests.harness.turns import alike

pytestmark = alike("what a process loads")

NOT_BY_PANDAS = {
    "expect_column_min_to_be_between",
    "expect_column_type_to_be",
    "expect_column_values_to_match_like_pattern",
    "expect_column_values_to_match_like_pattern_list",
    "expect_column_values_to_not_match_like_pattern",
    "expect_column_values_to_not_match_like_pattern_list",
    "expect_query_results_to_match_comparison",
    "expect_table_row_count_to_equal_other_table",
    "unexpected_rows_expectation",
}
"""What pandas cannot judge, or not with these arguments."""


@cache
def found(how):
    return json.loads(
        ran(sys.executable, every_expectation.__file__, how, "pandas", check=True).stdout
    )


def test_every_expectation_is_known_and_judges():
    assert {*found("light")["known"]} == {*EVERY}
    raised = {
        name
        for name, result in found("light")["found"].items()
        if '"raised_exception": true' in json.dumps(result)
    }
    assert raised == NOT_BY_PANDAS


@long_form
def test_every_expectation_finds_the_same_as_with_all_that_the_package_imports():
    """All fields of its results, and the text of what could not be evaluated. On Spark they were
    compared once (bench/NOTES.md).
    """
    assert found("light") | {"loaded": None} == found("plain") | {"loaded": None}


def test_a_run_imports_no_client_of_a_database_or_cloud():
    assert found("light")["loaded"] == []
    assert found("light")["behind"] == [0.5, "sqlalchemy"]
