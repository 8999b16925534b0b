"""Surroundings: what a process of its own would have: environment, folder, output, and no code of
another pipeline.
"""

from __future__ import annotations

import decimal
import logging
import os
import socket
import sys
import sysconfig
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TextIO

from spark_jobs.registry import find as registry
from spark_jobs.warm.inside.output import passed_on
from spark_jobs.warm.variables import compared

STREAMS = ("stdin", "stdout", "stderr")
SLUICE = __name__.partition(".")[0]


@contextmanager
def as_a_process(variables: Mapping[str, str], folder: str, output: int) -> Iterator[None]:
    """Within the block, this process is as one that spark-submit started with these variables in
    this folder, and `output` is the descriptor that it writes to.

    As under spark-submit, standard error goes where standard output goes. Afterwards all is as it
    was (put_back).
    """
    with put_back():
        _set_environment({**compared(os.environ), **variables})
        os.chdir(folder)
        with passed_on(output):
            yield


@contextmanager
def put_back() -> Iterator[None]:
    """After the block, environment, folder, path, standard streams, handlers of logging, warnings,
    mask, time-outs of sockets, context of decimals and limit of recursion are as they were before
    it, and the code that it loaded of the users' is loaded no more.
    """
    streams = {name: getattr(sys, name) for name in STREAMS}
    digits, depth = decimal.getcontext().copy(), sys.getrecursionlimit()
    before = dict(os.environ), Path.cwd(), [*sys.path], [*warnings.filters]
    root, handlers, level = logging.root, [*logging.root.handlers], logging.root.level
    patience, disabled, mask = socket.getdefaulttimeout(), root.manager.disable, os.umask(0o077)
    os.umask(mask)
    try:
        yield
    finally:
        for name, stream in streams.items():
            _put_back_stream(name, stream)
        _forget(_users_modules())
        decimal.setcontext(digits)
        sys.setrecursionlimit(depth)
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(disabled)
        socket.setdefaulttimeout(patience)
        os.umask(mask)
        warnings.filters[:] = before[3]  # type: ignore[index]  # a list, whatever its type says
        sys.path[:] = before[2]
        os.chdir(before[1])
        _set_environment(before[0])


def _put_back_stream(name: str, before: TextIO) -> None:
    """The run's own stream may be made of what is below the one of before, and closes that when it
    is collected.
    """
    now = getattr(sys, name)
    setattr(sys, name, before)
    if now is not before:
        with suppress(Exception):  # whatever the user's code has put there
            now.detach()


def _set_environment(variables: Mapping[str, str]) -> None:
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    time.tzset()


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
    file = getattr(module, "__file__", None)
    if not file or name == "__main__":
        return False
    path = Path(file)
    return not any(path.is_relative_to(folder) for folder in installed) and not (
        {"site-packages", "dist-packages"} & {*path.parts}
    )


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _forget(names: list[str]) -> None:
    for name in names:
        module = sys.modules.pop(name, None)
        parent, _, last = name.rpartition(".")
        holder = sys.modules.get(parent)
        if module is not None and getattr(holder, last, None) is module:
            delattr(holder, last)
