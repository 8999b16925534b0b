"""Finds pipelines: every folder of the pipelines' package (SLUICE_PIPELINES) with a spec.py that defines SPEC."""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import os
from pathlib import Path
from types import ModuleType

from spark_jobs.contract.errors import PipelineUnknown, SettingInvalid, SluiceError, SpecInvalid
from spark_jobs.contract.settings import VARIABLES
from spark_jobs.contract.spec import Pipeline


def package() -> str:
    """The package that holds the pipelines."""
    return os.environ.get("SLUICE_PIPELINES") or str(VARIABLES["SLUICE_PIPELINES"][1])


def module(pipeline: str, part: str) -> str:
    """The name of a module of a pipeline: its spec or its logic."""
    return f"{package()}.{pipeline}.{part}"


def names() -> list[str]:
    """The pipelines' names, sorted, without importing any."""
    return sorted(path.parent.name for path in _folder().glob("*/spec.py"))


def logic_digest(name: str) -> str | None:
    """What a pipeline's logic.py says, in twelve letters: comments, docstrings and layout apart. None where there is none."""
    path = _folder() / name / "logic.py"
    if not path.exists():
        return None
    try:
        tree = ast.parse(path.read_text())
    except SyntaxError as error:
        raise SpecInvalid(f"pipelines/{name}/logic.py line {error.lineno} is no Python: {error.msg}.", "Correct it.") from None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


def _folder() -> Path:
    try:
        return Path(importlib.import_module(package()).__path__[0])
    except (ModuleNotFoundError, AttributeError) as error:
        raise SettingInvalid(f"SLUICE_PIPELINES is {package()!r}: {error}.",
                             "Name a Python package on the PYTHONPATH, or unset it.") from None


def load(name: str) -> Pipeline:
    """The spec of one pipeline. Raises PipelineUnknown, or SpecInvalid from the spec itself."""
    if name not in names():
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(names()) or 'none'}."
        raise PipelineUnknown(f"there is no pipeline {name!r}: {package().replace('.', '/')} has no such folder.", hint)
    spec = getattr(_module(name), "SPEC", None)
    if not isinstance(spec, Pipeline):
        raise SpecInvalid(f"pipelines/{name}/spec.py defines no SPEC = Pipeline(...).", "Copy another pipeline's.")
    if spec.name != name:
        raise SpecInvalid(
            f"pipelines/{name}/spec.py: name is {spec.name!r}, but the folder, the table and the DAG must agree.",
            f"Name it {name!r} or rename the folder.",
        )
    return spec


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(module(name, "spec"))
    except SluiceError:
        raise
    except Exception as error:
        raise SpecInvalid(f"pipelines/{name}/spec.py cannot be imported: {type(error).__name__}: {error}.",
                          "Correct the file; `sluice validate` says when it is right.") from error


def load_all() -> list[Pipeline]:
    """Every pipeline's spec, by name. One bad spec raises: a DAG that vanishes silently is worse than a red import."""
    return [load(name) for name in names()]
