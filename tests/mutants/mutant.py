"""Mutant: the product broken on purpose at one place, and the test that must see it."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """`old` stands once in `file` (from the repository's root), and `new` takes its place.

    `test` is a pytest node id.
    """

    breaks: str
    """What is wrong with the product then, in a sentence."""
    file: str
    old: str
    new: str
    test: str
