"""Signature: whether Spark can call a pipeline's handlers, found before a batch begins.

`sluice validate` finds most of it in the text (registry/logic.py). This sees what only exists once
the code is loaded: handlers that are inherited, decorated or made by a function. In a batch Spark
reports such an error without a line of the code, and for init and close without any cause.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark_jobs.errors import ProcessorFailed
from spark_jobs.registry.fingerprint.environment import resume_remedy
from spark_jobs.registry.logic import BY_NAME, HANDLERS


def require_handlers(processor: Any, pipeline: str) -> None:
    """Raise ProcessorFailed unless Spark can call each handler that the processor has."""
    for name, parameters in HANDLERS.items():
        handler = getattr(processor, name, None)
        if handler is not None:
            _require(handler, name, parameters, pipeline)


def require_function(
    function: Callable[..., Any], pipeline: str, parameters: tuple[str, ...]
) -> None:
    """Raise ProcessorFailed unless the function can be called with these parameters."""
    _require(function, getattr(function, "__name__", "the function"), parameters, pipeline)


def _require(handler: Any, name: str, parameters: tuple[str, ...], pipeline: str) -> None:
    try:
        signature = inspect.signature(handler)
    except ValueError:
        return  # written in C: only calling it shows
    try:
        if name in BY_NAME:
            signature.bind(**dict.fromkeys(parameters))
        else:
            signature.bind(*parameters)
    except TypeError as error:
        how = "by name" if name in BY_NAME else "by position"
        raise ProcessorFailed.signature_unfit(
            handler=_place(handler),
            name=name,
            signature=signature,
            parameters=", ".join(parameters),
            how=how,
            error=error,
            resume=resume_remedy(pipeline),
        ) from None


def _place(handler: Any) -> str:
    """`logic.py line 27, `, if the handler is written in Python."""
    code = getattr(inspect.unwrap(handler), "__code__", None)
    if code is None:
        return ""
    return f"{'/'.join(Path(code.co_filename).parts[-2:])} line {code.co_firstlineno}, "
