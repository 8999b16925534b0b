"""A file of one pipeline that does not answer: its own pages say so, and no other page waits."""

import os
import threading
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import Paths
from tests.airflow.web.written import MINE, OTHER, addresses
from tests.harness.patience import patient

PATIENCE_SECONDS = patient(60)
ASKED = 6
"""More than any pool of threads that a pipeline has."""


class NoThread:
    """As Python where a container has as many as it may."""

    def __init__(self, **_):
        pass

    def start(self):
        raise RuntimeError("can't start new thread")


@contextmanager
def silent(file):
    """A pipe in its place, of which each reader waits until the block ends."""
    kept = file.with_name("kept")
    file.rename(kept)
    os.mkfifo(file)
    try:
        yield
    finally:
        pipe = os.open(file, os.O_RDWR | os.O_NONBLOCK)  # who opens it now does not wait either
        kept.replace(file)
        os.close(pipe)


@pytest.fixture
def soon(monkeypatch, server):
    """Threads and questions of the test's own, which are given up sooner."""
    from sluice_airflow.web import apart, over_roots  # noqa: PLC0415 - the home comes first
    from sluice_airflow.web.asked import Asked  # noqa: PLC0415

    monkeypatch.setattr(apart, "SECONDS", 3.0)
    monkeypatch.setattr(apart, "SHARES", apart.Shares())
    for name, wait in (("TOGETHER", 1.0), ("ALONE", 1.5)):
        counts = getattr(over_roots, name).counts
        monkeypatch.setattr(over_roots, name, Asked(name, wait, counts))
    return apart


def lines(get):
    found = get("/api/pipelines", "everything")
    assert found.status_code == 200, found.text
    return {line["pipeline"]: line for line in found.json()["pipelines"]}


def test_a_file_of_one_pipeline_that_does_not_answer_takes_no_page_of_another(get, soon, root):
    with silent(root / Paths(str(root), registry.load(OTHER)).identity.relative_to(root)):
        for _ in range(ASKED):
            told = get(f"/api/pipelines/{OTHER}/repair", OTHER)
            assert (told.status_code, told.json()["code"]) == (503, "ROOT_UNREACHABLE")
            assert OTHER in told.json()["what"]
        answers = Counter(get(address).status_code for address in addresses(MINE))
        assert answers.keys() <= {200, 308}, answers
        for _ in range(2):  # the second knows which is silent
            found = lines(get)
            assert (found[MINE]["lacking"], len(found[MINE]["runs"])) == (None, 3)
            assert f"ROOT_UNREACHABLE: A file of pipeline '{OTHER}'" in found[OTHER]["lacking"]
        alone = {line["pipeline"]: line for line in get("/api/pipelines").json()["pipelines"]}
        assert (alone.keys(), alone[MINE]["lacking"]) == ({MINE}, None)
    assert get(f"/api/pipelines/{OTHER}/repair", OTHER).status_code == 200
    while lines(get)[OTHER]["lacking"]:
        pass
    assert len(lines(get)[OTHER]["runs"]) == 3


def test_pages_are_answered_again_once_the_machine_has_threads_again(soon, monkeypatch):
    threads = soon.Threads(2)
    with monkeypatch.context() as none_left:
        none_left.setattr(soon, "threading", SimpleNamespace(Thread=NoThread, Lock=threading.Lock))
        for _ in range(3):
            with pytest.raises(RuntimeError, match="new thread"):
                threads.submit(int).result(1.0)
    assert threads.submit(int).result(PATIENCE_SECONDS) == 0


def test_each_that_waits_is_answered_where_the_machine_has_no_thread_for_it(soon, monkeypatch):
    threads, ends = soon.Threads(1), threading.Event()
    first, *others = [threads.submit(work) for work in (ends.wait, int, int, int)]
    monkeypatch.setattr(soon, "threading", SimpleNamespace(Thread=NoThread, Lock=threading.Lock))
    ends.set()
    assert first.result(PATIENCE_SECONDS)
    for each in others:
        assert "new thread" in str(each.exception(PATIENCE_SECONDS))
