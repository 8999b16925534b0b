"""Carried: an error of Sluice's on its way through Spark, from a Python worker or from foreachBatch
to the driver. Spark passes on no exceptions, only the text of their tracebacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from spark_jobs.errors import SluiceError

_MARK = "carried by Spark: "
_NOTED = re.compile(rf"^{_MARK}(?P<problem>\{{.+\}})", re.MULTILINE)


@contextmanager
def carried() -> Iterator[None]:
    """Within the block, an error of Sluice's gets its whole problem as a note, which tracebacks
    show below the error.
    """
    try:
        yield
    except SluiceError as error:
        from spark_jobs.messages.report import Problem  # noqa: PLC0415 - a worker that decodes needs no model

        error.add_note(_MARK + json.dumps(Problem.of(error).model_dump()))
        raise


def carried_in(text: str) -> SluiceError | None:
    """The error that Spark's text carries: its class, reason and parameters. None where no note is
    whole.
    """
    from spark_jobs.messages.report import Problem  # noqa: PLC0415 - as above

    for found in _NOTED.finditer(text):
        try:
            return Problem.model_validate_json(found["problem"]).error()
        except ValueError:
            continue
    return None
