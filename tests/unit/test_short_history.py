"""`sluice validate` beside how long `sluice maintain` keeps the history that a check looks at."""

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from tests.unit.specs import deployed

SPEC = "from tests.unit.specs import pipeline\nfrom spark_jobs.spec import volume\n\nSPEC = pipeline({})\n"


@pytest.mark.parametrize(
    ("checks", "days", "warns"),
    [
        ("state_checks=(volume(of='day'),)", "35", True),
        ("state_checks=(volume(),)", "36", False),
        ("state_checks=(volume(),)", "forever", False),
        ("", "35", False),
    ],
)
def test_a_check_of_volume_with_less_history_than_it_needs_is_warned_of(
    tmp_path, monkeypatch, checks, days, warns
):
    deployed(tmp_path, monkeypatch, SPEC.format(checks))
    monkeypatch.setenv("SLUICE_HISTORY_DAYS", days)
    done = CliRunner().invoke(app, ["validate"])
    assert done.exit_code == 0, done.output
    assert ("volume_of_day" in done.stdout and "SLUICE_HISTORY_DAYS" in done.stdout) == warns
