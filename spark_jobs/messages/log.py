"""Log: the lines of a run, as text for people or as one JSON object a line, with pipeline, run and
batch.

Each module has its own logger (logging.getLogger(__name__)). The output of a command, such as a
plan or rows of state, is printed and not logged.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, NamedTuple

from spark_jobs.values.times import at_seconds

Format = Literal["text", "json"]
LOGGER: Final = __name__.partition(".")[0]
"""The parent of all of Sluice's loggers. Other libraries' loggers are left as they are, but for
OF_SPARK.
"""
OF_SPARK: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j.clientserver")
"""Loggers of Spark's Python: they say an error, with the value that it quotes, that Sluice says."""
FIELDS: Final = {
    "time": "when, in UTC, as ISO 8601 with milliseconds",
    "level": "info, warning or error. An error line has the error that ended the run, its code "
    "first",
    "message": "the line as text has it",
    "pipeline": "the pipeline; null outside a run",
    "run": "the run's id, as in ops.runs; null outside a run",
    "batch": "the micro-batch's id; null where the line belongs to no single batch",
    "exc": "the traceback; only where there is one",
}
"""The fields of a JSON line, with their meaning."""


class LineContext(NamedTuple):
    """The pipeline, run and batch of a line; None where the line belongs to none."""

    pipeline: str | None = None
    run: str | None = None
    batch: int | None = None


_NO_CONTEXT: Final = LineContext()
_context: ContextVar[LineContext] = ContextVar("log_context", default=_NO_CONTEXT)


@contextmanager
def context(**fields: str | int) -> Iterator[None]:
    """Within the block, add these fields of LineContext to the lines of this thread, beside those
    of the enclosing blocks.

    A new thread begins without them: start it with contextvars.copy_context().run. Raises
    ValueError for an unknown field.
    """
    before = _context.set(_context.get()._replace(**fields))  # type: ignore[arg-type]  # str or int by the field
    try:
        yield
    finally:
        _context.reset(before)


def setup(form: Format = "text") -> None:
    """Write Sluice's lines of level INFO and above to standard output, without a buffer.

    A second call replaces the first.

    Call it again after a pipeline's code was loaded: logging.config there disables all loggers that
    exist by default.
    """
    logger = logging.getLogger(LOGGER)
    output = Output()
    output.setFormatter(Json() if form == "json" else logging.Formatter())
    for earlier in [handler for handler in logger.handlers if isinstance(handler, Output)]:
        logger.removeHandler(earlier)
    logger.addHandler(output)
    logger.setLevel(logging.INFO)
    logger.propagate = (
        False  # a pipeline may give the root logger a handler: each line would appear twice
    )
    for name in () if os.environ.get("SLUICE_TRACEBACK") else OF_SPARK:
        logging.getLogger(name).disabled = True
    for name, known in logging.root.manager.loggerDict.items():
        if isinstance(known, logging.Logger) and (name == LOGGER or name.startswith(f"{LOGGER}.")):
            known.disabled = False


class Output(logging.Handler):
    """Writes to sys.stdout as it is at that moment: tests replace it.

    A line that cannot be written fails no run.
    """

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stdout.write(self.format(record) + "\n")
            sys.stdout.flush()
        except OSError:
            return  # nobody reads any more
        except Exception:  # noqa: BLE001 - as every handler of logging does
            self.handleError(record)


class Json(logging.Formatter):
    """One JSON object a line, with FIELDS and nothing else: other attributes of a record may hold
    settings or secrets.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": at_seconds(record.created).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **_context.get()._asdict(),
        }
        if record.exc_info:
            line["exc"] = self.formatException(record.exc_info)
        return json.dumps(line)
