"""Finds pipelines: every folder under spark_jobs/pipelines with a spec.py that defines SPEC."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from types import ModuleType

from spark_jobs.contract.errors import PipelineUnknown, SluiceError, SpecInvalid
from spark_jobs.contract.spec import Pipeline

FOLDER = Path(__file__).parent.parent / "pipelines"


def names() -> list[str]:
    """The pipelines' names, sorted, without importing any."""
    return sorted(path.parent.name for path in FOLDER.glob("*/spec.py"))


def load(name: str) -> Pipeline:
    """The spec of one pipeline. Raises PipelineUnknown, or SpecInvalid from the spec itself."""
    if name not in names():
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(names()) or 'none'}."
        raise PipelineUnknown(f"there is no pipeline {name!r}: spark_jobs/pipelines has no such folder.", hint)
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
        return importlib.import_module(f"spark_jobs.pipelines.{name}.spec")
    except SluiceError:
        raise
    except Exception as error:
        raise SpecInvalid(f"pipelines/{name}/spec.py cannot be imported: {type(error).__name__}: {error}.",
                          "Correct the file; `sluice validate` says when it is right.") from error


def load_all() -> list[Pipeline]:
    """Every pipeline's spec, by name. One bad spec raises: a DAG that vanishes silently is worse than a red import."""
    return [load(name) for name in names()]
