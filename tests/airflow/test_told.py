"""Being told: real DAG runs, a real SMTP server and a real HTTP server on this machine."""

import contextlib
import email
import email.policy
import json
import logging
import socket
import socketserver
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator, Context
from airflow.sdk.exceptions import AirflowSkipException

from sluice_airflow.dags.refused import refused_dag
from sluice_airflow.retries import ARGUMENTS
from sluice_airflow.tasks.checks import CheckOperator
from sluice_airflow.telling import bounded
from sluice_airflow.telling.message import Place, began, of_error
from sluice_airflow.telling.told import CALLBACKS, on_skipped
from spark_jobs.errors import KafkaUnreachable, ProcessorFailed, SluiceError, SpecInvalid
from spark_jobs.messages.report import CheckResult
from tests.airflow.metadata import REPO, add_dag, fill, no_other_dags
from tests.harness import roots
from tests.harness.serving import Handler, serving
from tests.harness.turns import alike

pytestmark = alike("what a run tells")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = "x\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script> {{ 7 * 7 }} <!channel> \u202egpj\x1b[2J"
PATH = "services/T0/secret-of-the-hook"


class Mailbox(socketserver.StreamRequestHandler):
    """As much of SMTP as takes a message."""

    def handle(self):
        mails: list[bytes] = self.server.mails  # type: ignore[attr-defined]
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline().strip().upper():
            if line == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
            self.wfile.write(b"221 bye\r\n" if line == b"QUIT" else b"250 ok\r\n")


class Hook(Handler):
    def do_POST(self):
        self.server.posts.append((self.path, json.loads(self.body())))  # type: ignore[attr-defined]
        self.answer(self.server.status)  # type: ignore[attr-defined]


@pytest.fixture(scope="module", autouse=True)
def database():
    fill()


@pytest.fixture
def mails(monkeypatch) -> Iterator[list[bytes]]:
    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox)) as server:
        server.mails = []
        extra = {"to": "data@example.org", "from_email": "sluice@example.org"}
        extra |= {"disable_ssl": True, "disable_tls": True}
        connection = {"conn_type": "smtp", "host": "127.0.0.1", "port": server.server_address[1]}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_MAIL", json.dumps(connection | {"extra": extra}))
        yield server.mails


@pytest.fixture
def hook(monkeypatch) -> Iterator[Any]:
    with serving(Hook) as server:
        server.posts, server.status = [], 200
        connection = {"conn_type": "http", "schema": "http", "host": "127.0.0.1"}
        connection |= {"port": server.server_address[1], "password": PATH}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_WEBHOOK", json.dumps(connection))
        yield server


class Does(BaseOperator):
    """Returns, or raises what the test says: a list of what each try does."""

    def __init__(self, *, tries: list[Any], **kwargs: Any):
        super().__init__(**kwargs)
        self.tries = tries

    def execute(self, context: Context) -> Any:  # noqa: ARG002 - Airflow passes it
        now = self.tries.pop(0) if len(self.tries) > 1 else self.tries[0]
        if isinstance(now, Exception):
            raise now
        return now


def ran(dag: DAG, hour: int) -> str:
    """The state of one DAG run, of a DAG that the database knows."""
    add_dag(dag)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Airflow's own
        with no_other_dags():
            return str(dag.test(logical_date=NOON + timedelta(hours=hour)).state)


def dag_of(name: str) -> DAG:
    no_wait = {"retries": 1, "retry_delay": timedelta(0)}
    return DAG(name, schedule=None, default_args=ARGUMENTS | no_wait | CALLBACKS)


def one_task(name: str, *tries: Any) -> DAG:
    with dag_of(name) as dag:
        Does(task_id="plan", tries=list(tries))
    return dag


def texts(hook: Any) -> list[str]:
    return [body["text"] for _, body in hook.posts]


def test_a_problem_is_told_once_through_retries_and_runs_and_once_when_it_is_over(hook):
    down = KafkaUnreachable("broker:9092 did not answer in 10 s.", "Start the brokers.")
    assert ran(one_task("told_once", down), 0) == "failed"
    assert texts(hook) == [
        "[Sluice] told_once: KAFKA_UNREACHABLE\n\n"
        "KAFKA_UNREACHABLE: broker:9092 did not answer in 10 s. Next: Start the brokers.\n"
        "See: sluice show runs told_once\n"
        "Where: DAG told_once, task plan, run " + texts(hook)[0].split("run ")[-1]
    ]
    assert (ran(one_task("told_once", down), 1), len(hook.posts)) == ("failed", 1)
    for hour in (2, 3):
        assert ran(one_task("told_once", {}), hour) == "success"
    assert len(hook.posts) == 2
    assert texts(hook)[1].startswith("[Sluice] told_once: over\n\nKAFKA_UNREACHABLE is over.\n")
    assert ran(one_task("told_once", down), 4) == "failed"
    assert len(hook.posts) == 3, "it began again"
    assert {path for path, _ in hook.posts} == {f"/{PATH}"}


