"""The task of the DAG sluice_prove: a night's verifies, each as a job of spark-submit.

Here spark-submit is a shell that leaves a report; tests/e2e/test_prove.py has real verifies.
"""

from datetime import timedelta

import pytest

from sluice_airflow.dags.prove import ProveOperator
from spark_jobs.errors import CheckFailed
from spark_jobs.messages.job import Stage, read
from spark_jobs.prove.night import RUN_PREFIX
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from tests.airflow.installed import Installed, executed
from tests.harness import roots
from tests.harness.refused import fails
from tests.harness.sources import says
from tests.unit.repaired import SPEC, hours
from tests.unit.test_proofs import NOW, Root, published, root, verified

__all__ = ["root"]
DAY_LONG = timedelta(days=1)
pytestmark = pytest.mark.usefixtures("in_task")


@pytest.fixture
def installed(root, tmp_path, monkeypatch) -> Installed:
    """The week's drains took 40 processor seconds, and each verify takes 10; one was there."""
    says(monkeypatch, SourceState("topic-1", Positions({0: 0}), Positions({0: 10})))
    spec = tmp_path / "deployed_hours" / SPEC.name / "spec.py"
    spec.parent.mkdir(parents=True)
    for folder in (spec.parent, spec.parent.parent):
        (folder / "__init__.py").touch()
    spec.write_text("from tests.unit.test_proofs import HOURLY as SPEC\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SLUICE_PIPELINES", "deployed_hours")
    made = Installed(tmp_path / "sluice", monkeypatch, root=None)
    monkeypatch.setenv("SLUICE_ROOT", root.settings.root)
    monkeypatch.setenv("SLUICE_PROOF", "100 %")
    for number in (1, 2):
        root.ended(f"drain {number}", processor_seconds=20, started_at=NOW, ended_at=NOW)
    before = {"started_at": NOW - 6 * DAY_LONG, "ended_at": NOW - 6 * DAY_LONG}
    root.ended(f"{RUN_PREFIX}before", kind="verify", processor_seconds=10, **before)
    published(root)
    told = {"kind": "verify", "processor_seconds": 10.0}
    made.spark_reports(roots.report(SPEC.name, **told))
    return made


def night(root: Root) -> None:
    executed(ProveOperator(task_id=SPEC.name, pipeline=SPEC.name))


def test_a_night_verifies_days_one_by_one_until_its_processor_seconds_are_spent(installed, root):
    night(root)
    jobs = [read([job]) for job in installed.jobs]
    assert all(isinstance(job, Stage) and job.kind == "verify" for job in jobs)
    plans = [job.repair_id for job in jobs]
    assert [job.run_id for job in jobs] == [
        f"{RUN_PREFIX}{plan}-{number}" for number, plan in enumerate(plans)
    ]
    assert len({*plans}) == 3, "of the 30 that are left"


def test_a_wrong_day_fails_the_task_though_no_verify_of_this_night_has_found_it(installed, root):
    verified(root, hours(3), "CHANGE_UNEXPLAINED")
    with fails(CheckFailed, "days_refuted", count=1, start="2026-03-01T03:00:00Z"):
        night(root)
