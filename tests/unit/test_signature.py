"""Handlers that Spark cannot call, in code that only exists once it is loaded."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.errors import ProcessorFailed
from spark_jobs.registry.logic import HANDLERS
from spark_jobs.steps.group_state import require_function, require_handlers
from tests.harness.refused import fails, has


class Fits:
    """A processor whose handlers Spark can call."""

    def init(self, handle: Any) -> None:
        """Any handle."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        """Any rows."""

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        """Any timer."""

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Any state."""

    def close(self) -> None:
        """Nothing to release."""


def processor(method: str, handler: Callable[..., Any]) -> Any:
    """The same with one handler replaced, as a function that makes classes would."""
    return type("Made", (Fits,), {method: handler})()


def too_few(self: Any) -> None:
    """No handler but close takes nothing."""


def too_many(self: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """No handler takes four."""


def other_names(self: Any, key: Any, timers: Any, info: Any) -> None:
    """The parameters of handleExpiredTimer, under other names."""


@pytest.mark.parametrize("method", HANDLERS)
def test_a_handler_with_other_parameters_is_refused_with_its_line(method):
    for handler in (too_many,) if method == "close" else (too_few, too_many):
        told = {
            "handler": has(f"unit/test_signature.py line {handler.__code__.co_firstlineno}, "),
            "name": method,
            "signature": has("("),
            "parameters": ", ".join(HANDLERS[method]),
            "resume": has("sluice drain mine"),
        }
        with fails(ProcessorFailed, "signature_unfit", **told):
            require_handlers(processor(method, handler), "mine")


def test_only_the_timers_handler_is_called_by_name():
    with fails(ProcessorFailed, "signature_unfit"):
        require_handlers(processor("handleExpiredTimer", other_names), "mine")
    require_handlers(processor("handleInputRows", other_names), "mine")


def test_what_may_work_is_left_to_spark():
    @functools.wraps(Fits.init)
    def wrapped(*_: Any): ...

    for method in HANDLERS:
        require_handlers(processor(method, lambda *_, **__: None), "mine")
    for fits in (Fits(), object(), processor("init", wrapped), processor("close", print)):
        require_handlers(fits, "mine")


def test_a_function_by_key_takes_three_whatever_their_names():
    three = ("key", "frames", "state")
    require_function(lambda _a, _b, _c: None, "mine", three)
    require_function(lambda *_: None, "mine", three)
    with fails(ProcessorFailed, "signature_unfit"):
        require_function(lambda _a, _b: None, "mine", three)