def test_a_retry_that_helps_is_no_problem_and_without_connection_nobody_is_told(hook, monkeypatch):
    assert ran(one_task("told_retry", KafkaUnreachable("no answer."), {}), 0) == "success"
    monkeypatch.delenv("AIRFLOW_CONN_SLUICE_WEBHOOK")
    assert ran(one_task("told_retry", KafkaUnreachable("no answer.")), 1) == "failed"
    assert hook.posts == []


def test_hostile_text_stays_text_in_mail_and_chat(mails, hook):
    assert ran(refused_dag("told_hostile", SpecInvalid(HOSTILE)), 0) == "failed"
    (raw,) = mails
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert (mail["To"], mail["Bcc"]) == ("data@example.org", None)
    assert mail["Subject"] == "[Sluice] told_hostile: SPEC_INVALID"
    html = mail.get_body().get_content()  # type: ignore[union-attr]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7 * 7 }}" in html
    assert "<script>" not in html
    (text,) = texts(hook)
    assert "&lt;!channel&gt; \\u202egpj\\x1b[2J" in text
    assert "Bcc" in text.splitlines()[2], "on its line"


def test_a_server_that_fails_changes_no_verdict_and_the_next_run_tells(hook, caplog, monkeypatch):
    gone = {"to": "a@example.org", "from_email": "b@example.org", "retry_limit": 0}
    nobody = {"conn_type": "smtp", "host": "127.0.0.1", "port": 1, "extra": gone}
    monkeypatch.setenv("AIRFLOW_CONN_SLUICE_MAIL", json.dumps(nobody))
    hook.status = 500
    down = KafkaUnreachable("no answer.")
    with caplog.at_level(logging.WARNING, "sluice_airflow"):
        assert ran(one_task("told_down", down), 0) == "failed"
    said = [line for line in caplog.messages if "could not tell" in line]
    assert len(said) == 2
    assert "'sluice_webhook' answered with status 500" in said[1]
    assert PATH not in "".join(said)
    hook.status = 200
    assert (ran(one_task("told_down", down), 1), len(hook.posts)) == ("failed", 2)
    hook.status = 500
    assert ran(one_task("told_down", {}), 2) == "success"
    hook.status = 200
    assert ran(one_task("told_down", {}), 3) == "success"
    assert texts(hook)[-1].startswith("[Sluice] told_down: over")


def report(*checks: CheckResult) -> dict[str, Any]:
    told = roots.report("told_checks", status="failed", table_version=7, checks=checks)
    return told.model_dump(mode="json")


def result(column: str, severity: Any, outcome: Any) -> CheckResult:
    seen = {"unexpected": 3, "sample": '["a person"]', "observed": "a person"}
    return roots.check(outcome, column, type="not_null", severity=severity, **seen)


def checked(drained: Any) -> DAG:
    with dag_of("told_checks") as dag:
        drain = Does(task_id="drain", tries=[drained])
        output = CheckOperator(task_id="check_output", pipeline="told_checks", suite="output")
        publish = Does(task_id="publish", tries=[{}], trigger_rule="none_failed")
        drain >> output >> publish
    return dag


def test_checks_are_told_with_counts_and_no_values_and_warnings_too(hook):
    bad, odd = result("a", "critical", "failed"), result("b", "warning", "failed")
    assert ran(checked(report(bad, odd)), 0) == "failed"
    assert texts(hook)[0].splitlines()[:5] == [
        "[Sluice] told_checks: CHECK_FAILED and WARNING",
        "",
        "CHECK_FAILED: not_null(a), 3 failing rows.",
        "WARNING: not_null(b), 3 failing rows.",
        "See: sluice show checks told_checks",
    ]
    assert "a person" not in texts(hook)[0]
    good = result("a", "critical", "passed")
    assert ran(checked(report(good, odd)), 1) == "success"
    assert "CHECK_FAILED not_null(a) is over." in texts(hook)[1]
    assert "WARNING" not in texts(hook)[1], "it is not over"
    assert (ran(checked(report(good, odd)), 2), len(hook.posts)) == ("success", 2)


