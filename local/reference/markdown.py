"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table.

    Cells are Markdown themselves: a bar would end one, and <word> would vanish as HTML.
    """
    titles = tuple(head)
    lines = [titles, ("---",) * len(titles), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "&#124;").replace("<", "&lt;")


def code(text: object) -> str:
    """As code; nothing where there is nothing."""
    return f"`{text}`" if str(text) else ""
