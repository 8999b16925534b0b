"""A real drain, looked at while it works."""

from collections import defaultdict
from datetime import UTC, datetime

from spark_jobs.ops.at_work import at_work
from spark_jobs.pages.flow_of import flow_so_far
from spark_jobs.storage import failpoint


def test_who_looks_on_sees_each_batch_what_is_left_and_the_same_account_as_the_run_itself(
    drained, monkeypatch
):
    drained.change(max_offsets_per_batch=120)
    root, name, seen = drained.paths.root, drained.spec.name, defaultdict(list)

    def look(point):
        seen[point] += at_work(root, name, datetime.now(UTC))

    monkeypatch.setattr(failpoint, "at", look)
    report = drained.run("watched")
    covered = report.account.covered
    assert [(each.standing, each.phase, each.offsets_left) for each in seen["leased"]] == [
        ("works", "prepares", None)
    ]
    batches = seen["audited"]
    assert [each.batches for each in batches] == [1 + place for place in range(len(batches))]
    assert len(batches) == len(report.batches) > 2
    assert {each.run_id for each in batches} == {"watched"}
    assert all(each.offsets_done + each.offsets_left == covered for each in batches)
    left = [each.offsets_left for each in batches]
    assert left == sorted(left, reverse=True)
    read = [row["read"] > 0 for row in sorted(drained.ops("batches"), key=lambda r: r["batch_id"])]
    read = read[-len(batches) :]  # a batch without data says nothing of the rate
    assert [(each.basis, each.measured) for each in batches] == [
        ("batches", min(5, sum(read[: place + 1]))) for place in range(len(batches))
    ]
    [closes] = seen["checks"]
    assert (closes.phase, closes.offsets_left, closes.offsets_done) == ("closes", 0, covered)
    assert closes.account == report.account
    for each in batches:
        flow = flow_so_far(each)
        assert (flow.wrong, flow.whole) == (0, covered)
    assert at_work(root, name, datetime.now(UTC)) == ()
