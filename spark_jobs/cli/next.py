"""Next: the option --next of a command about a place: it is then about NEXT's, which a rebuild
drains beside the live one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated

import typer

Next = Annotated[
    bool,
    typer.Option("--next", help="About NEXT, which `sluice rebuild` computes beside the live one."),
]


def takes_next(command: Callable[..., None]) -> Callable[..., None]:
    """The command with --next, which is the setting: the process with Spark is told it too."""

    @wraps(command)
    def either(*, next_: bool, **given: object) -> None:
        if next_:
            os.environ["SLUICE_NEXT"] = "on"
        command(**given)

    known = signature(command, eval_str=True)
    option = Parameter("next_", Parameter.KEYWORD_ONLY, default=False, annotation=Next)
    either.__signature__ = known.replace(  # type: ignore[attr-defined] # what Typer reads
        parameters=[*known.parameters.values(), option]
    )
    either.__annotations__ = {**command.__annotations__, "next_": Next}
    return either
