"""Carried: an error of Sluice's on its way through Spark, from a Python worker or from foreachBatch
to the driver. Spark passes on no exceptions, only the text of their tracebacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from spark_jobs.errors.base import SluiceError, Value, by_code

SAID: Final = ("code", "what", "remedy", "reason", "parameters")
MARK: Final = "carried by Spark: "
NOTED: Final = re.compile(rf"^{MARK}(?P<error>\{{.+\}})", re.MULTILINE)


@contextmanager
def carried() -> Iterator[None]:
    """Within the block, an error of Sluice's gets all that it says as a note, which tracebacks show
    below the error.
    """
    try:
        yield
    except SluiceError as error:
        said = {name: getattr(error, name) for name in SAID}
        error.add_note(MARK + json.dumps(said))
        raise


def carried_in(text: str) -> SluiceError | None:
    """The error that Spark's text carries: its class, reason and parameters. None where no note is
    whole.
    """
    for found in NOTED.finditer(text):
        with suppress(ValueError, RecursionError):
            given = json.loads(found["error"])
            json.dumps(given, ensure_ascii=False).encode()  # no report can have half a character
            match given:
                case {
                    "code": str(code),
                    "what": str(what),
                    "remedy": str(remedy),
                    "reason": str(reason),
                    "parameters": dict(parameters),
                } if all(isinstance(each, Value) for each in parameters.values()):
                    return by_code(code)(what, remedy, reason, parameters)
    return None
