"""The scenarios of tests/scenarios, each as a test: real drains, kills, repairs and replays."""

import pytest

from spark_jobs.proof.cases import read
from spark_jobs.proof.run import outcomes
from spark_jobs.settings.installation import Settings
from tests.harness.costs import TESTS
from tests.harness.turns import alike

pytestmark = alike("cases as data")

FILES = sorted((TESTS / "scenarios").glob("*/tests.yaml"))
CASES = [(file.parent.name, case.name) for file in FILES for case in read(file)]


@pytest.mark.parametrize(("name", "case"), CASES, ids=map(": ".join, CASES))
def test_it_ends_as_it_says(spark, monkeypatch, name, case):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.scenarios")
    [found] = outcomes([name], Settings.from_environment(reads=False), [(name, case)])
    assert not found.differs, "\n".join(found.differs)
