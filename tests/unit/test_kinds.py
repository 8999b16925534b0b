"""Kinds of run: what differs between them is a fact in one table, and no name that is compared."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from spark_jobs.messages import kind
from spark_jobs.messages.kind import ASKED_KINDS, BESIDE_KINDS, KINDS, Kind
from spark_jobs.repair.unit import key_unit, range_unit

REPO = Path(__file__).parents[2]
FILES = [
    path
    for top in ("spark_jobs", "plugins", "dags", "local")
    for path in sorted((REPO / top).rglob("*.py"))
    if path != Path(kind.__file__)
]
_IN_SQL = re.compile(rf"\bkind (=|<>|!=|IN) *\(?'({'|'.join(KINDS)})'")
NOT_A_KIND = {"run.run_type == 'backfill'"}
"""Airflow's word for a run of its own."""


def compared(source: str) -> Iterator[str]:
    """The comparisons, patterns and conditions of SQL in which the name of a kind stands."""
    if not any(kind in source for kind in KINDS):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare() | ast.MatchValue():
                inside = (each for each in ast.walk(node) if isinstance(each, ast.Constant))
                if any(each.value in KINDS for each in inside if isinstance(each.value, str)):
                    yield ast.unparse(node)
            case ast.Constant(value=str(text)) if _IN_SQL.search(text):
                yield text
            case _:
                pass


def test_no_file_compares_a_kind_with_a_name():
    found = {path: {*compared(path.read_text())} - NOT_A_KIND for path in FILES}
    assert {str(path): lines for path, lines in found.items() if lines} == {}


def test_every_kind_has_a_row_and_no_other_name_has():
    assert {*KINDS} == {"drain", *ASKED_KINDS}
    assert {name for each in get_args(Kind) for name in get_args(each) or (each,)} == {*KINDS}


def test_every_staged_kind_has_a_way_to_find_its_ranges():
    staged = [facts for facts in KINDS.values() if facts.staged]
    assert {facts.reads for facts in staged} == {*range_unit.FINDERS}
    assert {KINDS[kind].reads for kind in BESIDE_KINDS if KINDS[kind].staged} == {*key_unit.FINDERS}
