"""The format of a declaration's file: one `name=value` on each line, and comments behind #.

A value counts as it stands, less blanks around it. In PEM text `\\n` is a line break.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Malformed(ValueError):
    """A line does not parse.

    The message has its number, but no part of its value, which may be secret.
    """


def parse(text: str) -> Iterator[tuple[str, str]]:
    """Names and values in their order, including repeated ones. Raises Malformed."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip()[:1] in ("", "#"):
            continue
        name, separator, value = (part.strip(" \t") for part in line.partition("="))
        if not separator or set(name) & {*": \t"}:  # else a secret could be behind, in the name
            raise Malformed(f"line {number} is not name=value")
        yield name, value.replace("\\n", "\n") if name.endswith(".pem") else value


def render(properties: Mapping[str, str]) -> str:
    """The text of a file that `parse` reads as these properties."""
    inline = ((name, value.replace("\n", "\\n")) for name, value in properties.items())
    return "".join(f"{name}={value}\n" for name, value in inline)
