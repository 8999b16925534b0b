"""Surroundings: what a process of its own would have: environment, folder, output, and no code of
another pipeline.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

from spark_jobs.launch.warm.inside.output import passed_on
from spark_jobs.launch.warm.inside.process_wide import SLUICE, VALUES, set_environment
from spark_jobs.launch.warm.variables import compared
from spark_jobs.registry import find as registry


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
    """After the block, the values of process_wide.py are as they were before it, and the code that
    it loaded of the users' is loaded no more. What cannot be put back is in the list then: a limit
    that was lowered for good, say.
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
