"""What is heard of a Python worker whose socket the JVM has closed. Over a real daemon and its worker,
without a JVM.
"""

import os
import socket
import struct
import subprocess
import sys
import time
from tempfile import TemporaryDirectory

import psutil
import pytest

from spark_jobs.launch.foreground import Heard
from spark_jobs.launch.submit import ALONE, DAEMON
from tests.harness.patience import patient

SPARKS, OWN = "pyspark.daemon", ALONE["spark.python.daemon.module"]


@pytest.fixture
def folder():
    """A socket's path has room for some 100 letters: a lane's tmp_path is too long."""
    with TemporaryDirectory(dir="/tmp") as made:
        yield made


@pytest.mark.parametrize(
    ("module", "traces"), [(SPARKS, 1), (OWN, 0), (DAEMON, 0)], ids=["sparks", "own", "warm"]
)
def test_a_worker_that_nobody_listens_to_ends_and_prints_no_stack_trace(folder, module, traces):
    told = {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "PYTHON_WORKER_FACTORY_SOCK_DIR": folder,
            "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1"}  # fmt: skip
    words = [sys.executable, "-m", module, "pyspark.worker"]
    with subprocess.Popen(
        words, env=os.environ | told, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as daemon:  # fmt: skip
        assert daemon.stdin
        assert daemon.stdout
        assert daemon.stderr
        path = daemon.stdout.read(*struct.unpack("!i", daemon.stdout.read(4)))
        with socket.socket(socket.AF_UNIX) as jvm:
            jvm.connect(path.decode())
            worker = psutil.Process(*struct.unpack("!i", jvm.recv(4)))
            # A partition's number, and a version of Python that no worker has: it answers by that.
            jvm.sendall(struct.pack("!ii", 0, 3) + b"0.0")
        end = time.monotonic() + patient(20)
        while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert daemon.poll() is None, "it serves others"
        daemon.stdin.close()
        said = daemon.stderr.read().splitlines(keepends=True)
    assert b"".join(said).count(b"Traceback") == traces
    assert passed_on(said) == []


def passed_on(lines):
    heard = Heard()
    return [*(each for line in lines for each in heard.of(line)), *heard.rest()]


FRAME = b'  File "/x/pyspark/daemon.py", line 95, in worker\n'
TRACE = [b"Traceback (most recent call last):\n", FRAME, b"    outfile.flush()\n",
         b"BrokenPipeError: [Errno 32] Broken pipe\n"]  # fmt: skip
OTHER = [TRACE[0], b'  File "/x/pipelines/logic.py", line 3, in of\n', b"ValueError: no\n"]


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([line for line in TRACE for _ in range(2)], []),
        ([*TRACE, b"one\n", *TRACE], [b"one\n"]),
        ([*OTHER, *TRACE], OTHER),
        ([*TRACE[:3], *OTHER], [*TRACE[:3], *OTHER]),
        ([*TRACE[:2], b"MemoryError\n"], [*TRACE[:2], b"MemoryError\n"]),
        (TRACE[:2], TRACE[:2]),
        ([b"BrokenPipeError: mine\n", FRAME], [b"BrokenPipeError: mine\n", FRAME]),
    ],
)
def test_any_other_stack_trace_is_passed_on_whole(lines, left):
    assert passed_on(lines) == left
