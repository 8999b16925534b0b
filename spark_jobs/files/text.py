"""Text: files with a record a line, gzipped or not, and rows of CSV, which may have line ends in
quotes. An empty line is no record.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from codecs import BOM_UTF8
from itertools import islice
from typing import IO, TYPE_CHECKING, Final, NamedTuple, cast

from spark_jobs.errors import FilesUnfit
from spark_jobs.files.layout import PACKED, STEP, At, Counted
from spark_jobs.spec import Csv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spark_jobs.spec import Files

MOST: Final = 64_000_000
"""Bytes of a record. A file without line ends is one, which no memory may hold."""
GZIP: Final = ".gz"


class Line(NamedTuple):
    """A record."""

    at: int
    """Its first byte in the file, as it is without compression."""
    value: bytes
    end: bytes
    """The line end behind it; empty at the file's end."""


class Lines:
    """See Layout."""

    def __init__(self, declared: Files) -> None:
        self._path = declared.path

    def refuse_name(self, name: str) -> None:
        if name.lower().endswith(PACKED):
            raise FilesUnfit.compressed(name=name, path=self._path)

    def grows(self, name: str, *, ended: bool, more: bytes) -> bool:
        """See Layout. A line that goes on was another record."""
        return not name.lower().endswith(GZIP) and (ended or more.startswith((b"\n", b"\r\n")))

    def count(self, file: IO[bytes], name: str, start: int, stop: int) -> Counted:
        records, marks, last = 0, list[int](), None
        for last in self._records(file, name, start, stop):
            if records % STEP == 0:
                marks.append(last.at)
            records += 1
        ended = last is None or bool(last.end)
        return Counted(records, () if name.lower().endswith(GZIP) else tuple(marks), ended)

    def read(self, file: IO[bytes], name: str, at: At) -> Iterator[bytes]:
        found = self._records(file, name, at.begin, at.stop)
        return (line.value for line in islice(found, at.skip, None))

    def place(self, file: IO[bytes], name: str, at: At) -> str:
        found = next(islice(self._records(file, name, at.begin, at.stop), at.skip, None), None)
        if found is None:
            return ""
        file.seek(0)
        before, line, left = _plain(file, name), 1, found.at
        while left > 0 and (block := before.read(min(left, STEP))):
            line, left = line + block.count(b"\n"), left - len(block)
        return f"line {line:,}"

    def _records(self, file: IO[bytes], name: str, begin: int, stop: int) -> Iterator[Line]:
        return (line for line in self._lines(file, name, begin, stop) if line.value)

    def _lines(self, file: IO[bytes], name: str, at: int, stop: int) -> Iterator[Line]:
        if at:
            file.seek(at)
        lines = _plain(file, name)
        try:
            # What has come behind is no part of the last line.
            while line := lines.readline(min(MOST + 1, stop - at) if lines is file else MOST + 1):
                if len(line) > MOST:
                    self._refuse_long(name, at)
                value = line.removesuffix(b"\n")
                value = value.removesuffix(b"\r") if value != line else value
                end = line[len(value) :]
                yield Line(at, value if at else value.removeprefix(BOM_UTF8), end)
                at += len(line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FilesUnfit.damaged(name=name, path=self._path, error=error) from None

    def _refuse_long(self, name: str, at: int) -> None:
        raise FilesUnfit.too_long(name=name, path=self._path, at=at, most=MOST)


def _plain(file: IO[bytes], name: str) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if name.lower().endswith(GZIP) else file


class CsvRows(Lines):
    """See Layout. The first line has the columns' names, if it is so declared."""

    def __init__(self, declared: Files) -> None:
        super().__init__(declared)
        assert isinstance(declared.format, Csv)
        self._format, self._header = declared.format, declared.header
        quote = declared.format.quote
        self._quote = None if quote is None else quote.encode()
        self._mark = declared.format.delimiter.encode()

    def grows(self, name: str, *, ended: bool, more: bytes) -> bool:
        """See Layout. A last row without a line end may be amid a quoted cell."""
        return ended and super().grows(name, ended=ended, more=more)

    def _records(self, file: IO[bytes], name: str, begin: int, stop: int) -> Iterator[Line]:
        lines = super()._lines(file, name, begin, stop)
        if begin == 0 and self._header:
            self._refuse_header(name, next((each for each in lines if each.value), None))
        for line in lines:
            row, last, size = [line.value], line, len(line.value)
            is_open = _open_behind(line.value, self._quote, self._mark, inside=False)
            while is_open and (more := next(lines, None)):
                row += last.end, more.value
                last, size = more, size + len(more.value)
                if size > MOST:
                    self._refuse_long(name, line.at)
                is_open = _open_behind(more.value, self._quote, self._mark, inside=True)
            if whole := b"".join(row):
                yield Line(line.at, whole, b"" if is_open else last.end)

    def _refuse_header(self, name: str, line: Line | None) -> None:
        """An empty file is none yet."""
        if line is None:
            return
        of, text = self._format, line.value.decode(errors="replace")
        there = text.split(of.delimiter)
        if of.quote is not None:
            [there] = csv.reader([text], delimiter=of.delimiter, quotechar=of.quote)
        if (*there,) != of.columns:
            raise FilesUnfit.other_header(
                name=name, path=self._path, there=", ".join(there), declared=", ".join(of.columns)
            )


def _open_behind(line: bytes, quote: bytes | None, mark: bytes, *, inside: bool) -> bool:
    """Whether a quoted cell goes on in the next line. `inside`: one has begun before this line. As
    the decoder has it, a quote is around a whole cell; a row in which it is not ends here.

    >>> [_open_behind(line, b'"', b",", inside=False) for line in (b'1,"a', b'1,5" pipe', b'""')]
    [True, False, False]
    >>> [_open_behind(line, b'"', b",", inside=True) for line in (b'b",2', b'b""', b'b",2,"c')]
    [False, True, True]
    """
    if quote is None or (not inside and quote not in line):
        return False
    at, wide = 0, len(quote)
    while True:
        if inside:
            end = line.find(quote, at)
            if end < 0:
                return True
            at = end + wide
            if line.startswith(quote, at):  # twice: itself
                at += wide
                continue
            if at < len(line) and not line.startswith(mark, at):
                return False
            inside = False
        elif line.startswith(quote, at):
            inside, at = True, at + wide
            continue
        following = line.find(mark, at)
        if following < 0:
            return False
        at = following + len(mark)
