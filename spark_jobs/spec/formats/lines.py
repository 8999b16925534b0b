"""Lines of text as a topic's format, as a spec declares it: one record a value."""

from __future__ import annotations

import re
from typing import ClassVar, Self

from pydantic import model_validator

from spark_jobs.spec.formats.format import LINES, Format
from spark_jobs.spec.model import refuse


class Lines(Format):
    """A line of text in UTF-8, such as a log's. A field is the group of its name."""

    kind: ClassVar[str] = "lines"
    decoder: ClassVar[str] = "spark_jobs.decode.plain:LinesDecoder"
    layout: ClassVar[str] = LINES
    of_texts: ClassVar[bool] = True

    pattern: str = "(?P<line>.*)"
    """a regular expression of Python that the whole line must match; its named groups are the
    fields, null where a group takes no part
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups."""
        return tuple(re.compile(self.pattern).groupindex)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            found = self.names
        except re.error as wrong:
            refuse("pattern", self.pattern, str(wrong), "Correct it")
        if not found:
            refuse("pattern", self.pattern, "it has no named group", "Write (?P<name>...)")
        return self
