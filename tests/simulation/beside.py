"""Beside: the table beside the stream, whose versions are numbers in a file of the root. Each version
has other rows of some shops. A row of the output says with which version it was made.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spark_jobs.registry.fingerprint.environment import environment
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.table import Delta
from tests.harness import roots
from tests.simulation.bucket import local
from tests.unit.beside import LookUp, Numbered
from tests.unit.repaired import SPEC

NAME, CHANGES = "shops", "shops.changes"


def reading(folder: Path) -> Pipeline:
    """The pipeline, with a step that reads it."""
    table = Numbered(name=NAME, path=str(folder / NAME))
    step = LookUp(tables=(table,), by={"shop": "shop"})
    return SPEC.model_copy(update={"steps": (step, *SPEC.steps)})


def known(spec: Pipeline, paths: Paths) -> dict[str, Any]:
    """What identity.json says of it."""
    made = {"fingerprint": fingerprint(spec, version("pyspark")), "environment": environment(spec)}
    return made | {"table_id": Delta(paths.table).identifier()}


def begin(folder: Path) -> None:
    """Its first version."""
    (folder / CHANGES).write_text("{}")
    (folder / NAME).write_text(json.dumps(("1", 0, 0)))


def correct(folder: Path, shops: tuple[str, ...]) -> None:
    """One more version."""
    table_id, first, newest = json.loads((folder / NAME).read_text())
    found = json.loads((folder / CHANGES).read_text())
    found[str(newest + 1)] = [(json.dumps({"shop": shop}), None, None) for shop in shops]
    (folder / CHANGES).write_text(json.dumps(found))
    (folder / NAME).write_text(json.dumps((table_id, first, newest + 1)))


def changes(folder: Path, newest: int) -> dict[str, list[int]]:
    """Shop -> the versions, up to this one, that have other rows of it."""
    found = defaultdict[str, list[int]](list)
    for number, changed in json.loads((folder / CHANGES).read_text()).items():
        for key, *_ in changed if int(number) <= newest else ():
            found[json.loads(key)["shop"]].append(int(number))
    return found


def made_with(table: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Each row, and the version that it was made with."""
    for row in roots.rows_of(local(table)):
        yield row, int(row["ids"][1])
