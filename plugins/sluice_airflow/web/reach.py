"""Reach: the first offsets that Kafka still has, for the coverage page; asked in the background.

A page does not wait for brokers that do not answer. An answer, and the lack of one, counts for a
minute.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, TimeoutError as TooLong
from typing import Final

from spark_jobs.errors import SluiceError
from spark_jobs.settings.installation import Settings
from spark_jobs.source.micro_batch import Offsets
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline

COUNTS_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 2.0
_LOCK = threading.Lock()
_ASKED: dict[str, tuple[float, Future[Offsets | None]]] = {}
"""Topic -> when it was asked, and the answer to come. There are as many as pipelines' topics."""


def earliest(spec: Pipeline) -> Offsets | None:
    """Partition -> first offset; None if Kafka has not answered in WAIT_SECONDS, or the API server
    is not told of the brokers.
    """
    with _LOCK:
        topic = spec.topic.name
        asked = _ASKED.get(topic)
        if asked is None or (asked[1].done() and time.monotonic() - asked[0] > COUNTS_SECONDS):
            asked = _ASKED[topic] = (time.monotonic(), _begun(spec))
    try:
        return asked[1].result(WAIT_SECONDS)
    except TooLong:
        return None


def _begun(spec: Pipeline) -> Future[Offsets | None]:
    """The answer to come, asked in a thread for which a server that stops does not wait."""
    answer: Future[Offsets | None] = Future()
    name = f"first offsets of {spec.topic.name}"
    threading.Thread(target=_ask, args=(spec, answer), name=name, daemon=True).start()
    return answer


def _ask(spec: Pipeline, answer: Future[Offsets | None]) -> None:
    found = None
    try:
        found = source_of(spec, Settings.of(spec.topic)).state().earliest
    except SluiceError:
        pass
    finally:
        answer.set_result(found)
