"""`make stack-demo`: whose reports are held against the ledger, by an Airflow that is a list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from local.demo import Clock
from local.stack import demo
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Report
from tests.harness import roots

NAMES = ("flight_events",)


class Answers:
    """An Airflow with a scheduled run amid the delivery, and the run that the demo triggers."""

    def __init__(self) -> None:
        self.began: dict[str, datetime] = {}

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None: ...

    def await_dags(self, _: set[str]) -> None: ...

    def trigger(self, _: str, run_id: str) -> None:
        self.began[run_id] = datetime.now(UTC)

    def wait(self, _: str, names: tuple[str, ...], __: object) -> dict[str, str]:
        return dict.fromkeys(names, "success")

    def runs(self, _: str, since: datetime) -> dict[str, str]:
        return {run: "success" for run, began in self.began.items() if began >= since}

    def handed_over(self, name: str, run: str, _: str) -> dict[str, Any]:
        now = datetime.now(UTC)
        account = Account(covered=10, read=10, rows_out=10)
        report = roots.report(name, run, at=now, account=account)
        return report.model_dump(mode="json")


def test_a_scheduled_run_that_begins_while_a_delivery_is_published_counts(monkeypatch):
    airflow = Answers()
    shown = list[dict[tuple[str, int], Report]]()
    monkeypatch.setattr(demo.registry, "names", lambda: NAMES)
    monkeypatch.setattr(demo, "Api", lambda _: airflow)
    monkeypatch.setattr(demo, "_publish", lambda *_: airflow.trigger("flight_events", "scheduled"))
    monkeypatch.setattr(demo, "_show", shown.append)
    demo._play(Clock(), None, "a password", [(1, [])])  # type: ignore[arg-type]  # noqa: SLF001 - without arguments and secrets
    assert shown[0]["flight_events", 1].account.read == 20
