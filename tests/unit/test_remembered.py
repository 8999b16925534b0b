"""How much a table remembers of deletes is a metric with a check, before it is forgotten."""

from types import SimpleNamespace

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.runs.evaluation import OpenGroups, Unjudged, state_metrics
from spark_jobs.runs.run_outcome import Drained
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.table.delta.table import Delta
from tests.unit.checkpoints import begin
from tests.unit.test_latest import LATEST, Change, merge, spec, table_at


def test_more_deletes_than_rows_are_told(tmp_path):
    path = table_at(tmp_path / "orders")
    deletes = (Change(key, 1, "x", None) for key in "bcd")
    merge(path, [Change("a", 1, "x", "paid"), *deletes], 0)
    run = SimpleNamespace(
        spec=spec(LATEST),
        checkpoint=Checkpoint(begin(tmp_path / "spark")),
        target=SimpleNamespace(table=Delta(path)),
    )
    found = state_metrics(run, Cursor(), Unjudged(), Drained(), OpenGroups())
    assert found.remembered_share == 3
    [check] = [each for each in state_checks_of(run.spec) if each.columns == ("remembered_share",)]
    assert (check.kwargs["max_value"], check.severity) == (1, "warning")
