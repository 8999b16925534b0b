"""Scope: the names that a module's text binds when it is imported, and what is known of each.

Read from the text, statement by statement; nothing is run. Where more than the text decides, a name
is known to be there, and nothing else of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

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
