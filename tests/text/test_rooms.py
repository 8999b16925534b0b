"""The rooms: what each one's text says of its imports is what the code imports."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from spark_jobs import spec
from tests.harness.ran import HEAVY, python

REPO = Path(__file__).parents[2]
TREES = {"spark_jobs": REPO, "sluice_airflow": REPO / "plugins"}
MOST_FILES = 20
MANY = 12
"""Of more rooms that import one, its text may say that any above it does."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the product, and its file."""
    for top, base in TREES.items():
        for path in sorted((base / top).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


FILES = dict(modules())


def imported(path: Path) -> set[str]:
    """The product's modules that a file imports, wherever in it, and also for types alone."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                found.add(inner if inner in FILES else node.module)
    return found & FILES.keys()


IMPORTS = {name: imported(path) - {name} for name, path in FILES.items()}
ROOMS = sorted(path.parent for path in FILES.values() if path.name == "__init__.py")


def sibling(module: str, package: str) -> str | None:
    """The file or room directly in the package that has the module."""
    if not module.startswith(f"{package}."):
        return None
    return module.removeprefix(f"{package}.").partition(".")[0]


def between_siblings(package: str) -> dict[str, set[str]]:
    """File or room -> those beside it that it imports."""
    found = defaultdict[str, set[str]](set)
    for module, others in IMPORTS.items():
        if (here := sibling(module, package)) is not None:
            found[here] |= {there for each in others if (there := sibling(each, package))} - {here}
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


PACKAGES = sorted(name for name, path in FILES.items() if path.name == "__init__.py")
TOP = between_siblings("spark_jobs")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_runs_through_the_files_and_rooms_of_a_room(package):
    assert circle(between_siblings(package)) == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(REPO).as_posix())
def test_a_room_has_few_enough_files_to_be_read_as_a_list(room):
    assert len([*room.glob("*.py")]) <= MOST_FILES


def between_tops(room: str) -> Iterator[str]:
    """The trees beside spark_jobs that import the room."""
    for module, others in IMPORTS.items():
        top = module.partition(".")[0]
        if top != "spark_jobs" and any(sibling(each, "spark_jobs") == room for each in others):
            yield top


def test_the_page_lists_each_room_above_those_that_it_imports():
    page = (REPO / "docs" / "architecture.md").read_text()
    table = page.partition("\n| room |")[2].partition("\n\n")[0].splitlines()[2:]
    listed = [room for row in table for room in re.findall(r"`(\w+)/`", row.split("|")[1])]
    assert sorted(listed) == sorted(name for name in TOP if f"spark_jobs.{name}" in PACKAGES)
    at = {room: place for place, room in enumerate(listed)}
    upward = {(a, b) for a in at for b in TOP[a] if b in at and at[b] < at[a]}
    assert upward == set()


def text(room: str) -> str:
    return " ".join(
        (ast.get_docstring(ast.parse(FILES[f"spark_jobs.{room}"].read_text())) or "").split()
    )


@pytest.mark.parametrize("room", sorted(name for name in TOP if f"spark_jobs.{name}" in PACKAGES))
def test_a_rooms_text_says_what_it_imports_who_imports_it_and_what_never_belongs_there(room):
    said = re.fullmatch(r".+ May import: (.+)\. Imported by: (.+)\. Never here: .+", text(room))
    assert said, text(room)
    by = {other for other, others in TOP.items() if room in others}
    by |= {"sluice_airflow"} & set(between_tops(room))
    for names, found in ((said[1], TOP[room]), (said[2], by)):
        if (names, len(found) > MANY) != ("any room above", True):
            none = names.startswith("no")
            assert found == (set() if none else {*names.split(", ")})


def test_the_door_of_a_spec_loads_nothing_heavy_and_no_settings():
    """In a process of its own: this one has long loaded pyspark."""
    code = (
        "import sys; from spark_jobs.spec import *;"
        f"print([name for name in {HEAVY} if name in sys.modules]);"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('spark_jobs.')}))"
    )
    heavy, rooms = map(ast.literal_eval, python(code).stdout.splitlines())
    assert (heavy, rooms) == ([], ["errors", "spec", "values"])


def test_the_door_of_a_spec_loads_no_step_that_the_spec_does_not_use():
    code = (
        "import sys; from spark_jobs.spec import Aggregate, Pipeline, Topic;"
        "print(sorted(name for name in sys.modules if name.startswith('spark_jobs.spec.')))"
    )
    loaded = {name.split(".", 2)[2] for name in ast.literal_eval(python(code).stdout)}
    unused = {"steps.history", "steps.group_state", "formats.avro", "json_schema", "checks.timely"}
    assert "steps.aggregate" in loaded
    assert loaded & unused == set()


def test_the_door_of_a_spec_shows_a_checker_the_names_that_it_has():
    tree = ast.parse(Path(spec.__file__).read_text())
    shown = {
        alias.name: node.module.removeprefix("spark_jobs.spec.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spark_jobs.")
        for alias in node.names
    }
    assert {name: getattr(spec, name) for name in spec.__all__} == {
        name: getattr(import_module(f"spark_jobs.spec.{home}"), name)
        for name, home in shown.items()
    }


def test_every_name_at_the_door_has_a_text_for_the_editor():
    assert [name for name in spec.__all__ if not (getattr(spec, name).__doc__ or "").strip()] == []


def test_what_the_door_offers_comes_by_the_door():
    names = "|".join(spec.__all__)
    inner = re.compile(
        rf"from spark_jobs\.spec\.[\w.]+ import (?:\([^)]*|[^\n]*)\b(?:{names})\b(?!\.)"
    )
    own = REPO / "spark_jobs" / "spec"
    roots = (REPO / each for each in ("spark_jobs", "plugins", "tests", "bench", "local", "dags"))
    files = (path for root in roots for path in root.rglob("*.py") if not path.is_relative_to(own))
    assert [path for path in files if inner.search(path.read_text())] == []
