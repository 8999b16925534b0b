"""Two checks of one metric, a warning and a critical one: each has its own bound and history."""

from datetime import timedelta

from spark_jobs.ops.json_of_tables import RunLine
from spark_jobs.pages.run_page import check_lines
from spark_jobs.spec import fresh
from tests.harness.roots import NOON, Root, check
from tests.unit.specs import pipeline

SPEC = pipeline(state_checks=(fresh("1 hour", severity="warning"), fresh("1 day")))


def test_each_has_its_own_bound_and_history(tmp_path):
    root = Root(tmp_path, SPEC)
    results = [
        check(
            column=each.kwargs["column"], suite="state", type=each.type, severity=each.severity,
            observed=each.severity,
        )
        for each in SPEC.state_checks
    ]  # fmt: skip
    which = {"pipeline": SPEC.name, "generation": "g1", "run_id": "before"}
    earlier = which | {"checked_at": NOON - timedelta(hours=1)}
    root.put("checks", *(earlier | each.model_dump() for each in results))
    line = RunLine.model_construct(pipeline=SPEC.name, started_at=NOON)
    lines = check_lines(root.paths.root, line, results, SPEC)
    found = [(each.bound, each.history) for each in lines]
    assert found == [(3600.0, ("warning",)), (86400.0, ("critical",))]
