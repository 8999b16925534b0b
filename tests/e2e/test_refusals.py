"""What an operator sees when something is not there: one clear line, a documented exit status, soon, and no stack trace."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local.broker import create_topic
from spark_jobs.contract.errors import by_code
from spark_jobs.contract.report import read_report
from spark_jobs.contract.settings import Settings
from spark_jobs.submit import command, environment

LIMIT_SECONDS = 30
SLUICE = str(Path(sys.executable).parent / "sluice")


def sluice(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with these environment variables, within the promised time."""
    return subprocess.run(
        [SLUICE, *words], env={**os.environ, **variables}, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )


@pytest.mark.parametrize(
    ("code", "words", "variables", "says"),
    [
        ("KAFKA_UNREACHABLE", ("plan", "flight_events"), {"SLUICE_KAFKA": "127.0.0.1:1"}, "127.0.0.1:1"),
        ("KAFKA_UNREACHABLE", ("drain", "flight_events"), {"SLUICE_KAFKA": "127.0.0.1:1"}, "127.0.0.1:1"),
        ("TOPIC_MISSING", ("plan", "flight_events"), {}, "'flights'"),
        ("PIPELINE_UNKNOWN", ("plan", "flight_event"), {}, "flight_events"),
        ("SETTING_INVALID", ("plan", "flight_events"), {"SLUICE_KAFKA": "no-port"}, "host:port"),
        ("SETTING_INVALID", ("plan", "flight_events"), {"SLUICE_KAFKA": ""}, "SLUICE_KAFKA"),
        ("STATE_UNREADABLE", ("state", "flight_events"), {}, "sluice drain flight_events"),
        ("STATE_UNREADABLE", ("state", "flight_events", "--step", "2"), {}, "step 1, deduplicate by event_id"),
        ("ROOT_NOT_WRITABLE", ("plan", "flight_events"), {"SLUICE_ROOT": f"{__file__}/below-a-file"}, "SLUICE_ROOT"),
    ],
)
def test_what_is_missing_is_named_in_one_line(kafka, tmp_path, code, words, variables, says):
    result = sluice(*words, **{"SLUICE_ROOT": str(tmp_path / "root"), **variables})
    assert result.returncode == by_code(code).exit_status
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith(code)
    assert says in lines[0]
    assert "Traceback" not in result.stdout + result.stderr


def test_missing_jars_are_named_before_a_jvm_starts(kafka, tmp_path):
    create_topic(kafka, "flights", 1)
    subprocess_result = sluice("drain", "flight_events", SLUICE_ROOT=str(tmp_path / "root"), SLUICE_JARS=str(tmp_path))
    # An empty topic gives a drain nothing to do; jars are asked for only when a JVM would start.
    assert subprocess_result.returncode == 0
    assert "nothing to do" in subprocess_result.stdout
    settings = Settings.from_environment()._replace(jars=tmp_path)
    with pytest.raises(by_code("JARS_MISSING"), match="make setup"):
        command(settings, "flight_events", tmp_path / "report.json", "run")


def test_a_submitted_run_without_kafka_leaves_a_report_and_its_exit_status_soon(tmp_path):
    settings = Settings.from_environment()._replace(kafka="127.0.0.1:1", root=str(tmp_path / "root"))
    report = tmp_path / "report.json"
    began = time.monotonic()
    ended = subprocess.run(
        command(settings, "flight_events", report, "run"), env={**os.environ, **environment(settings)},
        capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )
    assert time.monotonic() - began < LIMIT_SECONDS
    assert ended.returncode == by_code("KAFKA_UNREACHABLE").exit_status
    problem = read_report(report).problem
    assert problem is not None
    assert problem.code == "KAFKA_UNREACHABLE"
    assert "Traceback" not in ended.stdout + ended.stderr
