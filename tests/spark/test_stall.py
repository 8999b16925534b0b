"""A run in which nothing moves: it ends in words, with what its threads did, and the next resumes."""

import threading
from datetime import timedelta

from spark_jobs.errors import RunStalled
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import report_path
from tests.harness.long_form import long_form
from tests.harness.process import Running
from tests.harness.refused import because, has


def test_a_run_in_which_nothing_moves_ends_by_a_thread_dump_and_the_next_works(scene, monkeypatch):
    made = scene("flight_events", events=300, deliveries=1, stall_timeout=timedelta(seconds=4))
    made.deliver()
    kept = report_path(made.settings.root, made.spec.name, "hung").with_suffix(".threads.txt")
    monkeypatch.setitem(failpoint.ACTIVE, "planned", "wait")

    def release():
        Running.wait_until(kept.exists, "the thread dump")
        failpoint.ACTIVE.pop("planned", None)

    releasing = threading.Thread(target=release)
    releasing.start()
    report = made.drain("hung")
    releasing.join()
    told = {"limit": "4 seconds", "threads": has(str(kept))}
    because(report.problem, RunStalled, "stood_still", **told)
    dump = kept.read_text()
    assert "stream execution thread for" in dump, "the JVM's"
    assert "in _wait" in dump, "Python's: it stands at the failpoint"
    made.run("next")
    made.assert_exact()


@long_form
def test_a_slow_run_in_which_something_moves_goes_on(scene, monkeypatch):
    """Six batches that each stand still for less than the limit, and together for longer."""
    made = scene(
        "flight_events",
        events=300,
        deliveries=1,
        stall_timeout=timedelta(seconds=6),
        max_offsets_per_batch=80,
    )
    made.deliver()
    waits = []

    def slow(name: str):
        if name == "table.committed":
            waits.append(threading.Event().wait(2))

    monkeypatch.setattr(failpoint, "at", slow)
    made.run()
    assert len(waits) >= 4
    made.assert_exact()
