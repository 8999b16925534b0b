"""Light import: Great Expectations without what no check of ours needs.

It imports clients of databases and clouds where it finds them, and calls them missing where it does
not: for its import they are missing. Statistics, plots and MLlib, which few expectations use, come
at their first use. So the import takes half of the time and of the memory (bench/NOTES.md).
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import LazyLoader
from types import ModuleType
from typing import Any, Final

MISSING: Final = {
    # databases, and the clouds in which their tables or its own stores may be
    *("sqlalchemy", "psycopg2", "snowflake", "trino", "pyodbc", "databricks", "pyathena"),
    *("boto3", "botocore", "google.cloud", "google.api_core", "google.auth", "azure"),
    # Spark Connect, whose sessions we do not use; and MLlib, of which it wants one class (below)
    *("pyspark.sql.connect", "pyspark.ml"),
}
LATER: Final = {"scipy", "altair"}
"""It needs them for distributions, and imports them at once."""


def great_expectations() -> ModuleType:
    """The package, imported."""
    finder = _Finder(threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        found = importlib.import_module("great_expectations")
        of_spark: Any = importlib.import_module("great_expectations.compatibility.pyspark")
    finally:
        sys.meta_path.remove(finder)
    if not of_spark.Bucketizer:  # what it has for a missing one is false
        of_spark.Bucketizer = _bucketizer
    return found


def _bucketizer(**options: Any) -> Any:  # MLlib's class, and its options
    from pyspark.ml.feature import Bucketizer  # noqa: PLC0415 - see the module's docstring

    return Bucketizer(**options)


class _Finder(MetaPathFinder):
    """Asked before Python's own. For one thread: what others import meanwhile is theirs."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raises ModuleNotFoundError for what is MISSING."""
        if threading.get_ident() != self._thread:
            return None
        if name in MISSING:
            raise ModuleNotFoundError(f"{name} is left out: {__name__}", name=name)
        if name.partition(".")[0] not in LATER:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = LazyLoader(spec.loader)
        return spec
