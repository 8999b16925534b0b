"""The state checks that every pipeline has."""

import pytest

from spark_jobs.spec import Check, Pipeline, Sliding, State, within
from spark_jobs.spec.analysis import state_checks
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline


def bounds(spec: Pipeline) -> dict[str, Check]:
    """By metric; a metric has one check."""
    found = state_checks.state_checks_of(spec)
    by_metric = {check.kwargs["column"]: check for check in found}
    assert len(by_metric) == len(found)
    return by_metric


def test_every_check_says_why_it_matters() -> None:
    assert all(check.about for check in state_checks.state_checks_of(pipeline()))
    assert set(bounds(pipeline())) == {
        "unaccounted",
        "groups_unaccounted",
        "state_growth",
        "behind_watermark_seconds",
        "still_batches",
        "late_share",
        "nothing_accepted",
        "malformed_share",
        "premature_share",
        "rejected_share",
        "timers_per_row",
        "state_bytes",
    }


def test_a_check_of_the_specs_own_takes_the_place_of_the_default_on_its_metric() -> None:
    found = bounds(pipeline(state_checks=(within("late_share", 0.5, severity="critical"),)))
    assert (found["late_share"].kwargs["max_value"], found["late_share"].severity) == (
        0.5,
        "critical",
    )


def test_what_a_run_rejects_is_bounded_critically_and_shares_count_from_some_hundred_records() -> (
    None
):
    spec = pipeline()
    every = {check.columns[0]: check for check in state_checks.judged_checks(spec, 200)}
    few = {check.columns[0] for check in state_checks.judged_checks(spec, 199)}
    assert every.keys() == bounds(spec).keys()
    assert {every[metric].severity for metric in state_checks.REJECTIONS} == {"critical"}
    assert every.keys() - few == {"malformed_share", "premature_share", "rejected_share"}
    own = pipeline(state_checks=(within("malformed_share", 0.5, severity="critical"),))
    assert "malformed_share" in {check.columns[0] for check in state_checks.judged_checks(own, 1)}


def test_a_plan_says_what_a_run_must_accept_in_the_specs_own_bounds() -> None:
    assert state_checks.acceptance_line(pipeline()) == (
        "not published without `sluice accept` if none of the records that are read is accepted; or "
        "if malformed_share is over 0.1, from 200 records; or if premature_share is over 0.1, from "
        "200 records; or if rejected_share is over 0.5, from 200 records"
    )
    own = pipeline(
        state_checks=(within("malformed_share", 0.5, severity="critical"),),
        state_checks_off=("nothing_accepted", "premature_share", "rejected_share"),
    )
    told = "not published without `sluice accept` if malformed_share is over 0.5"
    assert state_checks.acceptance_line(own) == told


def test_a_default_can_be_switched_off_and_the_account_cannot() -> None:
    found = bounds(pipeline(state_checks_off=("still_batches", "late_share")))
    assert not {"still_batches", "late_share"} & set(found)
    assert found["unaccounted"].kwargs["max_value"] == 0


def test_a_budget_is_critical() -> None:
    found = bounds(
        pipeline(steps=(deduplicate(scope="for_ever"),), state=State(budget_rows=7, budget_bytes=9))
    )
    assert (found["state_rows"].kwargs["max_value"], found["state_rows"].severity) == (
        7,
        "critical",
    )
    assert found["state_bytes"].kwargs["max_value"] == 9


@pytest.mark.parametrize(
    ("steps", "most"),
    [
        ((deduplicate(),), 1),
        ((deduplicate(), aggregate()), 2),
        ((aggregate(window=Sliding(size="1 hour", slide="25 minutes")),), 3),
        ((group_state(),), 4),
    ],
    ids=["a key a record", "and a group", "a record in three windows", "state of one's own"],
)
def test_growth_is_held_against_what_a_record_can_leave(
    steps: tuple[object, ...], most: float
) -> None:
    assert bounds(pipeline(steps=steps))["state_growth"].kwargs["max_value"] == most
