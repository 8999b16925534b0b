"""The name of a root in the tests: with what escaping, patterns and URLs could take for their own."""

from __future__ import annotations

from typing import Final

ROOT: Final = "a röot of 5% #1"
