"""`python -m local.measures`: how large and how entangled the product is, beside the figures that
measures.json keeps. It fails where one has grown. `--keep` writes them anew: on purpose, with the
change that needs it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

REPO: Final = Path(__file__).resolve().parents[1]
KEPT: Final = Path(__file__).with_suffix(".json")
PRODUCT: Final = "spark_jobs"
DRAIN: Final = f"{PRODUCT}.runs.drain"
OWN: Final = f"{PRODUCT}/spec/steps/"
"""Where a step may ask for its own class."""
KINDS: Final = {"aggregate", "deduplicate", "group_state", "history", "latest", "transform"}
STEPS: Final = {each.title().replace("_", "") for each in KINDS} | {"Following", "Keyed"}
DELTA: Final = re.compile(r'deltalake|DeltaTable|table\.delta|delta_log|format\("delta"\)')
TABLE: Final = f"{PRODUCT}/table/"
"""Where Delta may be named."""
TOPIC: Final = re.compile(r"(?<!spark_jobs\.)\bspec\.topic\b")
"""No import of the module."""
POSITIONS: Final = re.compile(r"\.by_partition\b")
SOURCE: Final = f"{PRODUCT}/source/"
"""Where positions may be looked into."""
RUNS: Final = "runs"
COMMANDS: Final = {
    "admin", "census", "cli", "contracts", "draft", "excise", "install", "main", "proof", "prove",
    "repair", "since", "tune", "where",
}  # fmt: skip
"""The rooms of commands, which put together what lies below the runs or beside them. One that the
runs need is none.
"""
WIDE: Final = 8
SMALL: Final = 6
"""Lines of a function's body, without its docstring."""


class Figure(NamedTuple):
    """A measure, and the file or room that has the most, if it is one's."""

    value: int
    where: str = ""


class Import(NamedTuple):
    """One name that a file imports, with the module that has it."""

    module: str
    name: str
    at_once: bool
    """Whether it is imported with the file: in no function, and not for types alone."""
    for_types: bool
    statement: int
    """Its line."""


