"""The end of a process: its state stores are closed, and none of them holds it."""

import threading
from types import SimpleNamespace

from spark_jobs.launch import session


def test_a_store_that_waits_for_its_disk_does_not_hold_a_run_that_has_ended(spark, monkeypatch):
    begun, disk, closed = threading.Event(), threading.Event(), threading.Event()

    def stop() -> None:
        begun.set()
        disk.wait(60)
        closed.set()

    monkeypatch.setattr(session, "CLOSE_SECONDS", 2.0)
    monkeypatch.setattr(session, "state_stores", lambda _: SimpleNamespace(stop=stop))
    session.close_stores()
    assert begun.wait(20)
    assert not closed.is_set()
    disk.set()
    assert closed.wait(60)
    assert not spark.streams.active
