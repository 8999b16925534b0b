"""Code errors: the place in the users' code that an error comes from, and how to mend it."""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spark_jobs.errors import ProcessorFailed, SluiceError, StateIncompatible
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.code import resume_remedy
from spark_jobs.registry.logic import parsed
from spark_jobs.steps.bucket import OtherTypes, WrongResult

FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_SLUICE = re.compile(r"/spark_jobs/(?!pipelines/|topics/)")
_WRONG_RESULT = {
    "ArrowInvalid",
    "ArrowTypeError",
    "AttributeError",
    "PySparkTypeError",
    "PySparkValueError",
    "TypeError",
    "ValueError",
}
"""What Spark raises for rows of a wrong type; other errors may be a machine's."""
_CALL = re.compile(r"(?P<name>[A-Za-z_][\w.<>]*)\(\) (?:got|takes|missing) ")
"""What Python says of a call whose arguments do not fit."""


class Place(NamedTuple):
    """A line of the users' code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file} line {self.line}, in {self.function}"


def last_place(text: str, pipeline: str) -> Place | None:
    """The line of the pipeline's code, or of a module that it imports, that a traceback as text
    names last.
    """
    known = {_short(str(path)) for path in _files(pipeline)}
    places = [
        Place(_short(frame["path"]), int(frame["line"]), frame["function"])
        for frame in FRAME.finditer(text)
        if _short(frame["path"]) in known
        or (frame["path"].endswith("/logic.py") and not _SLUICE.search(frame["path"]))
    ]
    return places[-1] if places else None


def called_place(raised: str, pipeline: str) -> Place | None:
    """Where the function is defined that could not be called with its arguments.

    No line of it has run, so a traceback names the caller's alone.
    """
    call = _CALL.match(raised)
    if call is None:
        return None
    *_, method = call["name"].split(".")
    for path in _files(pipeline):
        if line := _line_of(path, call["name"].replace("<locals>.", "")):
            return Place(_short(str(path)), line, method)
    return None


def driver_error(error: BaseException, pipeline: str) -> SluiceError | None:
    """The error of users' code that ran in the driver, before a batch began; None if other code
    raised it.
    """
    own = {path.resolve() for path in _files(pipeline)}
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if Path(frame.filename).resolve() in own]
    text = next(iter(str(error).splitlines()), "")
    place = called_place(text, pipeline) if isinstance(error, TypeError) else None
    if users:
        place = Place(_short(users[-1].filename), users[-1].lineno or 0, users[-1].name)
    if place is None:
        return None
    return ProcessorFailed.code_raised(
        place=place,
        kind=type(error).__name__,
        text=text[:300],
        resume=resume_remedy(pipeline),
    )


def worker_error(where: str, name: str, text: str, pipeline: str) -> SluiceError:
    """The error of users' code that ran in a batch."""
    said = f"{name.rpartition('.')[2]}: {text[:300]}".rstrip(": ")
    return ProcessorFailed.code_raised_in_batch(
        where=where,
        said=said,
        resume=resume_remedy(pipeline),
    )


def result_error(worker: str, name: str, text: str, pipeline: str) -> SluiceError | None:
    """The error of what a step's code gave to Spark, or would have got from it: no line of the code
    is in the traceback.

    None if Sluice's own code raised it, or the pipeline has no code.
    """
    kind = name.rpartition(".")[2]
    if kind == OtherTypes.__qualname__:
        return StateIncompatible.types_changed(
            pipeline=pipeline,
            text=text[:300],
        )
    if kind == WrongResult.__qualname__:
        return ProcessorFailed.result_wrong(
            pipeline=pipeline,
            text=text[:300],
            resume=resume_remedy(pipeline),
        )
    own = [frame for frame in FRAME.finditer(worker) if _SLUICE.search(frame["path"])]
    wrong = kind in _WRONG_RESULT or text.startswith(("[UDF_", "[RESULT_"))
    if own or not wrong or not _files(pipeline):
        return None
    return worker_error(f"what the code of {pipeline} returned", name, text, pipeline)


def _short(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _files(pipeline: str) -> list[Path]:
    with suppress(SluiceError, OSError):
        own = registry.logic_path(pipeline)
        imported = registry.imported_modules(pipeline).values()
        return [file for file in (own, *imported) if file.suffix == ".py" and file.is_file()]
    return []


def _line_of(path: Path, qualified: str) -> int | None:
    tree = parsed(path)
    return next(
        (line for name, line in _definitions(tree, "") if name == qualified) if tree else iter(()),
        None,
    )


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child.lineno
            yield from _definitions(child, f"{name}.")
        else:
            yield from _definitions(child, prefix)
