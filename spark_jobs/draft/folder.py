"""Folder: where a drafted pipeline is written. Nothing is overwritten."""

from __future__ import annotations

import os
import sys
from keyword import iskeyword
from pathlib import Path
from shlex import quote

from spark_jobs.errors import SampleUnusable
from spark_jobs.registry import find as registry
from spark_jobs.spec.fields.field import is_name

OWN = Path("pipelines")
"""The package that a first pipeline makes, in this folder."""


def refuse_there(into: Path | None, name: str, topic: str) -> Path:
    """The pipeline's folder. Raises SampleUnusable where it is there, or can be none;
    SettingInvalid.
    """
    package = _package(into)
    folder = package / name
    if not is_name(name):
        raise SampleUnusable.no_name(name=name, topic=topic)
    if "__" in name:
        raise SampleUnusable.name_of_another(name=name)
    known = {*sys.stdlib_module_names, "spark_jobs"}
    if not package.name.isidentifier() or iskeyword(package.name) or package.name in known:
        raise SampleUnusable.no_package(folder=package, name=package.name)
    if folder.exists():
        raise SampleUnusable.folder_there(folder=folder)
    return folder


def write(folder: Path, spec: str, cases: str | None) -> tuple[Path, ...]:
    """The paths of its spec.py and of its tests.yaml, if there are cases."""
    folder.mkdir(parents=True)
    package = folder.parent / "__init__.py"
    if not package.exists():
        package.write_text('"""The pipelines: one folder each."""\n', encoding="utf-8")
    (folder / "__init__.py").touch()
    made = {folder / "spec.py": spec} | ({folder / "tests.yaml": cases} if cases else {})
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return tuple(made)


def next_steps(into: Path | None, name: str) -> tuple[str, ...]:
    """Commands, in their order."""
    folder = _package(into)
    named = os.environ.get("SLUICE_PIPELINES")
    path = "" if folder.parent == Path.cwd() else f" PYTHONPATH={quote(str(folder.parent))}"
    export = f"export SLUICE_PIPELINES={folder.name}{path}"
    then = (f"sluice {verb} {name}" for verb in ("test", "preview", "run"))
    return (*(() if named and not into else (export,)), *then)


def _package(into: Path | None) -> Path:
    """Sluice's own examples are no place for it. `..` is what it means."""
    if into is None:
        into = registry.folder() if os.environ.get("SLUICE_PIPELINES") else OWN
    return into.resolve()
