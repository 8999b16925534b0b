"""Logic: a pipeline's logic.py as text: its digest, and whether it has what the spec names.

It is parsed and never run: where Airflow parses DAGs there may be no pyspark, which it imports.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.step.group_state import GroupState

BASE = "StatefulProcessor"
HANDLERS = {
    "init": ("handle",),
    "handleInputRows": ("key", "rows", "timerValues"),
    "handleExpiredTimer": ("key", "timerValues", "expiredTimerInfo"),
    "handleInitialState": ("key", "initialState", "timerValues"),
    "close": (),
}
"""Method of a processor -> its parameters after self (pyspark.sql.streaming.StatefulProcessor)."""
FUNCTION = ("key", "frames", "state")
"""What applyInPandasWithState passes to a function, by position."""
BY_NAME = {"handleExpiredTimer"}
"""Spark passes these methods' arguments by name (stateful_processor_util.py): names count too."""
REQUIRED = ("init", "handleInputRows")
"""Abstract in StatefulProcessor."""
VERSION = "2-"
"""Before a digest that is the same on all versions of Python; the first form's was not."""


def parsed(path: Path) -> ast.Module | None:
    """The module; None where there is no file. Raises SpecInvalid where it does not parse."""
    if not path.exists():
        return None
    try:
        return ast.parse(path.read_text())
    except SyntaxError as error:
        raise SpecInvalid(
            f"{path.parent.name}/{path.name} line {error.lineno} is not valid Python: {error.msg}.",
            "Correct the line.",
        ) from None


def digest(path: Path) -> str | None:
    """Digest of a logic.py or of a module that it imports; None where there is none.

    Comments, docstrings and layout do not change it, nor does Python's version. Of a module that is
    no text it is the digest of the bytes. Raises SpecInvalid.
    """
    if path.suffix != ".py":
        return VERSION + hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    tree = without_docstrings(path)
    if tree is None:
        return None
    return VERSION + hashlib.sha256(json.dumps(_plain(tree)).encode()).hexdigest()[:12]


def first_digest(path: Path) -> str | None:
    """The digest as checkpoints of before 0.1.0 have it: of ast.dump, which differs by Python."""
    tree = without_docstrings(path)
    return None if tree is None else hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


def without_docstrings(path: Path) -> ast.Module | None:
    """The module as `parsed` gives it, less the text that changes nothing."""
    tree = parsed(path)
    for node in ast.walk(tree) if tree else ():
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined, index]
    return tree


def _plain(node: Any) -> Any:
    """The tree as JSON, without empty fields: newer Pythons have more of them."""
    if isinstance(node, ast.AST):
        fields = [(name, _plain(value)) for name, value in ast.iter_fields(node)]
        return [type(node).__name__, *((n, v) for n, v in fields if v not in (None, []))]
    if isinstance(node, list):
        return [_plain(part) for part in node]
    return node if node is None else f"{type(node).__name__} {node!r}"


def refuse_unfit(spec: Pipeline, path: Path) -> None:
    """Raise SpecInvalid unless logic.py has each class and function that the spec names.

    Refused is what Spark would fail at with certainty. What only running shows is left to it.
    """
    wanted = [step for step in spec.steps if step.logic]
    tree = parsed(path) if wanted else None
    for step in wanted:
        name = step.logic or ""
        if tree is None:
            _refuse(path, name, "there is no such file")
        found = next((node for node in _defined(tree) if _binds(node, name)), None)
        if found is None:
            names = sorted({node.name for node in _defined(tree) if hasattr(node, "name")})
            _refuse(path, name, f"it defines {', '.join(names) or 'nothing'}")
        if isinstance(step, GroupState) and step.form != "apply":
            _refuse_no_processor(path, tree, found, name)
        elif isinstance(found, ast.ClassDef):
            _refuse(path, name, "the step calls a function, and this is a class")
        elif isinstance(found, ast.FunctionDef):
            count = len(FUNCTION) if isinstance(step, GroupState) else 1
            _refuse_parameters(path, found, name, [""] * count, by_name=False)


_BINDING = (
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Assign,
    ast.AnnAssign,
    ast.Import,
    ast.ImportFrom,
)


def _defined(tree: ast.Module) -> Iterator[Any]:
    """The statements that may bind a name, wherever they are."""
    return (node for node in ast.walk(tree) if isinstance(node, _BINDING))


def _binds(node: Any, name: str) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any((alias.asname or alias.name) in {name, "*"} for alias in node.names)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return bool(node.name == name)


def _refuse_no_processor(path: Path, tree: ast.Module, found: Any, name: str) -> None:
    if isinstance(found, ast.FunctionDef):
        _refuse(path, name, f"the step needs a class derived from {BASE}, and this is a function")
    if not isinstance(found, ast.ClassDef):
        return  # imported or assigned: only running it shows
    methods, known = _methods(tree, found)
    if known and not methods:
        _refuse(path, name, f"the class is not derived from {BASE}")
    for method, parameters in HANDLERS.items():
        if node := methods.get(method):
            _refuse_parameters(
                path, node, f"{name}.{method}", ["self", *parameters], by_name=method in BY_NAME
            )
        elif known and method in REQUIRED:
            given = ", ".join(("self", *parameters))
            _refuse(path, name, f"it lacks the method {method}({given})")


def _methods(tree: ast.Module, cls: ast.ClassDef) -> tuple[dict[str, ast.FunctionDef], bool]:
    """Its methods with those of its bases in this file; and whether all bases are known here."""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    methods = dict[str, ast.FunctionDef]()
    known = True
    derived = False
    waiting = [cls]
    while waiting:
        node = waiting.pop()
        own = (part for part in node.body if isinstance(part, ast.FunctionDef))
        methods = {part.name: part for part in own} | methods
        for base in map(ast.unparse, node.bases):
            if base.rpartition(".")[2] == BASE:
                derived = True
            elif base in classes and classes[base] is not node:
                waiting.append(classes[base])
            else:
                known = False
    return (methods if derived or not known else {}), known


def _refuse_parameters(
    path: Path, node: ast.FunctionDef, name: str, wanted: list[str], *, by_name: bool
) -> None:
    """Raise SpecInvalid unless the function can be called so."""
    positional = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
    needed = len(positional) - len(node.args.defaults)
    required = [
        arg.arg
        for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is None and not (by_name and arg.arg in wanted)
    ]
    fits = needed <= len(wanted) and (len(positional) >= len(wanted) or node.args.vararg)
    if by_name:
        takes = {*positional, *(arg.arg for arg in node.args.kwonlyargs)}
        fits = (node.args.kwarg or set(wanted[1:]) <= takes) and set(positional[1:needed]) <= set(
            wanted[1:]
        )
    if not fits or required:
        told = ", ".join(wanted) if any(wanted) else f"{len(wanted)} parameters"
        takes_what = f"line {node.lineno} takes ({ast.unparse(node.args)})"
        how = "by name" if by_name else "by position"
        _refuse(path, name, f"{takes_what}; Spark passes {told} {how}")


def _name(path: Path) -> str:
    return f"pipelines/{path.parent.name}/{path.name}"


def _refuse(path: Path, name: str, why: str) -> NoReturn:
    raise SpecInvalid(f"{_name(path)}: {name}: {why}.", "Correct logic.py, or the name in spec.py.")