class File:
    """A Python file of a tree."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = path.relative_to(root)
        self.text = path.read_text()
        parts = self.path.with_suffix("").parts
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def room(self) -> str:
        """The folder or file below its package, without the suffix."""
        return Path(self.path.parts[1]).stem if len(self.path.parts) > 1 else ""

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_imports(self.tree, at_once=True, for_types=False))


def _imports(node: ast.AST, *, at_once: bool, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        known = (at_once and not for_types, for_types, getattr(child, "lineno", 0))
        match child:
            case ast.Import(names=names):
                yield from (Import(alias.name, "", *known) for alias in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield from (Import(module, alias.name, *known) for alias in names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=others):
                for part, types in ((body, True), (others, for_types)):
                    inner = ast.Module(part, [])
                    yield from _imports(inner, at_once=at_once, for_types=types)
            case _:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from _imports(child, at_once=at_once and not function, for_types=for_types)


def figures(root: Path) -> dict[str, Figure]:
    """What is measured -> its figure, of the tree below `root`."""
    product, tests, plugins = (
        [File(root, path) for path in sorted((root / folder).rglob("*.py"))]
        for folder in (PRODUCT, "tests", "plugins")
    )
    reached = reach(product, DRAIN)
    others = imported_rooms(product, of_commands=False)
    wide = sorted(each for each in others if each[0] > WIDE)
    asking = [file for file in (*product, *plugins) if not str(file.path).startswith(OWN)]
    return {
        "lines of spark_jobs": Figure(sum(file.lines for file in product)),
        "files of spark_jobs": Figure(len(product)),
        "lines of tests": Figure(sum(file.lines for file in tests)),
        "files of tests": Figure(len(tests)),
        "lines that a drain reaches": Figure(sum(file.lines for file in reached)),
        "files that a drain reaches": Figure(len(reached)),
        "questions for a step's class": Figure(sum(map(questions, asking))),
        "files that ask for a step's class": Figure(sum(map(bool, map(questions, asking)))),
        "files that name Delta": _files_with(
            DELTA, (file for file in (*product, *plugins) if not str(file.path).startswith(TABLE))
        ),
        "files that read spec.topic": _files_with(TOPIC, [*product, *plugins]),
        "files that look into positions": _files_with(
            POSITIONS,
            (file for file in (*product, *plugins) if not str(file.path).startswith(SOURCE)),
        ),
        "most rooms that a room imports": _most(others),
        "rooms that import more than eight": Figure(len(wide), " ".join(room for _, room in wide)),
        "most rooms that a command imports": _most(imported_rooms(product, of_commands=True)),
        "most imports of a file": most_imports(product),
        "basenames of several files": Figure(
            sum(count > 1 for count in Counter(file.path.name for file in product).values())
        ),
        "small functions with one caller": small_with_one_caller(product),
    }


def questions(file: File) -> int:
    """How often it asks for a step's class: by isinstance, by a case, or by the step's kind."""
    return sum(_asks(node) for node in ast.walk(file.tree))


def _asks(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            return _names(classes, STEPS)
        case ast.MatchClass(cls=asked):
            return _names(asked, STEPS)
        case ast.Compare():
            return _names(node, {"kind"}) and any(
                isinstance(each, ast.Constant) and each.value in KINDS for each in ast.walk(node)
            )
    return False


def _names(node: ast.AST, wanted: Set[str]) -> bool:
    named = (getattr(each, "attr", getattr(each, "id", None)) for each in ast.walk(node))
    return any(name in wanted for name in named)


def _files_with(pattern: re.Pattern[str], files: Iterable[File]) -> Figure:
    return Figure(sum(bool(pattern.search(file.text)) for file in files))


def reach(files: Iterable[File], start: str) -> list[File]:
    """The files that a module's imports lead to, also those within functions; itself too. Not what
    is imported for types alone, nor the `__init__.py` of a package on the way. A name that a door
    loads when it is asked for leads to its own module: the door imports it for types.
    """
    by_module = {file.module: file for file in files}
    doors = {
        (file.module, each.name): each.module
        for file in by_module.values()
        if file.path.name == "__init__.py"
        for each in file.imports
        if each.for_types
    }
    found: dict[str, File] = {}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in found or module not in by_module:
            continue
        found[module] = by_module[module]
        for each in found[module].imports:
            inner = f"{each.module}.{each.name}"
            if not each.for_types:
                waiting.append(inner if inner in by_module else each.module)
                waiting.append(doors.get((each.module, each.name), ""))
    return list(found.values())


def imported_rooms(files: Iterable[File], *, of_commands: bool) -> list[tuple[int, str]]:
    """How many other rooms, or files beside the rooms, each room imports: the runs and the
    commands' rooms, or all others.
    """
    rooms: dict[str, set[str]] = {file.room: set() for file in files}
    for file in files:
        for each in file.imports:
            top, *inner = f"{each.module}.{each.name}".split(".")
            if top == PRODUCT and inner[0] in rooms:
                rooms[file.room] |= {inner[0]} - {file.room}
    needed, waiting = set[str](), [RUNS]
    while waiting:
        more = rooms.get(waiting.pop(), set()) - needed
        needed |= more
        waiting += more
    apart = {RUNS} | (COMMANDS - needed)
    return [(len(of), room) for room, of in rooms.items() if (room in apart) == of_commands]


def most_imports(files: Iterable[File]) -> Figure:
    """How many import statements run with the file that has most, without `__future__`'s."""

    def statements(file: File) -> int:
        at_once = (each for each in file.imports if each.at_once and each.module != "__future__")
        return len({each.statement for each in at_once})

    return _most((statements(file), str(file.path)) for file in files)


def small_with_one_caller(files: list[File]) -> Figure:
    """Functions with few lines that are named in one other place, by their names alone."""
    named: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for file in files:
        for node in ast.walk(file.tree):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    named[name] += 1
                case ast.FunctionDef() if _is_small(node):
                    small[node.name] += 1
    return Figure(sum(count for name, count in small.items() if named[name] == 1))


def _is_small(node: ast.FunctionDef) -> bool:
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return bool(body) and (node.end_lineno or 0) - body[0].lineno < SMALL


def _most(counted: Iterable[tuple[int, str]]) -> Figure:
    return Figure(*max(counted, default=(0, "")))


def _bound(name: str, value: int) -> int:
    """What is kept: of lines the next hundred, so that one sentence more does not fail."""
    return -(-value // 100) * 100 if name.startswith("lines") else value


def grown(now: dict[str, Figure], kept: dict[str, int]) -> list[str]:
    """The names of the figures that are larger than the kept ones, or are not kept."""
    return [name for name, figure in now.items() if figure.value > kept.get(name, -1)]


def main(root: Path, kept_in: Path, *, keep: bool) -> None:
    """Print the figures. Exits with 1 where one has grown."""
    now = figures(root)
    if keep:
        bounds = {name: _bound(name, figure.value) for name, figure in now.items()}
        kept_in.write_text(json.dumps(bounds, indent=2) + "\n")
    kept: dict[str, int] = json.loads(kept_in.read_text()) if kept_in.exists() else {}
    for name, figure in now.items():
        before = kept.get(name)
        told = "" if before == figure.value else f"   kept: {before or 'none'}"
        sys.stdout.write(f"{figure.value:>8,}  {name:<36}{figure.where}{told}\n")
    if more := grown(now, kept):
        sys.exit(
            f"Grown: {'; '.join(more)}. Make it less, or keep the figure with this change, on "
            "purpose: python -m local.measures --keep"
        )


if __name__ == "__main__":
    main(REPO, KEPT, keep="--keep" in sys.argv[1:])
