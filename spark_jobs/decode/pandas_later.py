"""PyArrow without pandas, which it loads for its first list: a fifth of a second a process.

Imports no PySpark: a command asks for it before it knows whether Spark is there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Final

PANDAS: Final = "pandas"


def without_pandas() -> None:
    """Let PyArrow do without, unless this process has pandas already. Costs nothing again."""
    if PANDAS in sys.modules or any(isinstance(each, _Later) for each in sys.meta_path):
        return
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans does not need it

    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(absent)
        sys.meta_path.insert(0, _Later())


class _Absent(MetaPathFinder):
    def find_spec(self, name: str, *_: object) -> None:
        if name == PANDAS:
            raise ModuleNotFoundError(name=name)


class _Later(MetaPathFinder):
    """Finds pandas as Python does, once."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != PANDAS:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Telling(spec.loader.name, spec.loader.path)
        return spec


class _Telling(SourceFileLoader):
    """Tells PyArrow of what it has loaded."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        from pyarrow.lib import _pandas_api  # noqa: PLC0415 - as above

        assert _pandas_api.pd is module  # to ask it for pandas lets it look again
