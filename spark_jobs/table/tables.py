"""Tables: what keeps the table of a place, which the spec's layout names."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from spark_jobs.spec import Layout

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.port import Table


def own_table(path: UPath) -> Table:
    """A table that Sluice keeps for itself, whatever the pipelines' are: Delta's."""
    return cast("Table", resolve_name(Layout.kept_by)(path))


def table_of(paths: Paths, name: str = "") -> Table:
    """The table of the pipeline's place, in the format that its spec declares, or a former one's of
    that name. It may not be there yet.
    """
    path = paths.tables / name if name else paths.table
    return cast("Table", resolve_name(paths.kept_by)(path))
