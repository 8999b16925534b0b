"""Next steps: what a page says that a person may do about a run."""

from spark_jobs.ops.json_of_tables import RunLine
from spark_jobs.pages.next_steps import next_steps
from spark_jobs.registry import find as registry
from spark_jobs.spec.analysis.ranged import unranged


def commands(kind: str) -> list[str]:
    line = RunLine.model_construct(
        pipeline="sales", kind=kind, status="failed", problem="CHECK_FAILED"
    )
    return [each.command for each in next_steps(line, ())]


def test_what_a_drain_wrote_may_be_accepted_and_of_a_repair_nothing_is_in_the_table():
    look = "sluice show checks sales"
    assert commands("drain") == [look, "sluice accept sales --check NAME --reason WHY"]
    assert commands("repair") == [look, "sluice show repairs sales"]


def test_late_records_wait_for_a_repair_and_without_ranges_for_a_rebuild(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")

    def behind_a_drain(name: str) -> list[str]:
        line = RunLine.model_construct(
            pipeline=name, kind="drain", status="succeeded", problem=None, late=3
        )
        return [each.command for each in next_steps(line, ())][1:]

    ranged = next(name for name in registry.names() if unranged(registry.load(name)) is None)
    of_ranges = [f"sluice coverage {ranged}", f"sluice repair {ranged}"]
    assert behind_a_drain(ranged) == of_ranges
    assert behind_a_drain("carrier_ranking") == [
        "sluice show late carrier_ranking",
        "sluice rebuild carrier_ranking",
    ]
    gone = [f"sluice {command} nobody" for command in ("coverage", "repair")]
    assert behind_a_drain("nobody") == gone
