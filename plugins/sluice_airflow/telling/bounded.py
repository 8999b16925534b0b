"""A channel that is waited for so long and no longer."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from sluice_airflow.telling.message import Message

SECONDS = 8.0
"""Airflow ends a task's process 20 seconds after the task (`[core] task_success_overtime`): two
channels that do not answer fit into that.
"""


class Bounded:
    """Sends like `send`. Raises TimeoutError where that takes longer, and does not wait again: a
    server that does not answer must not keep the other channel from telling.

    Whatever was begun goes on without a listener, so a slow server may deliver it all the same, and
    the next run sends it again.
    """

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._late = False

    def __call__(self, message: Message) -> None:
        if self._late:
            raise TimeoutError("it did not answer before")
        ended: list[Exception | None] = []

        def work() -> None:
            try:
                self._send(message)
            except Exception as error:  # noqa: BLE001 - raised where it is waited for
                ended.append(error)
            else:
                ended.append(None)

        thread = Thread(target=work, name="sluice tells", daemon=True)
        thread.start()
        thread.join(SECONDS)
        if not ended:
            self._late = True
            raise TimeoutError(f"no answer in {SECONDS:g} s")
        if ended[0] is not None:
            raise ended[0]
