"""Pytest's plugin, which a conftest.py names in pytest_plugins: of a file tests.yaml beside a
spec.py each case is a test.

All cases of a session run in one `sluice test`, when the first of them is due.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from spark_jobs.errors import CaseInvalid, CasesFailed
from spark_jobs.launch import foreground
from spark_jobs.proof.cases import NAMES, file_of, read
from spark_jobs.settings.project_file import enter

Told = dict[tuple[str, str], list[str]]
"""Pipeline and case -> the lines of what differs."""
TOLD: Final = pytest.StashKey[Told]()


class CaseDiffers(Exception):
    """A case ended otherwise than its file says, or could not be run."""


def pytest_configure(config: pytest.Config) -> None:
    """Enter the project of pytest's folder, if it is one."""
    enter(config.rootpath)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A file of cases, if it is one."""
    if file_path.name not in NAMES or not file_path.with_name("spec.py").is_file():
        return None
    return CaseFile.from_parent(parent, path=file_path)


class CaseFile(pytest.File):
    """The cases of one pipeline."""

    def collect(self) -> Iterator[pytest.Item]:
        """Raises CaseInvalid."""
        used = file_of(self.path.parent.name)
        if used is None or not used.samefile(self.path):
            package = os.environ.get("SLUICE_PIPELINES", "spark_jobs.pipelines")
            raise CaseInvalid.foreign(folder=self.path.parent, package=package)
        for case in read(self.path):
            yield CaseItem.from_parent(self, name=case.name)


class CaseItem(pytest.Item):
    """A case."""

    @property
    def case(self) -> tuple[str, str]:
        """Its pipeline and name."""
        return self.path.parent.name, self.name

    def runtest(self) -> None:
        """Run it, with all others of the session if none has run."""
        stash = self.session.stash
        if TOLD not in stash:
            stash[TOLD] = _run(
                [each.case for each in self.session.items if isinstance(each, CaseItem)]
            )
        if self.case not in stash[TOLD]:
            raise CaseDiffers("sluice test ended before this case; standard error says why")
        if differs := stash[TOLD][self.case]:
            raise CaseDiffers("\n".join(differs))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *given: Any) -> Any:
        """Without Python's lines, of which none is the case's."""
        if isinstance(excinfo.value, CaseDiffers):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *given)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.path.parent.name}: {self.name}"


def _run(cases: list[tuple[str, str]]) -> Told:
    from spark_jobs.proof.start import commands  # noqa: PLC0415 - a pytest without cases needs none

    told: Told = {}
    with TemporaryDirectory(prefix="sluice-") as folder:
        path = Path(folder) / "results.jsonl"
        for words, variables in commands(dict.fromkeys(name for name, _ in cases), cases, path):
            if foreground.run(words, variables) not in {0, CasesFailed.exit_status}:
                break
        for line in path.read_text().splitlines() if path.exists() else ():
            found = json.loads(line)
            told[found["pipeline"], found["case"]] = found["differs"]
    return told
