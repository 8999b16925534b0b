"""The lease, between real processes: one holds it, and it goes with that process however
it ends.
"""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from upath import UPath

from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.errors import LeaseHeld, LeaseLost
from tests.harness.patience import patient
from tests.harness.refused import fails, has

REPO = Path(__file__).parents[2]
HOLD = """
import sys, time
from upath import UPath
from spark_jobs.checkpoint.lease import lease
with lease(UPath(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""
ASK = """
import sys
from upath import UPath
from spark_jobs.checkpoint.lease import holder
print("asking", flush=True)
while True:
    holder(UPath(sys.argv[1]))
"""


@contextmanager
def process(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Another process, from its first line of output on; whatever happens, it is gone
    afterwards.
    """
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(
        command, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline()
            yield other
        finally:
            other.kill()


@pytest.fixture
def path(tmp_path) -> UPath:
    return UPath(tmp_path / "lease")


def test_a_second_process_is_refused_soon_and_told_who_holds_it(path):
    with process(HOLD, str(path), "run-1") as other:
        asked = time.monotonic()
        who = has("run-1", str(other.pid), socket.gethostname(), "since 20")
        with fails(LeaseHeld, "held_by_drain", holder=who), lease(path, "run-2"):
            pass
        assert time.monotonic() - asked < 3


def test_the_refused_one_leaves_the_holders_name_in_place(path):
    with process(HOLD, str(path), "run-1"):
        for _ in range(2):
            with fails(LeaseHeld, "held_by_drain", holder=has("run-1")), lease(path, "run-2"):
                pass


def test_a_second_lease_within_one_process_is_refused_too(path):
    with (
        lease(path, "run-1"),
        fails(LeaseHeld, "held_by_drain", holder=has(f"process {os.getpid()}")),
        lease(path, "run-2"),
    ):
        pass


@pytest.mark.parametrize(
    "end", [lambda other: other.stdin.close(), lambda other: other.send_signal(signal.SIGKILL)]
)
def test_the_lease_is_free_once_its_holder_has_ended_or_was_killed(path, end):
    with process(HOLD, str(path), "run-1") as other:
        end(other)
        other.wait(timeout=patient(10))
        with lease(path, "run-2"):
            assert "run-2" in str(holder(path))


def test_the_lease_is_free_after_an_error_in_the_block(path):
    with pytest.raises(ZeroDivisionError), lease(path, "run-1"):
        raise ZeroDivisionError
    assert holder(path) is None


def test_a_longer_name_leaves_nothing_behind_in_the_file(path):
    for run in ("a-run-with-a-very-long-name", "b"):
        with lease(path, run):
            assert json.loads(path.read_text())["run_id"] == run


def test_a_child_that_outlives_its_holder_does_not_keep_the_lease(path):
    """The JVM and Python's workers are children: none of them inherits the lock."""
    with lease(path, "run-1"):
        child = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        assert holder(path) is None
    finally:
        child.kill()
        child.wait()


def test_there_is_no_holder_where_nobody_ever_was_and_asking_makes_no_file(path):
    assert holder(path) is None
    assert not path.exists()


def test_asking_for_the_holder_takes_nothing(path):
    with lease(path, "run-1"):
        assert str(holder(path)).startswith("run run-1 (process")
    assert holder(path) is None
    with lease(path, "run-2"):
        pass


def test_two_who_ask_at_once_do_not_take_each_other_for_the_holder(path):
    path.touch()
    with Path(str(path)).open("rb") as asked:
        fcntl.flock(asked, fcntl.LOCK_SH)
        assert holder(path) is None


def test_whoever_asks_all_the_time_keeps_nobody_from_the_lease(path):
    path.touch()
    with process(ASK, str(path)):
        for number in range(20):
            with lease(path, f"run-{number}"):
                pass


def test_a_holder_that_has_not_said_its_name_yet_is_still_one(path):
    with lease(path, "run-1"):
        path.write_text("")
        assert holder(path) == "another run that has not written its name yet"


def unlocked(path: UPath):
    """What a server does that has not heard of its client for long: the lock is anybody's."""
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if file.resolve() == Path(str(path)).resolve():
                fcntl.flock(int(file.name), fcntl.LOCK_UN)


@pytest.mark.parametrize("ended", [False, True], ids=["it works", "it has ended"])
def test_a_lock_that_was_lost_and_given_to_another_run_is_confirmed_no_more(path, ended):
    with lease(path, "run") as held:
        held.confirm()
        held.confirm()
        unlocked(path)
        with process(HOLD, str(path), "run") as other:  # of the same name
            if ended:
                assert other.stdin is not None
                other.stdin.close()
                other.wait(timeout=patient(10))
            with pytest.raises(LeaseLost):
                held.confirm()


def test_a_lock_that_nobody_had_since_is_confirmed_and_is_a_lock_again(path):
    with lease(path, "run-1") as held:
        unlocked(path)
        held.confirm()
        with fails(LeaseHeld, "held_by_drain", holder=has("run-1")), lease(path, "run-2"):
            pass


def test_where_somebody_removed_the_folder_nobody_gets_the_lease(path):
    with fails(LeaseLost, "lock_lost"), lease(path / "gone" / "lease", "run"):
        pass


def test_a_lock_on_a_file_that_was_replaced_is_confirmed_no_more(path):
    with lease(path, "run-1") as held:
        path.rename(path.with_name("elsewhere"))
        with fails(LeaseLost, "lock_lost"):
            held.confirm()
        with lease(path, "run-2"), fails(LeaseLost, "lock_lost"):
            held.confirm()
