"""A repair that is staged again, by a retry or a cleared task, beside a swap of what was there."""

import pytest

from spark_jobs.checkpoint.lease import lease
from spark_jobs.errors import LeaseHeld, RepairUnknown, StagingStale
from spark_jobs.repair.exchange.preconditions import withdraw
from spark_jobs.repair.unit import range_unit
from tests.unit.repaired import Root, row

CHANGE = [(row(1, "a"), row(1, "a", 5))]


@pytest.fixture
def root(tmp_path) -> Root:
    """With a repair that is staged."""
    made = Root(tmp_path / "root")
    made.drain(0, 2)
    made.stage("r", CHANGE)
    return made


def test_what_is_about_to_be_replaced_is_not_swapped_in(root):
    withdraw(root.paths, "r", "stage")
    with pytest.raises(RepairUnknown):
        root.swap("r")


def test_a_swap_that_has_read_its_rows_finds_them_replaced(root, monkeypatch):
    read = range_unit.new_rows

    def read_before(*given):
        rows = read(*given)
        withdraw(root.paths, "r", "stage")
        root.stage("r", [(row(1, "a"), row(1, "a", 6))])
        return rows

    monkeypatch.setattr(range_unit, "new_rows", read_before)
    with pytest.raises(StagingStale) as refused:
        root.swap("r")
    assert refused.value.reason == "staged_again"


def test_one_that_is_in_the_table_keeps_what_was_staged(root):
    root.swap("r")
    with pytest.raises(StagingStale) as refused:
        withdraw(root.paths, "r", "stage")
    assert refused.value.reason == "repair_ended"
    root.undo("r")


def test_it_waits_for_who_holds_the_lease_of_the_table(root):
    with lease(root.paths.lease, "a drain"), pytest.raises(LeaseHeld):
        withdraw(root.paths, "r", "stage")
    root.swap("r")


def test_nothing_is_withdrawn_of_a_repair_that_was_never_staged(root):
    with lease(root.paths.lease, "a drain"):
        withdraw(root.paths, "another", "stage")
