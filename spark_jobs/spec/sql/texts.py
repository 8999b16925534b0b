"""SQL texts: all Spark SQL in a declaration, found by the types of its fields (spec/sql/types.py):
a new field of such a type cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

from spark_jobs.spec.sql.types import Sql, SqlKeys


class SqlText(NamedTuple):
    """Spark SQL in a spec."""

    field: str
    """Its dotted name, counted from the model that was asked."""
    text: str
    query: bool
    """Whether it is a whole query, and not an expression over the input's columns."""


def sql_texts(model: BaseModel) -> tuple[SqlText, ...]:
    """All SQL in a declaration, and in those within it."""
    return tuple(_of_model(model, ""))


def _of_model(model: BaseModel, before: str) -> Iterator[SqlText]:
    for name, field in type(model).model_fields.items():
        where, value = f"{before}{name}", getattr(model, name)
        yield from _marked(field.metadata, value, where)
        yield from _within(field.annotation, value, where)


def _of_type(kind: Any, value: Any, where: str) -> Iterator[SqlText]:
    if get_origin(kind) is Annotated:
        kind, *marks = get_args(kind)
        yield from _marked(marks, value, where)
    yield from _within(kind, value, where)


def _marked(marks: list[Any], value: Any, where: str) -> Iterator[SqlText]:
    """The value itself, if a mark says that it is SQL."""
    for mark in marks:
        if isinstance(mark, Sql) and isinstance(value, str):
            yield SqlText(where, value, mark.query)
        if isinstance(mark, SqlKeys):
            for key in mark.keys:
                if isinstance(given := value.get(key), str):
                    yield SqlText(f"{where}[{key!r}]", given, query=False)


def _within(kind: Any, value: Any, where: str) -> Iterator[SqlText]:
    """The SQL in the parts of a value of this type."""
    if isinstance(value, BaseModel):
        yield from _of_model(value, f"{where}.")
    elif get_origin(kind) in (Union, UnionType):
        yield from _of_any(get_args(kind), value, where)
    elif get_origin(kind) is dict and isinstance(value, Mapping):
        for key, each in value.items():
            yield from _of_any(get_args(kind)[1:], each, f"{where}[{key!r}]")
    elif get_origin(kind) is tuple and isinstance(value, tuple):
        for number, each in enumerate(value):
            yield from _of_any(get_args(kind), each, f"{where}[{number}]")


def _of_any(kinds: tuple[Any, ...], value: Any, where: str) -> Iterator[SqlText]:
    """The SQL in a value that is of one of these types."""
    found = (text for kind in kinds for text in _of_type(kind, value, where))
    yield from dict.fromkeys(found)
