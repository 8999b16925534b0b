"""Cases beside a spec, through real drains: the shipped ones pass, and a wrong one is told."""

import os
import shutil
import subprocess
import sys

import pytest

from spark_jobs.errors import CasesFailed
from spark_jobs.messages.job import Prove
from spark_jobs.proof.run import prove
from spark_jobs.settings.installation import REPO, Settings
from tests.harness.long_form import long_form
from tests.harness.refused import fails
from tests.harness.turns import alike

pytestmark = [pytest.mark.usefixtures("spark"), alike("cases as data")]
CASES = {"flight_events": 2, "aircraft_rotations": 3, "daily_flights": 2}

WRONG = """
defaults: {event_type: departure, scheduled_time: 2013-01-01T05:00:00Z, carrier: UA, flight: 1,
  tail_number: N1, origin: EWR, destination: IAH, cancelled: false, distance_miles: 1400}
cases:
  - name: right
    given: [[{event_id: e1, event_time: 2013-01-01T05:17:00Z, delay_minutes: 2}]]
    expect: {rows: [{event_id: e1, delay_minutes: 2}]}
  - name: wrong
    given: [[{event_id: e1, event_time: 2013-01-01T05:17:00Z, delay_minutes: 2}, "no json"]]
    expect: {rows: [{event_id: e1, delay_minutes: 3}, {event_id: e2}], accepted: 2}
  - name: not the reason
    given: [["no json"]]
    expect: {malformed: [carrier]}
  - name: nothing to repair
    given: [[{event_id: e1, event_time: 2013-01-01T05:17:00Z, delay_minutes: 2}]]
    then: [drain, repair]
    expect: {rows: [{event_id: e1}]}
  - name: no such column
    given: [[]]
    expect: {rows: [{event: e1}]}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A copy of flight_events with these cases, in a package of its own."""
    package = tmp_path / "own_cases"
    shutil.copytree(REPO / "spark_jobs" / "pipelines" / "flight_events", package / "flight_events")
    (package / "__init__.py").touch()
    (package / "flight_events" / "tests.yaml").write_text(WRONG)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(REPO)]))
    monkeypatch.setenv("SLUICE_PIPELINES", package.name)
    return package


@pytest.mark.parametrize(("name", "cases"), CASES.items())
def test_the_cases_of_a_pipeline_pass(monkeypatch, name, cases):
    """Those of the tests' own are killed, repaired, taken back and rewound."""
    if name == "daily_flights":
        monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")
    lines = [*prove(Prove(pipelines=(name,)), None, Settings.from_environment())]
    assert [line.split()[:2] for line in lines] == [["ok", f"{name}:"]] * cases


def test_a_wrong_case_fails_and_what_differs_is_shown(own):
    told, lines = prove(Prove(pipelines=("flight_events",)), None, Settings.from_environment()), []
    with fails(CasesFailed, "some", failed=4, all_=5):
        lines.extend(" ".join(line.partition(" (")[0].split()) for line in told)
    of = [line for line in lines if "flight_events:" in line]
    assert of == [
        "ok flight_events: right",
        "FAILED flight_events: wrong",
        "FAILED flight_events: not the reason",
        "FAILED flight_events: nothing to repair",
        "FAILED flight_events: no such column",
    ]
    assert "malformed: expected 0, got 1" in lines
    assert "accepted: expected 2, got 1" in lines
    assert "changed e1 3 -> 2" in lines
    assert "missing e2" in lines
    assert "2 of 2, repair: expected success, got no late record waited" in lines


@long_form
def test_pytest_collects_cases_and_fails_for_the_wrong_ones(own):
    words = ["-m", "pytest", "-p", "spark_jobs.proof.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [sys.executable, *words, "--rootdir", str(own), "-k", "right or wrong", str(own)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "1 failed, 1 passed, 2 deselected" in done.stdout
    assert "accepted: expected 2, got 1" in done.stdout
