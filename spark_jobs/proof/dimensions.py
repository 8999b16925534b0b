"""Dimensions: where a scratch finds the tables beside its stream: in a case's rows, or where the
pipeline has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.errors import CaseInvalid
from spark_jobs.side.place import place_of
from spark_jobs.spec import Dimension

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""Name of a dimension -> its rows, by the table's columns."""


def in_place(spec: Pipeline, root: str) -> Pipeline:
    """The same, whose dimensions are found from another root too."""
    return _moved(spec, {each.name: place_of(each, root) for each in _dimensions(spec)})


def of_case(spec: Pipeline, rows: Rows, corrections: Sequence[Rows], folder: Path) -> Pipeline:
    """The same, with files in the folder for its dimensions, which hold `rows`. One that has a file
    of its own, and no rows here, keeps it, and has no corrections. Raises CaseInvalid for other
    names and columns, and where rows are missing.
    """
    known = {each.name: each for each in _dimensions(spec)}
    lacking = [name for name, of in known.items() if not of.is_file and name not in rows]
    corrected = {name for each in corrections for name in each} - rows.keys()
    if wrong := [*(rows.keys() - known), *lacking, *sorted(corrected)]:
        raise CaseInvalid.dimension_wrong(
            pipeline=spec.name, name=wrong[0], known=", ".join(known) or "none"
        )
    for name, given in (item for each in (rows, *corrections) for item in each.items()):
        columns = known[name].columns
        if odd := sorted({column for row in given for column in row} - columns.keys()):
            raise CaseInvalid.column_wrong(
                pipeline=spec.name, name=name, column=odd[0], columns=", ".join(columns)
            )
    here = _moved(spec, {name: str(folder / f"{name}.jsonl") for name in rows})
    put(here, rows)
    return here


def put(spec: Pipeline, rows: Rows) -> None:
    """Write them into the files of a case, in the place of what these have."""
    for each in _dimensions(spec):
        if each.name in rows:
            columns, given = each.columns, rows[each.name]
            lines = (json.dumps({column: row.get(column) for column in columns}) for row in given)
            Path(each.table).write_text("".join(f"{line}\n" for line in lines))


def _dimensions(spec: Pipeline) -> list[Dimension]:
    return [side for side in spec.sides if isinstance(side, Dimension)]


def _moved(spec: Pipeline, tables: Mapping[str, str]) -> Pipeline:
    steps = tuple(_with(step, tables) for step in spec.steps)
    return spec.model_copy(update={"steps": steps}) if tables else spec


def _with(step: Step, tables: Mapping[str, str]) -> Step:
    changes = {
        name: of.model_copy(update={"table": tables[of.name]})
        for name, of in step
        if isinstance(of, Dimension) and of.name in tables
    }
    return step.model_copy(update=changes) if changes else step
