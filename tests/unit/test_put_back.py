"""What one run of a worker leaves to the next: nothing of its streams, numbers and lines."""

import decimal
import gc
import io
import os
import sys
import threading

import pytest

from spark_jobs.warm import still
from spark_jobs.warm.inside import surroundings, tail
from spark_jobs.warm.inside.surroundings import put_back


@pytest.fixture
def modules(monkeypatch) -> None:
    """Those of the tests stay: it would take them for a user's."""
    monkeypatch.setattr(surroundings, "_users_modules", list)


@pytest.mark.usefixtures("modules")
def test_a_stream_that_a_run_puts_over_ours_does_not_close_it(monkeypatch):
    ours = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", ours)
    for word in ("one", "two"):
        with put_back():
            sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
            sys.stdout.write(f"{word}\n")
        gc.collect()
        assert sys.stdout is ours
    ours.flush()
    assert ours.buffer.getvalue() == b"one\ntwo\n"


@pytest.mark.usefixtures("modules")
def test_decimals_and_recursion_are_as_before():
    precision, depth = decimal.getcontext().prec, sys.getrecursionlimit()
    with put_back():
        decimal.getcontext().prec = 5
        sys.setrecursionlimit(depth + 77)
    assert (decimal.getcontext().prec, sys.getrecursionlimit()) == (precision, depth)


def test_a_client_that_reads_late_gets_no_line_of_the_next_run(tmp_path, monkeypatch):
    monkeypatch.setattr(tail, "SLOW_SECONDS", 0.2)
    log = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    read, write = os.pipe()
    with tail.followed(log, write):
        os.write(log, b"first\n" * 50_000)  # more than a pipe holds
    os.close(write)
    os.write(log, b"next\n")
    found = b""
    while part := os.read(read, 1 << 20):
        found += part
    assert found.startswith(b"first\n")
    assert b"next" not in found
    for thread in threading.enumerate():
        if thread.name == "tail":
            thread.join(10)
            assert not thread.is_alive()
    os.close(log)


def test_a_worker_one_of_whose_processes_has_ended_meanwhile_is_at_work():
    before = {(1, 5.0): 1.0, (2, 6.0): 1.3}
    assert still._at_work(before, {(1, 5.0): 1.6})  # noqa: SLF001 - needs no processes
    assert still._at_work(before, {(1, 5.0): 1.0, (2, 7.0): 0.0}), "the number is another's now"  # noqa: SLF001
    assert still._at_work(before, before | {(3, 8.0): 0.1})  # noqa: SLF001
    assert not still._at_work(before, {(1, 5.0): 1.01, (2, 6.0): 1.3})  # noqa: SLF001
