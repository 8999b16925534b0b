"""Reached: the tests that call a function of a file, which are tried first where it is changed."""

from __future__ import annotations

import ast
import json
import sys
from collections import defaultdict
from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import FrameType


class Calls:
    """A plugin of pytest. Writes: the line where a function of the file begins -> its tests."""

    def __init__(self, file: Path, to: Path) -> None:
        self.file, self.to = str(file.absolute()), to
        self.test = ""
        self.of = defaultdict[int, dict[str, None]](dict)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        self.test = item.nodeid
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: object) -> None:  # noqa: ARG002 - sys's
        if frame.f_code.co_filename == self.file:
            self.of[frame.f_code.co_firstlineno][self.test] = None

    def pytest_sessionfinish(self) -> None:
        self.to.write_text(json.dumps({line: [*tests] for line, tests in self.of.items()}))


class First:
    """A plugin of pytest: these tests first, and files in the order in which they are given."""

    def __init__(self, tests: Collection[str]) -> None:
        self.tests = {*tests}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        files = {file: number for number, file in enumerate(config.args)}
        items.sort(
            key=lambda item: (
                item.nodeid not in self.tests,
                files.get(item.nodeid.partition("::")[0], 0),
            )
        )


def function_of(source: str, line: int) -> str:
    """Where the function begins in whose body the line is; empty of one that runs at the import."""
    begins = [
        min(each.lineno for each in (node, *node.decorator_list))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or 0)
    ]
    return str(max(begins, default=""))
