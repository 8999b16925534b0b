"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table.

    Cells are Markdown themselves: a bar would end one, and <word> outside of code would vanish as
    HTML.
    """
    titles = tuple(head)
    lines = [titles, ("---",) * len(titles), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    parts = text.replace("|", "&#124;").split("`")
    return "`".join(
        part if within else part.replace("<", "&lt;")
        for part, within in zip(parts, _alternating(len(parts)), strict=True)
    )


def _alternating(size: int) -> Iterable[bool]:
    return (number % 2 == 1 for number in range(size))


def code(text: object) -> str:
    """As code; nothing where there is nothing."""
    return f"`{text}`" if str(text) else ""


def by_reason(reasons: Mapping[str, str]) -> str:
    """Names with the same reason in one row."""
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(code(name))
    return table(("name", "why"), ((", ".join(of_it), why) for why, of_it in names.items()))
