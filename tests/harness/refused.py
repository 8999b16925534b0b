"""Refused: holds which error is raised, by its class, its reason and its parameters.

Never by its text: that may be made better at any time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from spark_jobs.errors import SluiceError
from spark_jobs.messages.report import Problem

E = TypeVar("E", bound=SluiceError)


class has(tuple[str, ...]):
    """A value with these in it: `path=has("offsets/2")`."""

    def __new__(cls, *parts: str):
        return super().__new__(cls, parts)


@contextmanager
def fails(kind: type[E], reason: str, /, **parameters: object) -> Iterator[pytest.ExceptionInfo[E]]:
    """What is done within is refused so. Of the parameters, those that matter; each is compared as
    it is shown.
    """
    with pytest.raises(kind) as caught:
        yield caught
    because(caught.value, kind, reason, **parameters)


def because(
    error: BaseException | Problem | None,
    kind: type[SluiceError],
    reason: str,
    /,
    **parameters: object,
) -> None:
    """The error, or a report's problem, is of this class, reason and parameters."""
    assert reason in kind.reasons(), f"{kind.__name__} has no reason {reason}"
    assert isinstance(error, SluiceError | Problem), error
    assert (error.code, error.reason) == (kind.code, reason), error
    for name, expected in parameters.items():
        told = str(error.parameters[name])
        found = (
            all(each in told for each in expected)
            if isinstance(expected, has)
            else told == str(expected)
        )
        assert found, (name, told, expected)
