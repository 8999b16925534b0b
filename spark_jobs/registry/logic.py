"""Logic: a pipeline's logic.py as text: its digest, and whether it has what the spec names.

It is parsed and never run: where Airflow parses DAGs there may be no pyspark, which it imports. Its
scope has the names that the text binds, statement by statement. Where more than the text decides, a
name is known to be there, and nothing else of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, cast

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Pipeline

Found = ast.FunctionDef | type | None
"""A plain function; a class, as an empty class with the same bases and methods; or None: what only
running the module shows.
"""
BASE = "StatefulProcessor"
_UNSEEN = {"globals", "locals", "vars", "exec", "setattr", "delattr"}
"""Calls that bind names, or change classes, without a trace in the text."""
_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Processor:
    """In the place of Spark's StatefulProcessor."""


class Elsewhere:
    """The base of what stands for a class that the text does not show."""


class Scope(dict[str, Found]):
    """Name -> what it is bound to at the module's end."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__()
        self.defined: set[str] = set()
        """The names of its functions and classes."""
        for statement in tree.body:
            for node in _within(statement):
                self._take(node, sure=node is statement)
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):  # a function binds them, whenever it is called
                self |= dict.fromkeys(node.names)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.open = bool(used & _UNSEEN or {"*", "__getattr__"} & self.keys())
        """Whether it may have more names than the text shows. Then nothing is known of any."""
        if self.open:
            self |= dict.fromkeys(self)

    def _take(self, node: ast.AST, *, sure: bool) -> None:
        """`sure` if no condition of the module decides."""
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            self.defined.add(node.name)
            self[node.name] = self._defined(node) if sure or node.name not in self else None
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            owner = self.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if isinstance(owner, type) and not node.attr.startswith("__"):
                setattr(owner, node.attr, None)
        else:
            self |= dict.fromkeys(_bound(node))

    def _defined(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Found:
        if node.decorator_list or isinstance(node, ast.AsyncFunctionDef):
            return None
        if isinstance(node, ast.FunctionDef):
            return node
        methods = _methods(node)
        if node.keywords or "__init_subclass__" in methods:
            return None
        own: dict[str, Any] = {n: m for n, m in methods.items() if not n.startswith("__")}
        bases = [self._base(base) for base in node.bases if source(base) != "object"]
        try:
            return type(node.name, tuple(bases), own)
        except TypeError:  # bases that do not go together
            return None

    def _base(self, node: ast.expr) -> type:
        name = source(node)
        found = self.get(name)
        if isinstance(found, type):
            return found
        ours = name in self.defined  # one that a decorator or a condition makes
        if name.rpartition(".")[2] == BASE and not ours:
            return Processor
        return type(name, (Elsewhere,), {})


def method(cls: type, name: str) -> ast.FunctionDef | None:
    """The method that a call of this name reaches; None if only running shows it.

    Raises KeyError if there is none.
    """
    for part in cls.__mro__:
        if Elsewhere in part.__bases__:
            return None
        if name in part.__dict__:
            found: ast.FunctionDef | None = part.__dict__[name]
            return found
    raise KeyError(name)


def source(node: ast.AST) -> str:
    """The text of a node; `...` of one that is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."


def _methods(cls: ast.ClassDef) -> dict[str, ast.FunctionDef | None]:
    """None for what is decorated, assigned or conditional."""
    own: dict[str, ast.FunctionDef | None] = {}
    for statement in cls.body:
        for node in _within(statement):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
                alone = node is statement or node.name not in own
                own[node.name] = node if plain and alone else None  # type: ignore[assignment]
            else:
                own |= dict.fromkeys(_bound(node))
    return own


def _within(statement: ast.stmt) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += reversed([*ast.iter_child_nodes(node)])


def _bound(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case _:
            return []


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
