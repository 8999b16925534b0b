"""The fields of pydantic models, as rows of a table: name, type, default, meaning."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from local.reference.markdown import code, table
from spark_jobs.spec.duration import interval
from spark_jobs.spec.model import meaning

FIXED = ("kind", "stateful")
"""Fields of a step and a window that its class sets, and nobody writes."""
NAMES = {str: "text", timedelta: "duration", datetime: "time", type(None): "null", Any: "any"}
BOUNDS = {Ge: ("ge", "at least"), Gt: ("gt", "more than"), Le: ("le", "at most")}


def model_section(
    model: type[BaseModel], *, defaults: bool, beyond: type[BaseModel] | None = None
) -> str:
    """A heading, what the model is, and its fields: those alone that `beyond` has not."""
    about = (inspect.getdoc(model) or "").partition("\n\n")[0].replace("\n", " ")
    fields = ""
    if model.model_fields:
        fields = f"\n{model_table(model, defaults=defaults, beyond=beyond)}\n"
    return f"### {model.__name__}\n{about}\n{fields}"


def model_table(
    model: type[BaseModel], *, defaults: bool = True, beyond: type[BaseModel] | None = None
) -> str:
    """One model's fields. Raises ValueError for a field without a meaning."""
    known = beyond.model_fields if beyond else {}
    fields = {name: of for name, of in model.model_fields.items() if name not in known}
    return table(("field", "type", "meaning"), _rows(model, fields, defaults=defaults))


def _rows(
    model: type[BaseModel], fields: Mapping[str, FieldInfo], *, defaults: bool
) -> Iterator[tuple[str, ...]]:
    for name, field in fields.items():
        about = meaning(model, name)
        if name in FIXED and not about:
            continue
        if not about:
            message = f"{model.__name__}.{name} has no meaning"
            raise ValueError(message)
        default = _default(field) if defaults else ""
        yield code(name), _type(field) + default, about


def _type(field: FieldInfo) -> str:
    bounds = [(bound, *BOUNDS[type(bound)]) for bound in field.metadata if type(bound) in BOUNDS]
    return ", ".join(
        [
            shown(field.annotation),
            *(f"{words} {getattr(bound, name):,}" for bound, name, words in bounds),
        ]
    )


def shown(annotation: Any) -> str:
    """A type in words."""
    parts = get_args(annotation)
    match get_origin(annotation):
        case None:
            return NAMES.get(annotation) or _class(annotation)
        case origin if origin is Annotated:
            return shown(parts[0])
        case origin if origin is Literal:
            return ", ".join(map(code, parts))
        case origin if origin in (Union, types.UnionType):
            there = " or ".join(shown(each) for each in parts if each is not type(None))
            return there + "?" * (type(None) in parts)
        case origin if origin is dict:
            return f"{shown(parts[0])} -> {shown(parts[1])}"
        case _:
            return (
                f"{shown(parts[0])} …" if Ellipsis in parts else f"({', '.join(map(shown, parts))})"
            )


def _class(kind: type) -> str:
    """A model is a link to its own table."""
    return (
        f"[{kind.__name__}](#{kind.__name__.lower()})"
        if issubclass(kind, BaseModel)
        else kind.__name__
    )


def _default(field: FieldInfo) -> str:
    """Behind the type: nothing where it is null, empty or the defaults of a model."""
    if field.is_required():
        return "!"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, timedelta):
        return f" = {code(interval(value))}"
    if isinstance(value, datetime):
        return f" = {code(f'{value:%Y-%m-%d}')}"
    if value is None or isinstance(value, BaseModel) or value in ("", (), {}):
        return ""
    return f" = {code(value)}"
