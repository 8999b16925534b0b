"""What a field of a declaration means, for messages and for docs/reference.md.

It is the string under the field, which an editor shows too. Read from the source, and only when
somebody asks: pydantic's `use_attribute_docstrings` makes each import of a spec 80 ms slower.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise

from pydantic import BaseModel


def meaning(model: type[BaseModel], name: str) -> str:
    """A field's description, or else the string under it in the class that declares it. Empty if
    there is none, or no source.
    """
    if about := model.model_fields[name].description:
        return about
    declaring = (each for each in model.__mro__ if name in vars(each).get("__annotations__", {}))
    return " ".join(_under(next(declaring, model)).get(name, "").split())


def _under(declaring: type) -> dict[str, str]:
    """Name of a field -> the string under it."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(declaring))).body
    except (OSError, TypeError):
        return {}
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: under.value.value
        for field, under in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(under, ast.Expr) and isinstance(under.value, ast.Constant)
        if isinstance(under.value.value, str)
    }
