"""A receiver of OpenLineage events, and what is wrong with an event by the specification.

The specification's JSON schemas are in no package. Its Python client has classes made from them,
which say the same of names, types and what is required.
"""

import inspect
import json
import pkgutil
import types
import typing
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from enum import Enum
from functools import cache
from http.server import ThreadingHTTPServer
from importlib import import_module
from typing import Any
from urllib.parse import urlparse

import attr

from tests.harness.serving import Handler, serving

Event = dict[str, Any]


class Receiver(ThreadingHTTPServer):
    """Keeps what is sent to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[str] = []

    @property
    def transport(self) -> str:
        """For Airflow's `[openlineage] transport`."""
        return json.dumps({"type": "http", "url": f"http://127.0.0.1:{self.server_address[1]}"})

    @property
    def events(self) -> list[Event]:
        return [json.loads(body) for body in self.bodies]

    def of(self, job: str, *kinds: str) -> list[Event]:
        """The events of a job `<dag>.<task>`, in their order; of these types, if any is given."""
        return [
            event
            for event in self.events
            if event["job"]["name"] == job and (not kinds or event["eventType"] in kinds)
        ]


class _Handler(Handler):
    def do_POST(self) -> None:
        self.server.bodies.append(self.body().decode())  # type: ignore[attr-defined]
        self.answer(200)


def receiving() -> AbstractContextManager[Receiver]:
    return serving(Receiver())


def problems(event: Event) -> list[str]:
    """What is wrong with it, in sentences; nothing for a valid one."""
    from openlineage.client.generated.base import RunEvent  # noqa: PLC0415 - the home of a test's Airflow comes first

    return [*_of_class(event, RunEvent, "event"), *_formats(event)]


def _formats(event: Event) -> list[str]:
    said = []
    if datetime.fromisoformat(event["eventTime"]).tzinfo is None:
        said.append("eventTime has no zone")
    uuid.UUID(event["run"]["runId"])
    said += [f"{where} is no URI: {text}" for where, text in _uris(event) if not _is_uri(text)]
    return said


def _uris(value: Any, where: str = "event") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in {"producer", "schemaURL", "_producer", "_schemaURL"}:
                yield f"{where}.{key}", inner
            yield from _uris(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _uris(inner, where)


def _is_uri(text: str) -> bool:
    return bool(urlparse(text).scheme)


def _of_class(value: Any, cls: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is no object"
        return
    hints, parts = typing.get_type_hints(cls), attr.fields(cls)
    for part in parts:
        if part.name in value:
            yield from _of_type(value[part.name], hints[part.name], f"{where}.{part.name}")
        elif part.default is attr.NOTHING:
            yield f"{where} lacks {part.name}"
    schema = cls._get_schema() if hasattr(cls, "_get_schema") else ""
    if schema.endswith("Facet") and "/facets/" not in schema:
        return  # the base of facets that the specification does not know
    unknown = value.keys() - {part.name for part in parts}
    yield from (f"{where} has {name}, which the specification does not know" for name in unknown)


def _of_type(value: Any, hint: Any, where: str) -> Iterator[str]:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        said = [[*_of_type(value, part, where)] for part in parts if part is not type(None)]
        yield from min(said, key=len)
    elif origin in {dict, list}:
        yield from _of_many(value, origin, parts[-1], where)
    elif attr.has(hint):
        yield from _of_class(value, hint, where)
    elif inspect.isclass(hint) and issubclass(hint, Enum):
        if value not in {kind.value for kind in hint}:
            yield f"{where} is {value!r}"
    elif hint is not Any and type(value) is not hint and (hint, type(value)) != (float, int):
        yield f"{where} is {value!r}, which is no {hint.__name__}"


def _of_many(value: Any, kind: type, hint: Any, where: str) -> Iterator[str]:
    if not isinstance(value, kind):
        yield f"{where} is no {kind.__name__}"
        return
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield from _of_type(each, _facet(each, hint) if attr.has(hint) else hint, f"{where}.{key}")


def _facet(value: Any, base: Any) -> Any:
    """The class of a facet, by its schema; `base` for one that is not the specification's."""
    return _facets().get(value.get("_schemaURL", ""), base) if isinstance(value, dict) else base


@cache
def _facets() -> dict[str, type]:
    from openlineage.client import generated  # noqa: PLC0415 - as above

    modules = [
        import_module(f"{generated.__name__}.{found.name}")
        for found in pkgutil.iter_modules(generated.__path__)
    ]
    classes = [cls for module in modules for cls in vars(module).values() if inspect.isclass(cls)]
    return {
        cls._get_schema(): cls
        for cls in classes
        if cls.__name__.endswith("Facet") and hasattr(cls, "_get_schema")
    }
