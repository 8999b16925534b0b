"""The documents stay short: as many words as a person reads, in sentences that a person reads once.

Tables and code count as words, and have no sentences.
"""

import re
from collections.abc import Iterator

import pytest

from spark_jobs.settings.installation import REPO

PAGES = [REPO / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(
    (REPO / "docs").glob("*.md")
)
ALL = 33_000
"""Words of all pages together."""
LONGEST = 25
"""Words of a sentence. What stands in backticks is one."""

_FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NO_PROSE = re.compile(r"^(#+ .*| *\|.*| *!\[.*)$", re.MULTILINE)
_ITEM = re.compile(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[*_)\"]*\s+")


def words(text: str) -> list[str]:
    return [word for word in text.split() if re.search(r"\w", word)]


def sentences(text: str) -> Iterator[str]:
    """The prose of a page, a sentence each."""
    for pattern in (_FENCE, _COMMENT, _NO_PROSE):
        text = pattern.sub("\n\n", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]+`", "code", text))
    for block in _ITEM.split(text):
        yield from (" ".join(found.split()) for found in _END.split(block) if found.strip())


@pytest.mark.parametrize("page", [*PAGES, REPO / "CHANGELOG.md"], ids=lambda page: page.name)
def test_no_sentence_is_long(page):
    assert [s for s in sentences(page.read_text()) if len(words(s)) > LONGEST] == []


def test_the_pages_are_no_longer_than_they_were():
    assert sum(len(words(page.read_text())) for page in PAGES) <= ALL


def test_a_sentence_is_found_in_prose_alone():
    page = """\
# A heading of words
One `a b c` [two](three.md). Three
four!

| a table | of words. |
- five
- six; seven: eight.
```
code. code.
```
"""
    assert [*sentences(page)] == ["One code two.", "Three four!", "five", "six; seven: eight."]
