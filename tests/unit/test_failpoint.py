"""Failpoints: off unless set, and refused where they are set wrongly."""

import pytest

from spark_jobs.storage import failpoint
from tests.harness.ran import python

HERE = "from spark_jobs.storage import failpoint; failpoint.at('audit'); print('went on')"


@pytest.mark.parametrize(("action", "status"), [("exit", -9), ("raise", 1)])
def test_what_is_set_in_the_environment_happens(action, status):
    done = python(HERE, env={"SLUICE_FAILPOINTS": f"checks=raise audit={action}"}, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert ("failpoint.Failure: failpoint audit" in done.stderr) == (action == "raise")


@pytest.mark.parametrize("text", ["nowhere=exit", "audit=explode"])
def test_a_place_or_an_action_that_there_is_not_is_refused(text):
    with pytest.raises(ValueError, match="SLUICE_FAILPOINTS"):
        failpoint._parse(text)  # noqa: SLF001 - read once, when the module is loaded
