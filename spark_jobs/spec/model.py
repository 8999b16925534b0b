"""The base of all declarations: frozen, no unknown fields, and errors that name field, value,
reason and remedy.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from spark_jobs.errors import SpecInvalid
from spark_jobs.errors.base import visible

if TYPE_CHECKING:
    from spark_jobs.errors import RangeInvalid


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


_REMEDIES = {
    "tuple_type": " Write ('one',) for one, with its comma, and ('one', 'two') for two.",
    "model_type": " Write it as a call, such as Json() or Tumbling(size='1 day').",
    "is_instance_of": " Write it as a call, such as {call}.",
}
"""pydantic's type of error -> the remedy, which pydantic's message lacks."""
_CALLS = {
    "Step": "Deduplicate(keys=('id',))",
    "PublishAt": "Transactions(topic='shop.transaction') from spark_jobs.transactions",
}
"""A base class of a field's values -> a call that makes one."""
MOST_GIVEN: Final = 300
"""Characters of a value in a message."""
OF_A_VARIABLE: Final = r"^([a-z][a-z0-9]*(_[a-z0-9]+)*)?$"
"""A name that is a part of a variable's name, before which `__` is; or none."""


class Model(BaseModel):
    """A frozen value. Its constructor raises SpecInvalid, with all problems in one message."""

    refused_as: ClassVar[type[SpecInvalid] | type[RangeInvalid]] = SpecInvalid
    """What the constructor raises: another error where no spec is declared."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        validate_default=True,
        arbitrary_types_allowed=False,
    )

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise self.refused_as.fields_refused(**_explained(type(self), data, error)) from None


def refuse(field: str, given: object, why: str, remedy: str) -> NoReturn:
    """Refuse a value, inside a validator.

    `field` is the dotted name, counted from the model that is constructed.

    If the validator belongs to a field's type, the message names the field of that type instead.
    """
    raise PydanticCustomError(
        "refused", "{why}", {"field": field, "given": repr(given), "why": why, "remedy": remedy}
    )


def refusal(subject: str, error: PydanticCustomError) -> SpecInvalid:
    """What `refuse` raised, outside of a validator: of a spec that was fine as far as it knew."""
    said = error.context or {}
    field = str(said["field"])
    return SpecInvalid.fields_refused(subject=subject, fields=field, problems=_refused(field, said))


def _refused(field: str, said: Mapping[str, Any]) -> str:
    return f"{field} is {_shown(said['given'])}: {said['why']}. {said['remedy']}."


def _explained(
    model: type[BaseModel], data: dict[str, Any], error: ValidationError
) -> dict[str, str]:
    """The parameters of fields_refused."""
    name = data.get("name")
    subject = f"{model.__name__} {name!r}" if isinstance(name, str) else model.__name__
    all_ = error.errors()
    details = [each for each in all_ if not _follows(each, all_)]
    return {
        "subject": subject,
        "fields": ", ".join(_field(model, detail) for detail in details),
        "problems": "; ".join(_sentence(model, detail) for detail in details),
    }


def _follows(detail: ErrorDetails, all_: list[ErrorDetails]) -> bool:
    """Whether it says that nothing is left of a tuple, of which others say why."""
    inner = (each["loc"] for each in all_ if len(each["loc"]) > len(detail["loc"]))
    return detail["type"] == "too_short" and any(
        loc[: len(detail["loc"])] == detail["loc"] for loc in inner
    )


def _field(model: type[BaseModel], detail: ErrorDetails) -> str:
    field = _dotted(_aliases(model), detail["loc"])
    return field or str(detail.get("ctx", {}).get("field", ""))


def _aliases(model: type[BaseModel]) -> dict[str, str]:
    return {name: each.alias or name for name, each in model.model_fields.items()}


def _sentence(model: type[BaseModel], detail: ErrorDetails) -> str:
    names, field = _aliases(model), _field(model, detail)
    if detail["type"] == "refused":
        return _refused(field, detail["ctx"])
    if detail["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(detail["loc"][-1]), names.values(), n=1)
        hint = (
            f"did you mean {close[0]!r}?"
            if close
            else f"the fields are {', '.join(names.values())}."
        )
        return f"unknown field {field!r} (given {_shown(repr(detail['input']))}): {hint}"
    if detail["type"] == "missing":
        about = meaning(model, field) if field in model.model_fields else ""
        return (
            f"field {field!r} is missing: it has no default"
            + (f" ({about})" if about else "")
            + "."
        )
    call = _CALLS.get(str(detail.get("ctx", {}).get("class")), "that of its class")
    remedy = _REMEDIES.get(detail["type"], "").format(call=call)
    why = detail["msg"][:1].lower() + detail["msg"][1:]
    return f"{field} is {_shown(repr(detail['input']))}: {why}.{remedy}"


def _shown(given: str) -> str:
    return visible(given, MOST_GIVEN)


def _dotted(names: dict[str, str], place: tuple[int | str, ...]) -> str:
    """The field's name, as whoever fills it in knows it: by its alias, though code may use the name
    in Python.

    >>> _dotted({"start": "from"}, ("start",)), _dotted({"steps": "steps"}, ("steps", 0))
    ('from', 'steps.0')
    """
    parts = [str(each) for each in place]
    return ".".join(names.get(part, part) if n == 0 else part for n, part in enumerate(parts))
