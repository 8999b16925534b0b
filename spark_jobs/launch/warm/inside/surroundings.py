"""Surroundings: what a process of its own would have: environment, folder, output, no code of
another pipeline, and the values of the whole process that a run's code may change.
"""

from __future__ import annotations

import decimal
import gc
import locale
import logging
import os
import resource
import signal
import socket
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from spark_jobs.launch.warm.inside.output import passed_on
from spark_jobs.launch.warm.start import compared
from spark_jobs.registry import find as registry

SLUICE = __name__.partition(".")[0]
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


def set_environment(variables: Mapping[str, str]) -> None:
    """These variables and no others."""
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    time.tzset()


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in SIGNALS}


def _set_handlers(before: Mapping[int, Any]) -> None:
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)


def _timers() -> dict[int, tuple[float, float]]:
    return {each: signal.getitimer(each) for each in TIMERS}


def _set_timers(before: Mapping[int, tuple[float, float]]) -> None:
    for each, timer in before.items():
        signal.setitimer(each, *timer)


def _limits() -> dict[int, tuple[int, int]]:
    return {each: resource.getrlimit(each) for each in LIMITS}


def _set_limits(before: Mapping[int, tuple[int, int]]) -> None:
    for each, limit in before.items():
        if resource.getrlimit(each) != limit:
            resource.setrlimit(each, limit)


class _Logger(NamedTuple):
    """What a logger has by default, and what one had."""

    level: int = logging.NOTSET
    filters: tuple[Any, ...] = ()
    handlers: tuple[logging.Handler, ...] = ()
    disabled: bool = False
    propagate: bool = True


def _known() -> dict[str, logging.Logger]:
    known = [*logging.root.manager.loggerDict.items()]  # a thread of a run may make more
    return {"": logging.root} | {
        name: each for name, each in known if isinstance(each, logging.Logger)
    }


def _loggers() -> dict[str, _Logger]:
    return {
        name: _Logger(
            each.level, (*each.filters,), (*each.handlers,), each.disabled, each.propagate
        )
        for name, each in _known().items()
    }


def _set_loggers(before: Mapping[str, _Logger]) -> None:
    """But for those of libraries that stay loaded: they set them up once."""
    for name, each in _known().items():
        top = name.partition(".")[0]
        if name in before or top == SLUICE or top not in sys.modules:
            was = before.get(name, _Logger())
            each.setLevel(was.level)
            each.filters[:], each.handlers[:] = was.filters, was.handlers
            each.disabled, each.propagate = was.disabled, was.propagate


def _set_path(before: list[str]) -> None:
    sys.path[:] = before


def _set_hook(before: Callable[..., Any]) -> None:
    sys.excepthook = before


def _warned() -> tuple[Any, Any]:
    return warnings.showwarning, logging._warnings_showwarning  # type: ignore[attr-defined]  # noqa: SLF001 - captureWarnings is undone by it alone


def _set_warned(before: tuple[Any, Any]) -> None:
    warnings.showwarning, logging._warnings_showwarning = before  # type: ignore[attr-defined]  # noqa: SLF001 - as above


def _set_filters(before: list[Any]) -> None:
    warnings.filters[:] = before  # type: ignore[index]  # a list, whatever its type says


VALUES: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (lambda: dict(os.environ), set_environment),
    (Path.cwd, os.chdir),
    (lambda: [*sys.path], _set_path),
    (lambda: [*warnings.filters], _set_filters),
    (_warned, _set_warned),
    (_mask, os.umask),
    (_handlers, _set_handlers),
    (_timers, _set_timers),  # put back before the handlers: without one a timer ends the process
    (_limits, _set_limits),
    (socket.getdefaulttimeout, socket.setdefaulttimeout),
    (lambda: locale.setlocale(locale.LC_ALL), lambda was: locale.setlocale(locale.LC_ALL, was)),
    (_loggers, _set_loggers),
    (lambda: logging.root.manager.disable, logging.disable),
    (logging.getLogRecordFactory, logging.setLogRecordFactory),
    (logging.getLoggerClass, logging.setLoggerClass),
    (lambda: decimal.getcontext().copy(), decimal.setcontext),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    (lambda: sys.excepthook, _set_hook),
    (gc.isenabled, lambda was: gc.enable() if was else gc.disable()),
)
"""Read before a run, and put back behind it in the opposite order."""


@contextmanager
def as_a_process(variables: Mapping[str, str], folder: str, output: int) -> Iterator[list[str]]:
    """Within the block, this process is as one that spark-submit started with these variables in
    this folder, and `output` is the descriptor that it writes to.

    As under spark-submit, standard error goes where standard output goes. Afterwards all is as it
    was, but for what the list then says (put_back).
    """
    with passed_on(output), put_back() as left:
        set_environment({**compared(os.environ), **variables})
        os.chdir(folder)
        yield left


@contextmanager
def put_back() -> Iterator[list[str]]:
    """After the block, VALUES are as they were before it, and the code that it loaded of the users'
    is loaded no more. What cannot be put back is in the list then: a limit that was lowered for
    good, say.
    """
    before = [partial(put, read()) for read, put in VALUES]
    left = list[str]()
    try:
        yield left
    finally:
        for step in (_forget_users_modules, *reversed(before)):
            try:
                step()
            except Exception as error:  # noqa: BLE001 - whatever it is, the others are put back
                left.append(f"{type(error).__name__}: {error}")


def _users_modules() -> list[str]:
    """The loaded modules of the users: the pipelines' package, and what is on the path and neither
    Python's, nor installed, nor Sluice's.
    """
    package = registry.package()
    installed = [
        Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    ]
    return [
        name
        for name, module in [*sys.modules.items()]
        if _within(name, package)
        or (not _within(name, SLUICE) and _is_loose(name, module, installed))
    ]


def _is_loose(name: str, module: ModuleType, installed: list[Path]) -> bool:
    # Not by getattr: what stands in for a module may have an answer to everything.
    file = getattr(module, "__dict__", {}).get("__file__")
    if not isinstance(file, str) or name == "__main__":
        return False
    path = Path(file)
    return not any(path.is_relative_to(folder) for folder in installed) and not (
        {"site-packages", "dist-packages"} & {*path.parts}
    )


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _forget_users_modules() -> None:
    for name in _users_modules():
        module = sys.modules.pop(name, None)
        parent, _, last = name.rpartition(".")
        holder = sys.modules.get(parent)
        if module is not None and getattr(holder, last, None) is module:
            delattr(holder, last)
