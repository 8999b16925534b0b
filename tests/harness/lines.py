"""The lines that a run logs, as they come: for tests that do something amid a run."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spark_jobs.messages.log import LOGGER


class Listener(logging.Handler):
    """Calls `say` with each message. What that raises, the run meets."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


@contextmanager
def heard(say: Callable[[str], None]) -> Iterator[None]:
    """Within the block `say` gets each line that Sluice logs."""
    logger = logging.getLogger(LOGGER)
    listener = Listener(say)
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)


@contextmanager
def as_before() -> Iterator[None]:
    """What log.setup does in the block is undone after it."""
    logger = logging.getLogger(LOGGER)
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    try:
        yield
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate
