"""Logic: a pipeline's logic.py as text: its digest, and whether it has what the spec names.

It is parsed and never run: where Airflow parses DAGs there may be no pyspark, which it imports.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path
from types import CodeType
from typing import NoReturn, cast

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
FORM = "4-"
"""Before a digest of files' bytes. Older Sluices wrote 2-, 3- or nothing, before one of syntax."""


def parsed(path: Path) -> ast.Module | None:
    """The module; None where there is no file. Raises SpecInvalid where it does not parse."""
    return cast("ast.Module", _compiled(path, ast.PyCF_ONLY_AST)) if path.exists() else None


def compiled(path: Path) -> CodeType:
    """The code of a file that is there. Raises SpecInvalid where it does not compile."""
    return cast("CodeType", _compiled(path, 0))


def _compiled(path: Path, flags: int) -> object:
    file = f"{path.parent.name}/{path.name}"
    try:
        # bytes: Python finds the encoding, as it does later
        return compile(path.read_bytes(), str(path), "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        line = f" line {error.lineno}" if error.lineno else ""
        refused = SpecInvalid.not_python(file=f"{file}{line}", error=error.msg)
    except (RecursionError, MemoryError):
        refused = SpecInvalid.nested_too_deeply(file=file)
    except ValueError as error:  # UnicodeDecodeError too
        refused = SpecInvalid.not_python(file=file, error=error)
    raise refused


def digest(path: Path) -> str | None:
    """Digest of a logic.py or of a module that it imports, by its bytes; None without a file."""
    if not path.exists():
        return None
    return FORM + hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def is_of_older_form(digest: object) -> bool:
    """Whether an older Sluice made it in another way, so that nobody can tell a change."""
    return not str(digest).startswith(FORM)


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
