"""The lease as an object, between real processes: one takes it, it expires with its process, and a
sleeper finds it lost.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from upath import UPath

from spark_jobs.checkpoint import object_lease
from spark_jobs.checkpoint.lease import is_local, lease
from spark_jobs.checkpoint.object_lease import ObjectLease
from spark_jobs.errors import LeaseHeld, LeaseLost
from tests.harness.patience import patient
from tests.harness.refused import fails, has

REPO = Path(__file__).parents[2]
PATIENCE_SECONDS = patient(60)
HOLD = """
import sys
from upath import UPath
from spark_jobs.checkpoint import object_lease
from spark_jobs.errors import SluiceError
object_lease.RENEW_SECONDS = 0.2
lease = object_lease.ObjectLease(UPath(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
try:
    lease.take()
    print("held", flush=True)
    for _ in sys.stdin:
        lease.confirm()
        print("still held", flush=True)
    lease.release()
except SluiceError as error:
    print(error, flush=True)
"""


@contextmanager
def process(path: UPath, run_id: str) -> Iterator[subprocess.Popen[str]]:
    """One that takes the lease when a line comes, confirms it with each further line, and releases
    it at the end of input.
    """
    command = [sys.executable, "-c", HOLD, str(path), run_id]
    with subprocess.Popen(
        command, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert said(other) == "ready"
            yield other
        finally:
            other.kill()


def tell(other: subprocess.Popen[str]) -> None:
    other.stdin.write("\n")
    other.stdin.flush()


def said(other: subprocess.Popen[str]) -> str:
    return other.stdout.readline().strip()


def until(moment: Callable[[], object], what: str) -> None:
    """Wait for it.

    Nothing here expires but where a test says so, however slow the machine is: a life is a minute.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def path(tmp_path) -> UPath:
    return UPath(f"file://{tmp_path}/lease")


@pytest.fixture
def a_life_is_a_second(monkeypatch) -> Callable[[], None]:
    """From when it is called on, and for who looks from this process."""
    return lambda: monkeypatch.setattr(object_lease, "TTL_SECONDS", 1.0)


def renewed(path: UPath) -> float:
    """When the lease was last put, in seconds of the clock of the disk."""
    return max(found.stat().st_mtime for found in Path(path.path).parent.glob("lease.0*"))


def test_a_stage_and_a_drain_hold_leases_of_their_own(tmp_path):
    drain = ObjectLease(UPath(tmp_path / "lease"), "drain")
    stage = ObjectLease(UPath(tmp_path / "staging.lease"), "stage")
    stage.take()
    assert drain.holder() is None
    drain.take()
    stage.release()
    assert stage.holder() is None
    assert "run drain" in str(drain.holder())
    drain.release()


def test_of_processes_that_ask_at_once_one_has_it_and_the_others_are_told_who(path):
    for _ in range(3):
        with process(path, "run-a") as a, process(path, "run-b") as b:
            tell(a)
            tell(b)
            answers = {"run-a": said(a), "run-b": said(b)}
            holders = [run for run, answer in answers.items() if answer == "held"]
            assert len(holders) == 1, answers
            other = next(answer for run, answer in answers.items() if run not in holders)
            assert other.startswith("LEASE_HELD: ")
            assert holders[0] in other
            for one in (a, b):
                one.stdin.close()
                one.wait()


def once(lease: ObjectLease, meanwhile: Callable[[], None]) -> ObjectLease:
    """That lease, in whose name something happens right after it has first looked which number is
    the newest.
    """
    looked = lease._newest  # noqa: SLF001 - between two requests to a store

    def look() -> int | None:
        found = looked()
        lease._newest = looked  # type: ignore[method-assign] # noqa: SLF001 - as above
        meanwhile()
        return found

    lease._newest = look  # type: ignore[method-assign] # noqa: SLF001 - as above
    return lease


def test_one_that_is_taken_between_a_look_and_the_next_is_refused_with_its_holder(path):
    first, second = ObjectLease(path, "run-1"), ObjectLease(path, "run-2")
    first.take()
    first.release()
    with fails(LeaseHeld, "held_until", holder=has("run run-2")):
        once(ObjectLease(path, "slow"), second.take).take()
    second.confirm()
    second.release()


def test_a_number_that_others_have_passed_is_not_taken_again(path):
    leases = [ObjectLease(path, f"run-{number}") for number in range(3)]

    def pass_by():
        for lease_ in leases[:2]:
            lease_.take()
            lease_.release()
        leases[2].take()

    with fails(LeaseHeld, "held_until", holder=has("run run-2")):
        once(ObjectLease(path, "slow"), pass_by).take()
    leases[2].confirm()
    leases[2].release()
    following = ObjectLease(path, "next")
    following.take()
    following.release()


def test_what_is_released_is_free_at_once(path):
    with process(path, "run-1") as first:
        tell(first)
        assert said(first) == "held"
        assert "run-1" in (ObjectLease(path, "").holder() or "")
        first.stdin.close()
        first.wait()
    second = ObjectLease(path, "run-2")
    second.take()
    second.confirm()
    second.release()
    assert ObjectLease(path, "").holder() is None


def test_a_holder_that_was_killed_keeps_it_until_it_expires_and_no_longer(path, a_life_is_a_second):
    with process(path, "run-1") as first:
        tell(first)
        assert said(first) == "held"
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        next_one = ObjectLease(path, "run-2")
        with fails(LeaseHeld, "held_until", holder=has("run run-1")):
            next_one.take()
        a_life_is_a_second()
        until(lambda: ObjectLease(path, "").holder() is None, "it does not expire")
        assert time.time() - renewed(path) > 1.0
        next_one.take()
        next_one.release()


def test_a_holder_that_was_stopped_too_long_finds_it_lost_before_a_write(path, a_life_is_a_second):
    with process(path, "run-1") as sleeper:
        tell(sleeper)
        assert said(sleeper) == "held"
        taken = renewed(path)
        until(lambda: renewed(path) > taken, "it does not renew what it holds")
        tell(sleeper)
        assert said(sleeper) == "still held"
        os.kill(sleeper.pid, signal.SIGSTOP)
        a_life_is_a_second()
        until(lambda: ObjectLease(path, "").holder() is None, "one that stands still keeps it")
        other = ObjectLease(path, "run-2")
        other.take()
        os.kill(sleeper.pid, signal.SIGCONT)
        tell(sleeper)
        assert said(sleeper).startswith("LEASE_LOST: ")
        other.release()


def test_a_holder_that_could_not_renew_it_for_a_life_gives_up_unasked(path, monkeypatch):
    held = ObjectLease(path, "run-1")
    held.take()
    held.confirm()
    monkeypatch.setattr(object_lease, "TTL_SECONDS", 0.0)
    with fails(LeaseLost, "lease_expired"):
        held.confirm()
    held.release()


def test_who_slept_while_the_place_went_has_not_the_next_lease_of_that_number(path, monkeypatch):
    monkeypatch.setattr(object_lease, "RENEW_SECONDS", 0.05)
    late, prompt = ObjectLease(path, "late"), ObjectLease(path, "prompt")
    late.take()
    for each in Path(path.path).parent.glob("lease.*"):
        each.unlink()
    prompt.take()
    assert prompt.fence == late.fence
    time.sleep(0.3)
    with pytest.raises(LeaseLost):
        late.confirm()
    late.release()
    prompt.confirm()
    assert "run prompt" in str(prompt.holder())
    prompt.release()


def test_a_root_that_is_no_disk_is_leased_by_an_object(path, monkeypatch):
    assert not is_local(UPath("memory://bucket/checkpoints/sales/lease"))
    monkeypatch.setattr("spark_jobs.checkpoint.lease.is_local", lambda _: False)
    with lease(path, "run-1") as held:
        assert isinstance(held, ObjectLease)
        held.confirm()