def test_rows_that_a_person_accepted_and_that_are_published_are_a_problem_no_more(hook):
    ran(checked(report(result("z", "critical", "failed"))), 10)
    assert "CHECK_FAILED: not_null(z), 3 failing rows." in texts(hook)[0]
    nothing_to_do = AirflowSkipException("publish is all there is to do")
    assert ran(checked(nothing_to_do), 11) == "success"
    assert "CHECK_FAILED not_null(z) is over." in texts(hook)[-1]


class Looks(Does):
    """Stands where repair does behind a publish."""

    looked = False


def behind_publish(does: Any, *, looked: bool = False) -> DAG:
    with dag_of("told_repair") as dag:
        repair = Looks(task_id="repair", tries=[does], on_skipped_callback=on_skipped, retries=0)
        repair.looked = looked
        Does(task_id="publish", tries=[{}]) >> repair.as_teardown()
    return dag


def test_a_repair_that_cannot_be_started_is_told_once_though_publish_succeeds_before_it(hook):
    down, idle = KafkaUnreachable("no answer."), AirflowSkipException("nothing waits")
    for hour in (0, 1):
        assert (ran(behind_publish(down), hour), len(hook.posts)) == ("success", 1)
    assert ran(behind_publish(idle), 2) == "success"
    assert len(hook.posts) == 1, "it skipped itself before it looked"
    assert ran(behind_publish(idle, looked=True), 3) == "success"
    assert "KAFKA_UNREACHABLE is over." in texts(hook)[1]


@pytest.mark.parametrize(
    "error",
    [ProcessorFailed("ValueError: 'a person'"), ValueError("a person"), SluiceError("a person")],
)
def test_an_error_that_may_quote_a_record_is_told_without_its_text(error):
    text = began(Place("p", "p", "drain", "r"), of_error(error)).text
    assert "a person" not in text
    assert "Next: " in text


def test_the_document_shows_a_message_as_it_is():
    page = (REPO / "docs" / "seeing.md").read_text()
    pipeline, run = "departure_delays", "scheduled__2026-03-01T12:00:00+00:00"
    down = KafkaUnreachable("broker:9092 did not answer in 10 s.", "Start the brokers.")
    assert began(Place(pipeline, pipeline, "plan", run), of_error(down)).text in page


def test_a_mail_server_that_hangs_does_not_keep_the_webhook_from_telling(hook, monkeypatch, caplog):
    """Airflow ends the process 20 seconds after the task: whoever waits longer tells nobody."""
    monkeypatch.setattr(bounded, "SECONDS", 1.0)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(8)
        extra = {"to": "a@example.org", "from_email": "b@example.org", "timeout": 60}
        extra |= {"disable_ssl": True, "disable_tls": True}
        server = {"conn_type": "smtp", "host": "127.0.0.1", "port": mute.getsockname()[1]}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_MAIL", json.dumps(server | {"extra": extra}))
        began = time.monotonic()
        with caplog.at_level(logging.WARNING, "sluice_airflow"):
            assert ran(one_task("told_mute", KafkaUnreachable("no answer.")), 0) == "failed"
        assert time.monotonic() - began < 30
    assert len(hook.posts) == 1
    assert "sluice_mail could not tell" in caplog.text
    assert "no answer in 1 s" in caplog.text


def test_of_a_webhooks_answer_no_more_is_read_than_its_status(monkeypatch):
    class Endless(Hook):
        def do_POST(self):
            self.server.posts.append(self.path)  # type: ignore[attr-defined]
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b" " * 65_536)

    with serving(Endless) as server:
        server.posts = []
        connection = {"conn_type": "http", "schema": "http", "host": "127.0.0.1"}
        connection |= {"port": server.server_address[1], "password": PATH}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_WEBHOOK", json.dumps(connection))
        dag = one_task("told_endless", KafkaUnreachable("no answer."))
        assert [ran(dag, hour) for hour in (0, 1)] == ["failed", "failed"]
        assert server.posts == [f"/{PATH}"], "told, once"


def test_a_check_whose_report_cannot_be_read_is_told_by_its_own_error(hook):
    assert ran(checked({"report_version": 2}), 20) == "failed"
    assert "ValidationError: the task failed. Next: read its log." in texts(hook)[0]


def test_a_check_task_that_fails_though_its_checks_have_passed_is_told(hook):
    class Dies(CheckOperator):
        def execute(self, context: Context) -> dict[str, int]:  # noqa: ARG002 - Airflow passes it
            raise MemoryError

    odd = result("a", "warning", "failed")
    with dag_of("told_dies") as dag:
        drain = Does(task_id="drain", tries=[report(odd)])
        drain >> Dies(task_id="check_output", pipeline="told_dies", suite="output", retries=0)
    assert ran(dag, 0) == "failed"
    assert texts(hook)[0].startswith("[Sluice] told_dies: MemoryError and WARNING")
