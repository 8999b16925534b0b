"""The search among the groups of a batch that fails: what it says of them, and how it goes on."""

from bisect import bisect_left

import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.runs.failures.group_search import MOST_TRIALS, Search, Span
from tests.harness.long_form import examples

OVERFLOW = DataError("ARITHMETIC_OVERFLOW", "overflow", "")


def spans(groups: list[int], bucket: int) -> list[Span]:
    """The first and last of those of one bucket, as `bucket` values are."""
    found: dict[int, list[int]] = {}
    for group in groups:
        found.setdefault(group // bucket, []).append(group)
    return [(each[0], each[-1]) for each in found.values()]


def searched(groups: set[int], bad: set[int], bucket: int) -> set[int]:
    """What one search finds where any of the bad groups fails, and no other."""
    ordered, wrong, trials = sorted(groups), sorted(bad), 0

    def error_of(first: int, last: int) -> DataError | None:
        nonlocal trials
        trials += 1
        at = bisect_left(wrong, first)
        return OVERFLOW if at < len(wrong) and wrong[at] <= last else None

    def groups_of(first: int, last: int) -> list[Span]:
        return [(each, each) for each in ordered if first <= each <= last]

    found = [
        group for group, _ in Search(error_of, groups_of).failing(spans(ordered, bucket), OVERFLOW)
    ]
    assert trials <= MOST_TRIALS
    assert len(found) == len({*found})
    return {*found}


def rounds(groups: set[int], bad: set[int], bucket: int) -> int:
    """Searches until the batch passes, each without what the earlier ones have found."""
    number, left, wrong = 0, groups, bad
    while wrong:
        found = searched(left, wrong, bucket)
        assert found, "the pipeline is locked"
        assert found <= wrong, "a good group is put aside"
        number, left, wrong = number + 1, left - found, wrong - found
    return number


@settings(deadline=None, derandomize=True, max_examples=examples(100), database=None)
@given(st.sets(st.integers(-2000, 2000), min_size=1), st.data(), st.integers(1, 300))
def test_no_good_group_is_found_and_every_bad_one_is_after_some_rounds(groups, data, bucket):
    bad = data.draw(st.sets(st.sampled_from(sorted(groups))))
    assert rounds(groups, bad, bucket) <= len(bad)


@pytest.mark.parametrize(("bad", "most"), [(5, 1), (10, 3), (100, 20)])
def test_poison_groups_among_ten_thousand_are_found_in_a_few_rounds(bad, most):
    assert 1 <= rounds({*range(10_000)}, {*range(17, 10_000, 10_000 // bad)}, bucket=2) <= most


def test_groups_that_fail_only_with_one_another_are_not_said_to_fail():
    def error_of(first: int, last: int) -> DataError | None:
        return OVERFLOW if first <= 1 and last >= 6 else None

    search = Search(error_of, lambda *_: [])
    assert [*search.failing([(each, each) for each in range(8)], OVERFLOW)] == []
