"""CSV as a topic's format, as a spec declares it: one record a value."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import model_validator

from spark_jobs.spec.formats.format import Format
from spark_jobs.spec.model import refuse


class Csv(Format):
    """A row of text in UTF-8 (RFC 4180). A field is the cell of its name."""

    kind: ClassVar[str] = "csv"
    decoder: ClassVar[str] = "spark_jobs.decode.plain:CsvDecoder"
    layout: ClassVar[str] = "spark_jobs.files.text:CsvRows"
    of_texts: ClassVar[bool] = True

    columns: tuple[str, ...]
    """the header: the names of the cells in their order, of those too that no field reads; each
    value has exactly so many
    """
    delimiter: str = ","
    """one character"""
    quote: str | None = '"'
    """the character around a cell that has delimiters or line ends; twice in it: itself; None: none
    is special
    """
    null: str | None = ""
    """the text without quotes that means null; None: no text does"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.columns or len({*self.columns}) < len(self.columns):
            refuse("columns", self.columns, "each cell needs a name of its own", "Correct them")
        for name, letter in (("delimiter", self.delimiter), ("quote", self.quote)):
            if letter is not None and (len(letter) != 1 or letter in "\r\n"):
                refuse(name, letter, "it is not one character of a line", "Give one character")
        if self.delimiter == self.quote:
            refuse("quote", self.quote, "it is the delimiter too", "Give another one")
        return self
