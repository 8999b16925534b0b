"""Allowed: the one way in which markup reaches a stored or a served document.

It is parsed, and written anew of the tags and classes below. What is not below is left out: a tag,
a script or a style with its text, each attribute, and so each address.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from html import escape
from html.parser import HTMLParser
from typing import Final

HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4"})
TAGS: Final = HEADINGS | frozenset(
    {"p", "br", "div", "span", "strong", "em", "code", "pre", "ul", "ol"}
    | {"li", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary"}
)
RENAMED: Final = {"h5": "h3", "h6": "h4"}
"""Great Expectations' headings: a run and a suite stand above them."""
CLASSES: Final = {
    "text-success": "good",
    "text-danger": "bad",
    "text-warning": "warned",
    "badge": "value",
    **{own: own for own in ("good", "bad", "warned", "value", "note")},
}
"""A class -> the document's own. All others are left out."""
MARKS: Final = {"good": "passed", "bad": "failed", "warned": "not evaluated"}
"""Great Expectations' icons of a check, which are nothing without its style, as text."""
WITHOUT_TEXT: Final = frozenset(
    {"script", "style", "title", "textarea", "select", "template", "noscript", "noembed", "xmp"}
    | {"iframe", "noframes", "object", "svg", "math", "plaintext"}
)
"""Elements of which the text goes too."""


def cleaned(markup: str, text: Callable[[str], str] = lambda text: text) -> str:
    """Well-formed markup of allowed tags alone. `text` changes text after it was parsed.

    >>> cleaned('<p onclick="x()">a<script>b</script> &lt; <a href="http://c">d</a>')
    '<p>a &lt; d</p>'
    """
    parser = _Parser(text)
    with suppress(AssertionError):  # of a declaration that it does not know: the rest is left out
        parser.feed(markup)
        parser.close()
    return parser.written()


class _Parser(HTMLParser):
    def __init__(self, text: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=True)
        self._text = text
        self._open: list[str] = []
        self._silent: list[str] = []
        """Elements WITHOUT_TEXT that are open."""
        self._heading = ""
        """The text of the last one, which names the tables below it to a screen reader."""
        self._out: list[str] = []

    def written(self) -> str:
        return "".join((*self._out, *(f"</{tag}>" for tag in reversed(self._open))))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in WITHOUT_TEXT:
            self._silent.append(tag)
            return
        if self._silent:
            return
        given = (dict(attrs).get("class") or "").split()
        classes = sorted({CLASSES[each] for each in given if each in CLASSES})
        if tag == "i" and "td" in self._open:
            self._out += [f'<span class="{each}">{MARKS[each]}</span>' for each in classes[:1]]
        tag = RENAMED.get(tag, tag)
        if tag not in TAGS:
            return
        if tag in HEADINGS:
            self._heading = ""
        own = f' class="{" ".join(classes)}"' if classes else ""
        own += " hidden" if any(name == "hidden" for name, _ in attrs) else ""
        own += ' scope="col"' if tag == "th" else ""
        own += f' aria-label="{escape(" ".join(self._heading.split()))}"' if tag == "table" else ""
        self._out.append(f"<{tag}{own}>")
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag in self._silent:
                del self._silent[self._silent.index(tag) :]
            return
        tag = RENAMED.get(tag, tag)
        while tag in self._open:  # what is open within it ends with it
            ended = self._open.pop()
            self._out.append(f"</{ended}>")
            if ended == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        shown = "".join(map(_shown, self._text(data)))
        if HEADINGS & {*self._open}:
            self._heading += shown
        self._out.append(escape(shown))


def _shown(character: str) -> str:
    """None that hides or turns text, wherever it came from."""
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode()
