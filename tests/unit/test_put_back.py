"""What one run of a worker leaves to the next: nothing of its streams, numbers and lines."""

import codecs
import decimal
import fcntl
import gc
import importlib
import io
import locale
import logging
import os
import resource
import signal
import socket
import sys
import termios
import threading
import time
import warnings
from functools import partial
from typing import Any

import pytest

from spark_jobs.launch.warm import start
from spark_jobs.launch.warm.inside import output as tail, surroundings
from spark_jobs.launch.warm.inside.output import own_streams
from spark_jobs.launch.warm.inside.surroundings import VALUES, put_back


@pytest.fixture
def modules(monkeypatch) -> None:
    """Those of the tests stay: it would take them for a user's."""
    monkeypatch.setattr(surroundings, "_users_modules", list)


class Tee:
    """Another stream, which passes everything on to the one before."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def errors_to_output() -> None:
    sys.stderr = sys.stdout


def output_to_errors() -> None:
    sys.stdout = sys.stderr


def wrap() -> None:
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")


def wrap_the_first() -> None:
    sys.stdout = io.TextIOWrapper(sys.__stdout__.buffer, encoding="utf-8")  # type: ignore[union-attr]


def tee() -> None:
    sys.stdout, sys.stderr = Tee(sys.stdout), Tee(sys.stderr)  # type: ignore[assignment]


def encode() -> None:
    sys.stdout = codecs.getwriter("utf-8")(sys.stdout.buffer)  # type: ignore[assignment]


def close() -> None:
    sys.stdout.close()
    sys.stderr.close()


def detach() -> None:
    sys.stdout = io.TextIOWrapper(sys.stdout.detach())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "does", [errors_to_output, output_to_errors, wrap, wrap_the_first, tee, encode, close, detach]
)
def test_what_a_run_does_to_its_streams_the_next_one_does_not_see(capfd, does):
    ours = sys.stdout, sys.stderr, sys.__stdout__
    for run in ("first", "second"):
        with own_streams():
            sys.stdout.write(f"{run} begins\n")
            sys.stderr.write(f"{run} errors\n")
            does()
        gc.collect()
        assert (sys.stdout, sys.stderr, sys.__stdout__) == ours
    sys.stdout.write("ours\n")
    out, errors = capfd.readouterr()
    assert out == "first begins\nsecond begins\nours\n"
    assert errors == "first errors\nsecond errors\n"


def test_text_without_an_end_of_line_is_in_the_output_of_its_own_run(capfd):
    with own_streams():
        outlives = sys.stdout
        outlives.write("first")
        sys.stdout = io.StringIO()
    assert capfd.readouterr().out == "first"
    with own_streams():
        sys.stdout = io.TextIOWrapper(sys.stdout.buffer)
        sys.stdout.write("second")
    assert capfd.readouterr().out == "second"
    outlives.flush()
    assert not capfd.readouterr().out


def ignore_the_end() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def alarm() -> None:
    signal.alarm(1000)


def quieten() -> None:
    logging.getLogger("spark_jobs.launch.warm").setLevel(logging.CRITICAL)
    logging.getLogger("spark_jobs.new.one").addFilter(lambda _: False)
    logging.disable()


def other_records() -> None:
    logging.setLogRecordFactory(lambda *_, **__: None)  # type: ignore[arg-type,return-value]


def the_other_way() -> None:
    """A library of an earlier test may have captured them."""
    logging.captureWarnings(capture=logging._warnings_showwarning is None)  # type: ignore[attr-defined]  # noqa: SLF001 - no other way to ask


def few_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))


def few_digits() -> None:
    decimal.getcontext().prec = 5


def deeper() -> None:
    sys.setrecursionlimit(sys.getrecursionlimit() + 77)


def elsewhere() -> None:
    os.chdir("/")
    os.environ["SLUICE_ROOT"] = "/elsewhere"
    sys.path.insert(0, "/elsewhere")


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(
    "does",
    [
        ignore_the_end,
        alarm,
        quieten,
        other_records,
        few_files,
        few_digits,
        deeper,
        elsewhere,
        gc.disable,
        lambda: locale.setlocale(locale.LC_NUMERIC, "C.UTF-8"),
        lambda: warnings.simplefilter("ignore"),
        lambda: socket.setdefaulttimeout(1),
        lambda: os.umask(0o777),
        the_other_way,
        lambda: setattr(sys, "excepthook", print),
        lambda: sys.set_int_max_str_digits(640),
    ],
)
def test_what_a_run_sets_in_its_process_is_as_before_behind_it(does):
    def all_values() -> list[Any]:
        """Without the loggers that are new."""
        return [
            {key: value for key, value in found.items() if key in known}
            if isinstance(found := read(), dict) and "spark_jobs.launch.warm" in found
            else repr(found)
            for read, _ in VALUES
        ]

    logging.getLogger("spark_jobs.launch.warm")
    known = {"", *logging.root.manager.loggerDict}
    before = all_values()
    with put_back():
        does()
        assert all_values() != before
    assert all_values() == before
    new = logging.getLogger("spark_jobs.new.one")
    assert new.filter(logging.makeLogRecord({"name": new.name}))


def test_what_stands_in_for_a_module_holds_nothing_up(monkeypatch, tmp_path):
    class Anything:
        def __getattr__(self, _: str) -> Any:
            return self

    here, before = os.getcwd(), {*surroundings._users_modules()}  # noqa: PTH109, SLF001 - as the process has it
    monkeypatch.setattr(surroundings, "_users_modules", partial(new_ones, before))
    (tmp_path / "users_own.py").touch()
    with put_back() as left:
        monkeypatch.setitem(sys.modules, "stands_in", Anything())
        os.chdir(tmp_path)
        sys.path.insert(0, str(tmp_path))
        importlib.import_module("users_own")
    assert left == []
    assert os.getcwd() == here  # noqa: PTH109 - as above
    assert "users_own" not in sys.modules


def new_ones(before: set[str], every: Any = surroundings._users_modules) -> list[str]:  # noqa: SLF001 - the tests' own modules stay
    return [name for name in every() if name not in before]


def test_a_long_text_is_whole_though_a_signal_comes_between():
    read, write = os.pipe()
    kept = os.dup(1)
    os.dup2(write, 1)
    os.close(write)
    found = bytearray()

    came, main = threading.Event(), threading.get_ident()

    def waits() -> int:
        """Bytes in the pipe."""
        return int.from_bytes(fcntl.ioctl(read, termios.FIONREAD, bytes(4)), sys.byteorder)

    def slow() -> None:
        while waits() < fcntl.fcntl(read, fcntl.F_GETPIPE_SZ):
            time.sleep(0.001)
        signal.pthread_kill(main, signal.SIGUSR1)
        came.wait(30)
        while part := os.read(read, 4096):
            found.extend(part)

    usual = signal.signal(signal.SIGUSR1, lambda *_: came.set())
    reader = threading.Thread(target=slow)
    try:
        with own_streams():
            reader.start()
            assert sys.stdout.mode == "w"
            sys.stdout.write("x" * 1_000_000)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        signal.signal(signal.SIGUSR1, usual)
    reader.join(30)
    assert len(found) == 1_000_000
    os.close(read)


@pytest.mark.usefixtures("modules")
def test_what_cannot_be_put_back_is_told_and_holds_nothing_else(monkeypatch, tmp_path):
    def never(_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    read, _ = VALUES[-1]
    monkeypatch.setattr(surroundings, "VALUES", (*VALUES, (read, never)))
    here = os.getcwd()  # noqa: PTH109 - as the process has it
    with put_back() as left:
        os.chdir(tmp_path)
    assert left == ["ValueError: not allowed to raise maximum limit"]
    assert os.getcwd() == here  # noqa: PTH109 - as above


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("timer", [signal.ITIMER_REAL, signal.ITIMER_PROF, signal.ITIMER_VIRTUAL])
def test_a_timer_that_a_run_has_left_does_not_end_the_worker(timer):
    number = {0: signal.SIGALRM, 1: signal.SIGVTALRM, 2: signal.SIGPROF}[timer]
    before = signal.getsignal(number)  # a test before this one may have left a handler
    with put_back():
        signal.signal(number, lambda *_: None)
        signal.setitimer(timer, 1000, 1000)
    assert signal.getitimer(timer) == (0, 0)
    assert signal.getsignal(number) == before


@pytest.mark.usefixtures("modules")
def test_a_logger_of_code_that_is_loaded_again_has_its_handler_once():
    for _ in range(3):
        with put_back():
            log = logging.getLogger("users.own")
            log.addHandler(logging.NullHandler())
            log.setLevel(logging.ERROR)
            assert len(log.handlers) == 1
    assert logging.getLogger("users.own").level == logging.NOTSET


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
    assert start._at_work(before, {(1, 5.0): 1.6})  # noqa: SLF001 - needs no processes
    assert start._at_work(before, {(1, 5.0): 1.0, (2, 7.0): 0.0}), "the number is another's now"  # noqa: SLF001
    assert start._at_work(before, before | {(3, 8.0): 0.1})  # noqa: SLF001
    assert not start._at_work(before, {(1, 5.0): 1.01, (2, 6.0): 1.3})  # noqa: SLF001
