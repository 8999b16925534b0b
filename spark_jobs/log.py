"""Log: what a run tells while it works, a line for people or a JSON object a line, with the run that it belongs to.

Each module has a logger of its own (logging.getLogger(__name__)). What a command answers, such as a plan or rows of state, is
printed and not logged.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

Format = Literal["text", "json"]
LOGGER: Final = __name__.partition(".")[0]
"""The parent of all of Sluice's loggers. Other libraries' loggers are left as they are."""
FIELDS: Final = {
    "time": "when, in UTC, as ISO 8601 with milliseconds",
    "level": "info; warning; error: the error that ended a run, its code first",
    "message": "the line as text has it",
    "pipeline": "the pipeline; null outside a run",
    "run": "the run's id, as in ops.runs; null outside a run",
    "batch": "the micro-batch's id; null where the line belongs to no single one",
    "exc": "the traceback; only where there is one",
}
"""The fields of a JSON line, with their meaning."""


class Where(NamedTuple):
    """What a line belongs to; None where it belongs to no pipeline, run or batch."""

    pipeline: str | None = None
    run: str | None = None
    batch: int | None = None


_NOWHERE: Final = Where()
_where: ContextVar[Where] = ContextVar("where", default=_NOWHERE)


@contextmanager
def context(**fields: str | int) -> Iterator[None]:
    """Within the block the lines of this thread have these fields of Where, beside those of the blocks around it.

    A new thread begins without them: start it with contextvars.copy_context().run. Raises ValueError for an unknown field.
    """
    before = _where.set(_where.get()._replace(**fields))  # type: ignore[arg-type]  # str or int by the field
    try:
        yield
    finally:
        _where.reset(before)


def setup(form: Format = "text") -> None:
    """Write Sluice's lines of level INFO and above to standard output, each at once. A second call replaces the first."""
    logger, output = logging.getLogger(LOGGER), Output()
    output.setFormatter(Json() if form == "json" else logging.Formatter())
    for earlier in [handler for handler in logger.handlers if isinstance(handler, Output)]:
        logger.removeHandler(earlier)
    logger.addHandler(output)
    logger.setLevel(logging.INFO)


class Output(logging.Handler):
    """Standard output, as it is when the line comes: tests replace it. A line that cannot be written fails no run."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stdout.write(self.format(record) + "\n")
            sys.stdout.flush()
        except Exception:  # noqa: BLE001 - as all handlers of logging do
            self.handleError(record)


class Json(logging.Formatter):
    """One JSON object a line, with FIELDS and nothing else: other attributes of a record may hold settings or secrets."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **_where.get()._asdict(),
        }
        if record.exc_info:
            line["exc"] = self.formatException(record.exc_info)
        return json.dumps(line)
