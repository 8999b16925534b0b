"""What an operator sees when something is missing: one clear line and a documented exit status."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psutil
import pytest
from confluent_kafka.admin import AdminClient

from local.broker import create_topic
from spark_jobs.errors import JarsMissing, KafkaUnreachable, by_code
from spark_jobs.launch.submit import application, command, environment
from spark_jobs.messages.job import Drain
from spark_jobs.messages.report import read_report
from spark_jobs.settings.installation import Settings
from spark_jobs.source import topic_state as kafka_questions
from tests.harness.command import sluice_here
from tests.harness.long_form import LONG
from tests.harness.patience import patient
from tests.harness.ran import ran
from tests.harness.refused import fails
from tests.harness.roots import ROOT

LIMIT_SECONDS = 30
"""Of waiting for a broker that does not answer; a process takes as long as the machine needs."""
PATIENCE_SECONDS = patient(120)
QUESTIONS = ("list_topics", "describe_topics", "list_offsets")
"""Of Kafka's client; the last is asked twice."""
CLIENTS_OWN_SECONDS = 60
"""How long that client would wait for an answer, if it were let."""
SLUICE = str(Path(sys.executable).parent / "sluice")


def sluice(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with these environment variables, in a process of its own."""
    return ran(SLUICE, *words, env={**os.environ, **variables}, cwd=None)


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
)  # fmt: skip
def test_what_is_missing_is_named_in_one_line(kafka, tmp_path, code, words, variables, says):
    """`drain` in a process of its own; in the long form all of them."""
    told = {"SLUICE_ROOT": str(tmp_path / ROOT), **variables}
    result = sluice(*words, **told) if LONG or words[0] == "drain" else sluice_here(told, *words)
    assert result.returncode == by_code(code).exit_status
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith(code)
    assert says in lines[0]
    assert "Traceback" not in result.stdout + result.stderr


def test_missing_jars_are_named_before_a_jvm_starts(kafka, tmp_path):
    create_topic(kafka, "flights", 1)
    variables = {"SLUICE_ROOT": str(tmp_path / ROOT), "SLUICE_JARS": str(tmp_path)}
    result = sluice_here(variables, "drain", "flight_events")
    # An empty topic gives a drain nothing to do; jars are asked for only when a JVM would start.
    assert result.returncode == 0
    assert "nothing to do" in result.stdout
    settings = Settings.from_environment()._replace(jars=tmp_path)
    with fails(JarsMissing, "kafka_jars_absent", jars=tmp_path):
        command(settings, job(tmp_path / "report.json"))


def job(report: Path) -> Drain:
    return Drain(pipeline="flight_events", report=str(report), run_id="run")


def test_a_run_without_kafka_leaves_a_report_and_its_exit_status_soon(tmp_path):
    """The application without spark-submit, which has started no Spark when it is refused."""
    settings = Settings.from_environment()._replace(kafka="127.0.0.1:1", root=str(tmp_path / ROOT))
    path = tmp_path / "report.json"
    words = command(settings, job(path))
    env = {**os.environ, **environment(settings)}
    ended = ran(sys.executable, *words[words.index(application()) :], env=env, cwd=None)
    assert ended.returncode == by_code("KAFKA_UNREACHABLE").exit_status
    report = read_report(path)
    assert report.problem.code == "KAFKA_UNREACHABLE"
    assert (report.ended_at - report.started_at).total_seconds() < LIMIT_SECONDS
    assert "Traceback" not in ended.stdout + ended.stderr


class StandsStill:
    """A broker that is stopped once it has answered so many questions, until the block ends."""

    def __init__(self, address: str, patch: pytest.MonkeyPatch, after: int | None) -> None:
        self.asked = 0
        self._after = after
        port = int(address.rpartition(":")[2])
        [pid] = {
            found.pid
            for found in psutil.net_connections("tcp")
            if found.laddr and found.laddr.port == port and found.status == psutil.CONN_LISTEN
        }
        self._broker = psutil.Process(pid)
        for name in QUESTIONS:
            patch.setattr(
                kafka_questions.AdminClient, name, self._counted(getattr(AdminClient, name))
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._broker.resume()

    def _stand_still(self) -> None:
        """Return when all of its threads do: one of them would answer on a busy machine."""
        self._broker.suspend()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(process.status() != psutil.STATUS_STOPPED for process in self._each()):
            assert time.monotonic() < deadline, "the broker does not stand still"
            time.sleep(0.01)

    def _each(self) -> list[psutil.Process]:
        """The broker; on Linux each of its threads, which stop one by one."""
        threads = self._broker.threads() if sys.platform == "linux" else []
        return [psutil.Process(thread.id) for thread in threads] or [self._broker]

    def _counted(self, question: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*words: Any, **options: Any) -> Any:
            still = self._after is not None and self.asked >= self._after
            self.asked += 1
            if still:
                self._stand_still()
                options = {
                    name: value / PATIENCE_SECONDS if "timeout" in name else value
                    for name, value in options.items()
                }
            return question(*words, **options)

        return ask


def test_a_broker_that_stands_still_is_given_up_after_each_question_and_after_all_within_half_a_minute(
    kafka, monkeypatch
):
    create_topic(kafka, "flights", 1)
    settings = Settings("/root", kafka, Path("/jars"), "local[2]", "1g")
    with monkeypatch.context() as patch, StandsStill(kafka, patch, None) as lively:
        kafka_questions.topic_state(settings, "flights")
    assert lively.asked == len(QUESTIONS) + 2, "two of them twice"
    assert lively.asked * kafka_questions.TIMEOUT_SECONDS < LIMIT_SECONDS

    monkeypatch.setattr(kafka_questions, "TIMEOUT_SECONDS", float(PATIENCE_SECONDS))
    for answered in range(lively.asked):
        with monkeypatch.context() as patch, StandsStill(kafka, patch, answered) as still:
            began = time.monotonic()
            with pytest.raises(KafkaUnreachable):
                kafka_questions.topic_state(settings, "flights")
            assert time.monotonic() - began < CLIENTS_OWN_SECONDS / 2
            tries = (
                1 if answered else len(kafka_questions.TRIES)
            )  # of the first question, which share its time
            assert still.asked == answered + tries, "it asks on, though it was not answered"
