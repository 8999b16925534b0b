"""Logic: a pipeline's logic.py as text: its digest, and whether it has what the spec names.

It is parsed and never run: where Airflow parses DAGs there may be no pyspark, which it imports.
"""

from __future__ import annotations

import ast
import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry.scope import BASE, Elsewhere, Found, Processor, Scope, method, source
from spark_jobs.spec import Pipeline

HANDLERS = {
    "init": ("handle",),
    "handleInputRows": ("key", "rows", "timerValues"),
    "handleExpiredTimer": ("key", "timerValues", "expiredTimerInfo"),
    "handleInitialState": ("key", "initialState", "timerValues"),
    "close": (),
}
"""Method of a processor -> its parameters after self (pyspark.sql.streaming.StatefulProcessor)."""
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
    file = f"{path.parent.name}/{path.name}"
    try:
        return ast.parse(path.read_bytes())  # bytes: Python finds the encoding, as it does later
    except SyntaxError as error:
        line = f" line {error.lineno}" if error.lineno else ""
        refused = SpecInvalid.not_python(file=f"{file}{line}", error=error.msg)
    except (RecursionError, MemoryError):
        refused = SpecInvalid.nested_too_deeply(file=file)
    except ValueError as error:  # UnicodeDecodeError too
        refused = SpecInvalid.not_python(file=file, error=error)
    raise refused


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
    return VERSION + hashlib.sha256(_as_json(tree).encode()).hexdigest()[:12]


def first_digest(path: Path) -> str | None:
    """The digest in its first form, without VERSION: of ast.dump, which differs by Python."""
    tree = without_docstrings(path)
    with suppress(RecursionError):  # no checkpoint has it then
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12] if tree else None
    return None


def without_docstrings(path: Path) -> ast.Module | None:
    """The module as `parsed` gives it, less the text that changes nothing."""
    tree = parsed(path)
    for node in ast.walk(tree) if tree else ():
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined, index]
    return tree


def _as_json(tree: ast.Module) -> str:
    """The tree as JSON, without empty fields: newer Pythons have more of them.

    A node is [class, [field, value], ...], a constant "type repr". Not recursive: expressions may
    be nested more deeply than Python calls.
    """
    told: list[str] = []
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Json):
            told.append(node)
        elif isinstance(node, ast.AST):
            fields = [(n, v) for n, v in ast.iter_fields(node) if v is not None and v != []]
            told.append(f'["{type(node).__name__}"')
            waiting.append(_Json("]"))
            for name, value in reversed(fields):
                waiting += [_Json("]"), value, _Json(f', ["{name}", ')]
        elif isinstance(node, list):
            told.append("[")
            waiting.append(_Json("]"))
            for place, part in reversed([*enumerate(node)]):
                waiting += [part, _Json(", " if place else "")]
        else:
            text = None if node is None else f"{type(node).__name__} {node!r}"
            told.append(json.dumps(text))
    return "".join(told)


class _Json(str):
    """Text that is JSON already."""

    __slots__ = ()


def refuse_unfit(spec: Pipeline, path: Path) -> None:
    """Raise SpecInvalid unless logic.py has each class and function that the spec names.

    Refused is what Spark would fail at with certainty. What only running shows is left to it.
    """
    wanted = [step for step in spec.steps if step.logic]
    tree = parsed(path) if wanted else None
    scope = Scope(tree) if tree else None
    for step in wanted:
        name = step.logic or ""
        if scope is None:
            _refuse(path, name, "there is no such file")
        if name not in scope and not scope.open:
            _refuse(path, name, f"it defines {', '.join(sorted(scope.defined)) or 'nothing'}")
        found = scope.get(name)
        if step.called_with is None:
            _refuse_no_processor(path, found, name)
        elif isinstance(found, type):
            _refuse(path, name, "the step calls a function, and this is a class")
        elif isinstance(found, ast.FunctionDef):
            _refuse_parameters(path, found, name, [""] * len(step.called_with), by_name=False)


def _refuse_no_processor(path: Path, found: Found, name: str) -> None:
    if isinstance(found, ast.FunctionDef):
        _refuse(path, name, f"the step needs a class derived from {BASE}, and this is a function")
    if found is None:
        return  # imported, assigned or decorated: only running it shows
    if not issubclass(found, Processor | Elsewhere):
        _refuse(path, name, f"the class is not derived from {BASE}")
    for handler, parameters in HANDLERS.items():
        try:
            node = method(found, handler)
        except KeyError:
            if handler in REQUIRED:
                given = ", ".join(("self", *parameters))
                _refuse(path, name, f"it lacks the method {handler}({given})")
            continue
        if node:
            _refuse_parameters(
                path, node, f"{name}.{handler}", ["self", *parameters], by_name=handler in BY_NAME
            )


def _refuse_parameters(
    path: Path, node: ast.FunctionDef, name: str, wanted: list[str], *, by_name: bool
) -> None:
    """Raise SpecInvalid unless the function can be called so."""
    positional = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
    unnamed = [arg.arg for arg in node.args.posonlyargs][1:]
    needed = len(positional) - len(node.args.defaults)
    required = [
        arg.arg
        for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is None and not (by_name and arg.arg in wanted)
    ]
    fits = needed <= len(wanted) and (len(positional) >= len(wanted) or node.args.vararg)
    if by_name:
        named = [*node.args.args, *node.args.kwonlyargs]
        takes = {arg.arg for arg in named[0 if node.args.posonlyargs else 1 :]}
        asked = positional[1:needed]
        fits = (
            (positional or node.args.vararg)
            and (node.args.kwarg or set(wanted[1:]) <= takes)
            and set(asked) <= set(wanted[1:])
            and not {*asked} & {*unnamed}
        )
    if not fits or required:
        told = ", ".join(wanted) if any(wanted) else f"{len(wanted)} parameters"
        takes_what = f"line {node.lineno} takes ({source(node.args)})"
        how = "by name" if by_name else "by position"
        _refuse(path, name, f"{takes_what}; Spark passes {told} {how}")


def _name(path: Path) -> str:
    return f"pipelines/{path.parent.name}/{path.name}"


def _refuse(path: Path, name: str, why: str) -> NoReturn:
    raise SpecInvalid.function_unfit(
        file=_name(path),
        name=name,
        why=why,
    )
