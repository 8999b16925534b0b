"""Terminal: the console of every command, the way errors end a command, and arguments that several
commands share. One is --next: a command about a place is then about NEXT's, which a rebuild drains
beside the live one.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from spark_jobs.errors import SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.environment import require_spark
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.project_file import enter
from spark_jobs.storage.root.store import is_remote, translate_store_error

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline, Topic

# Without emoji=False, rich replaces words such as :x: by an emoji, even if markup is off.
console = Console(soft_wrap=True, highlight=False, emoji=False)


def complete_pipelines(incomplete: str) -> list[str]:
    """The names of pipelines that begin with `incomplete`; none if SLUICE_PIPELINES is wrong.

    Imports no spec.
    """
    try:
        enter()
        return [name for name in registry.names() if name.startswith(incomplete)]
    except SluiceError:
        return []


PipelineName = Annotated[
    str,
    typer.Argument(
        help="The pipeline's name: a folder of the package SLUICE_PIPELINES, by default "
        "spark_jobs.pipelines.",
        metavar="PIPELINE",
        autocompletion=complete_pipelines,
    ),
]
PipelineOrNone = Annotated[
    str | None,
    typer.Argument(
        help="The pipeline's name.", metavar="[PIPELINE]", autocompletion=complete_pipelines
    ),
]
PipelineNames = Annotated[
    list[str] | None,
    typer.Argument(
        help="The pipelines. Default: all of them.",
        metavar="PIPELINE...",
        autocompletion=complete_pipelines,
    ),
]


def topic_named(name: str, specs: Iterable[Pipeline]) -> tuple[Pipeline, Topic]:
    """A pipeline that reads the topic, and the topic as it declares it: of Kafka, before a table of
    that name. The name may be without its cluster.
    """
    readers = dict[str, tuple["Pipeline", "Topic"]]()
    every = ((spec, each) for spec in specs for each in spec.inputs)
    for spec, each in sorted(every, key=lambda one: not one[1].of_kafka):
        readers.setdefault(each.place, (spec, each))
    named = [place for place, (_, each) in readers.items() if name in {each.name, place}]
    if len(named) != 1:
        there = ", ".join(sorted(named or readers))
        raise typer.BadParameter(f"{name!r} is not one of {there}", param_hint="--topic")
    return readers[named[0]]


NOT_DONE: Final = 3
"""The exit status of a command that ended well and has not done what it is for: a dry run with
something left to do, a No to its question, a verify without a record. No error has it
(errors/), nor what is typed wrongly (2).
"""
Execute = Annotated[
    bool,
    typer.Option(
        "--execute",
        help=f"Apply it. The default is a dry run, which only prints, with exit status {NOT_DONE}.",
    ),
]


def end_undone(line: str = "nothing is done yet: add --execute") -> NoReturn:
    """End the command, and let nobody who reads its exit status take it for done."""
    say(line)
    raise typer.Exit(NOT_DONE)


def examples(*lines: str) -> str:
    """The epilog of a command's help: one example on each line."""
    return "\n".join(("Examples:", *lines))


def say(line: str) -> None:
    """Print a line without markup: rich would read a value in brackets as markup and drop it or
    raise an error.
    """
    console.print(line, markup=False)


def installation(spec: Pipeline) -> Settings:
    """The settings of the pipeline.

    Raises RootRefused or RootUnreachable if the root is an object store that does not answer.
    """
    settings = Settings.of(spec)
    require_readable(settings.root)
    return settings


def require_readable(root: str) -> None:
    """Raises RootRefused or RootUnreachable if the root is an object store that does not answer."""
    if is_remote(root):
        from spark_jobs.storage.object_store import require_readable as require  # noqa: PLC0415 - a disk needs no client

        require(root)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End the command with one line on stderr and the exit status of the SluiceError
    raised within; with the status of Spark's application, if that has failed (launch/question.py)
    and has said why.
    """
    try:
        yield
    except typer.Exit:
        raise
    except Exception as failure:
        error = failure if isinstance(failure, SluiceError) else translate_store_error(failure)
        if error is not None:
            say_error(error)
            raise typer.Exit(error.exit_status) from None
        from spark_jobs.launch.question import Failed  # noqa: PLC0415 - few commands ask Spark

        if isinstance(failure, Failed):
            raise typer.Exit(failure.status) from None
        raise


@contextmanager
def each_apart() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Within are blocks, and an error or a No in one keeps no other from it. At the end the command
    ends with the first such exit status.
    """
    ends = list[int]()

    @contextmanager
    def apart() -> Iterator[None]:
        try:
            with one_line_errors():
                yield
        except typer.Exit as end:
            ends.append(end.exit_code)

    yield apart
    if failed := [code for code in ends if code]:
        raise typer.Exit(failed[0])


@contextmanager
def with_spark() -> Iterator[None]:
    """one_line_errors, of a command that starts Spark or plans for it: before it asks anybody else,
    the environment of SLUICE_SPARK_ENV is looked at.
    """
    with one_line_errors():
        require_spark(os.environ.get("SLUICE_SPARK_ENV", ""))
        yield


def say_error(error: SluiceError) -> None:
    """Print it in one line on stderr."""
    line = Text.assemble((error.code, "red"), f" {error.what} {error.remedy}")
    Console(stderr=True, soft_wrap=True).print(line, highlight=False)


def terminal_width() -> int | None:
    """The width of the terminal, or COLUMNS; None if the output is a pipe or a file."""
    given = os.environ.get("COLUMNS", "")
    return (
        shutil.get_terminal_size().columns
        if sys.stdout.isatty() or (given.isdigit() and int(given))
        else None
    )


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
