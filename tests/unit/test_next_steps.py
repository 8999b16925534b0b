"""Next steps: what a page says that a person may do about a run."""

from __future__ import annotations

from spark_jobs.ops.next_steps import next_steps
from spark_jobs.ops.shown import RunLine


def commands(kind: str) -> list[str]:
    line = RunLine.model_construct(
        pipeline="sales", kind=kind, status="failed", problem="CHECK_FAILED"
    )
    return [each.command for each in next_steps(line, ())]


def test_what_a_drain_wrote_may_be_accepted_and_of_a_repair_nothing_is_in_the_table() -> None:
    look = "sluice show checks --pipeline sales"
    assert commands("drain") == [look, "sluice accept sales --check NAME --reason WHY"]
    assert commands("repair") == [look, "sluice show repairs --pipeline sales"]
