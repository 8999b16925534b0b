"""Imports: the modules of the project that a logic.py imports, and those that these import.

They are found in the text. No module is imported or run.

Counted: imports anywhere in a file, also in functions, and the `__init__.py` of each package on the
way. Not counted: imports under TYPE_CHECKING, the standard library, installed packages and Sluice
itself. Not seen: modules that code imports by a name that it computes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple, NoReturn

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry.logic import parsed, without_docstrings
from spark_jobs.registry.project import Project
from spark_jobs.registry.scope import source

Modules = dict[str, Path | None]
"""Full name of a module -> its file; None for a module that may be missing, and is."""
_MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
"""A handler of one of these lets a module be missing."""


class Import(NamedTuple):
    """A module that a file imports."""

    module: str
    line: int
    attribute: bool
    """Whether the name may be an attribute of the module before it, not a module."""
    optional: bool
    """Whether the file handles its absence."""


def imported_modules(module: str, path: Path, project: Project) -> Modules:
    """The modules of the project that `module` needs, without itself, by name.

    Raises SpecInvalid if one is missing or is not valid Python.
    """
    found: Modules = {}
    waiting = [(module, path)]
    seen = {module}
    while waiting:
        importer, file = waiting.pop()
        for name, target in _targets(importer, file, project):
            if name in seen:
                continue
            seen.add(name)
            if target is not None and target.is_file():
                waiting.append((name, target))
            if target is None or not _is_empty(target):
                found[name] = target
    return dict(sorted(found.items()))


def _targets(importer: str, file: Path, project: Project) -> Iterator[tuple[str, Path | None]]:
    for wanted in _imports(importer, file):
        for name in filter(project.holds, _with_parents(wanted.module)):
            target = project.find(name)
            if target is None and name == wanted.module and _may_be_attribute(wanted, project):
                continue
            if target is None and not wanted.optional:
                _refuse_missing(file, wanted, name)
            yield name, target
            if target is None:
                break


def _may_be_attribute(wanted: Import, project: Project) -> bool:
    if not wanted.attribute:
        return False
    module = wanted.module.rpartition(".")[0]
    file = project.find(module)
    return not project.holds(module) or (file is not None and not _is_empty(file))


def _is_empty(file: Path) -> bool:
    if file.name != "__init__.py":
        return file.is_dir()
    tree = without_docstrings(file)
    return tree is not None and all(isinstance(node, ast.Pass) for node in tree.body)


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _imports(module: str, file: Path) -> Iterator[Import]:
    tree = parsed(file) if file.suffix == ".py" else None  # a compiled module has no text
    for node, optional in _statements(tree) if tree else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, attribute=False, optional=optional)
            continue
        base = _base(module, file, node)
        yield Import(base, node.lineno, attribute=False, optional=optional)
        for alias in node.names:
            if alias.name != "*":
                name = f"{base}.{alias.name}"
                yield Import(name, node.lineno, attribute=True, optional=optional)


def _base(module: str, file: Path, node: ast.ImportFrom) -> str:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    relative = "." * node.level + (node.module or "")
    try:
        return resolve_name(relative, package)
    except ImportError:
        wanted = Import(relative, node.lineno, attribute=False, optional=False)
        _refuse_missing(file, wanted, relative)


def _statements(tree: ast.Module) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, optional = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, optional
        elif isinstance(node, ast.If) and source(node.test).endswith("TYPE_CHECKING"):
            kept = node.body if source(node.test).startswith("not ") else node.orelse
            waiting += [(child, optional) for child in kept]
        elif isinstance(node, ast.Try):
            handled = optional or any(map(_handles_missing, node.handlers))
            waiting += [(child, handled) for child in node.body]
            rest = [*node.handlers, *node.orelse, *node.finalbody]
            waiting += [(child, optional) for child in rest]
        else:
            waiting += [(child, optional) for child in ast.iter_child_nodes(node)]


def _handles_missing(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & _MISSING)


def _refuse_missing(file: Path, wanted: Import, name: str) -> NoReturn:
    raise SpecInvalid.module_absent(
        folder=file.parent.name,
        file=file.name,
        line=wanted.line,
        module=wanted.module,
        name=name,
    )
