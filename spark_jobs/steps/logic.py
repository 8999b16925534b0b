"""Loads a class or function of a pipeline's logic.py by its name in the spec."""

from __future__ import annotations

import importlib
from typing import Any

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry import find as registry


def load(pipeline: str, name: str) -> Any:
    """The class or function.

    Any: the pipeline defines it. Raises SpecInvalid if logic.py does not define it.
    """
    try:
        return getattr(importlib.import_module(registry.module(pipeline, "logic")), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise SpecInvalid.logic_absent(
            pipeline=pipeline,
            name=name,
            error=error,
        ) from None
