"""A client of Airflow's REST API: trigger DAGs, and wait for their runs while saying what
happens.
"""

import json
import time
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from local.airflow import Airflow, AirflowError

POLL_SECONDS = 1.0
QUIET_SECONDS = 20.0
AIRFLOWS_OWN = "Task failed with exception"
ENDED = ("success", "failed")
NOT_FOUND = 404


class Api:
    """A session with one Airflow."""

    def __init__(self, airflow: Airflow) -> None:
        self._home = airflow.home
        self._client = httpx.Client(base_url=airflow.url, timeout=30)
        login = {"username": airflow.user, "password": airflow.password}
        token = self._answer("POST", "/auth/token", login)["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def dags(self) -> list[str]:
        """The ids of the DAGs that Airflow has found so far."""
        return [dag["dag_id"] for dag in self._answer("GET", "/api/v2/dags")["dags"]]

    def await_dags(self, wanted: set[str], seconds: float = 60) -> None:
        """Until Airflow has found all of `wanted`; raises AirflowError, with the import errors,
        when it has not.
        """
        deadline = time.monotonic() + seconds
        while missing := wanted - set(self.dags()):
            if time.monotonic() > deadline:
                errors = self._answer("GET", "/api/v2/importErrors")["import_errors"]
                why = (
                    "; ".join(error["stack_trace"].strip().splitlines()[-1] for error in errors)
                    or "no import error"
                )
                message = f"Airflow has not found the DAGs {sorted(missing)}: {why}"
                raise AirflowError(message)
            time.sleep(POLL_SECONDS)

    def trigger(self, dag_id: str, run_id: str, **params: object) -> None:
        """Start a manual run with these params.

        It has no logical date: a date would hide one day from a later backfill of that DAG.
        """
        self._answer(
            "POST",
            f"/api/v2/dags/{dag_id}/dagRuns",
            {"dag_run_id": run_id, "logical_date": None, "conf": params},
        )

    def wait(
        self,
        run_id: str,
        dag_ids: Collection[str],
        say: Callable[[str], None],
        seconds: float = 1800,
    ) -> dict[str, str]:
        """Until the runs of that id have ended in all of `dag_ids`: their states.

        `say` gets a line for every change of a task, every line of a drain's progress, and when
        long nothing happens. Raises AirflowError when one has not ended after `seconds`.
        """
        began = time.monotonic()
        states = dict.fromkeys(dag_ids, "")
        seen: dict[str, dict[str, str | None]] = {dag_id: {} for dag_id in dag_ids}
        progress = {dag_id: _progress(self._home, dag_id, run_id) for dag_id in dag_ids}
        quiet = began
        while unfinished := [dag_id for dag_id, state in states.items() if state not in ENDED]:
            for dag_id in unfinished:
                states[dag_id] = str(
                    self._answer("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}")["state"]
                )
                tasks = self.tasks(dag_id, run_id)
                lines = next(progress[dag_id]) + _changes(dag_id, seen[dag_id], tasks)
                seen[dag_id] = tasks
                for line in lines:
                    say(line)
                quiet = time.monotonic() if lines else quiet
            if time.monotonic() - quiet > QUIET_SECONDS:
                quiet = time.monotonic()
                busy = [
                    f"{dag_id}.{task}"
                    for dag_id in unfinished
                    for task, now in seen[dag_id].items()
                    if now == "running"
                ]
                say(
                    f"... {', '.join(busy) or 'Airflow'} at work, {quiet - began:.0f} s since the "
                    "start"
                )
            if time.monotonic() - began > seconds:
                message = f"run {run_id} has not ended after {seconds:.0f} s: {seen}"
                raise AirflowError(message)
            time.sleep(POLL_SECONDS)
        return states

    def tasks(self, dag_id: str, run_id: str) -> dict[str, str | None]:
        """The state of each task of a run."""
        found = self._answer("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances")[
            "task_instances"
        ]
        return {task["task_id"]: task["state"] for task in found}

    def handed_over(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """What a task returned; None where it returned nothing."""
        task = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}"
        path = f"{task}/xcomEntries/return_value"
        answer = self._client.get(path)
        return None if answer.status_code == NOT_FOUND else answer.json()["value"]

    def runs(self, dag_id: str, since: datetime) -> dict[str, str]:
        """The runs that have started since then, scheduled ones too, and the state of each."""
        path = f"/api/v2/dags/{dag_id}/dagRuns"
        found = self._answer(
            "GET", path, params={"start_date_gte": since.isoformat(), "limit": "100"}
        )["dag_runs"]
        return {run["dag_run_id"]: run["state"] for run in found}

    def asset_events(self) -> list[dict[str, Any]]:
        """What has been published so far."""
        return list(self._answer("GET", "/api/v2/assets/events")["asset_events"])

    def errors(self, dag_id: str, run_id: str) -> list[str]:
        """The error lines in the logs of a run's tasks."""
        logs = sorted(_logs(self._home, dag_id, run_id).glob("task_id=*/attempt=*.log"))
        found = [
            event["event"]
            for log in logs
            for event in _events(log, 0)[0]
            if event.get("level") in {"error", "critical"}
        ]
        return [line for line in found if line != AIRFLOWS_OWN]

    def _answer(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        params: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        answer = self._client.request(method, path, json=body, params=params)
        if answer.is_error:
            message = (
                f"Airflow refused {method} {path} with {answer.status_code}: {answer.text[:300]}"
            )
            raise AirflowError(message)
        return dict(answer.json())


def _changes(dag_id: str, before: dict[str, str | None], now: dict[str, str | None]) -> list[str]:
    """A line for every task that runs, or has ended, and had not before."""
    return [
        f"{dag_id}: {task} {state}"
        for task, state in now.items()
        if before.get(task) != state and state not in {None, "scheduled", "queued"}
    ]


def _logs(home: Path, dag_id: str, run_id: str) -> Path:
    return home / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}"


def _progress(home: Path, dag_id: str, run_id: str) -> Iterator[list[str]]:
    """Each time: the lines of progress that the drain has logged since the last time.

    They begin with the pipeline's name.
    """
    read: dict[Path, int] = {}
    while True:
        lines = []
        for log in sorted((_logs(home, dag_id, run_id) / "task_id=drain").glob("attempt=*.log")):
            events, read[log] = _events(log, read.get(log, 0))
            lines += [
                line
                for event in events
                if (line := _message(event["event"])).startswith(f"{dag_id}: ")
            ]
        yield lines


def _message(line: str) -> str:
    """The message of a drain's line in either form of SLUICE_LOG."""
    return str(json.loads(line)["message"]) if line.startswith('{"time": ') else line


def _events(log: Path, start: int) -> tuple[list[dict[str, Any]], int]:
    """The log's whole lines from byte `start` on, and where they end.

    Airflow writes a JSON object a line.
    """
    with log.open("rb") as file:
        file.seek(start)
        data = file.read()
    whole = data[: data.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")], start + len(
        whole
    )
