"""Next steps: what a page says that a person may do about a run."""

from spark_jobs.ops.json_of_tables import RunLine
from spark_jobs.ops.next_steps import next_steps


def commands(kind: str) -> list[str]:
    line = RunLine.model_construct(
        pipeline="sales", kind=kind, status="failed", problem="CHECK_FAILED"
    )
    return [each.command for each in next_steps(line, ())]


def test_what_a_drain_wrote_may_be_accepted_and_of_a_repair_nothing_is_in_the_table():
    look = "sluice show checks sales"
    assert commands("drain") == [look, "sluice accept sales --check NAME --reason WHY"]
    assert commands("repair") == [look, "sluice show repairs sales"]


def test_late_records_wait_for_a_repair_and_without_ranges_for_a_rebuild():
    line = RunLine.model_construct(
        pipeline="sales", kind="drain", status="succeeded", problem=None, late=3
    )

    def behind_a_drain(*, ranged: bool) -> list[str]:
        return [each.command for each in next_steps(line, (), ranged=ranged)][1:]

    assert behind_a_drain(ranged=True) == ["sluice coverage sales", "sluice repair sales"]
    assert behind_a_drain(ranged=False) == ["sluice show late sales", "sluice rebuild sales"]
