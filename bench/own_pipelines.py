"""Own pipelines: those of the benchmark, bench/pipelines, in place of the shipped ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

PACKAGE = "bench.pipelines"


@contextmanager
def own_pipelines() -> Iterator[None]:
    """Within the block, this process and what it starts find the benchmark's pipelines."""
    before = os.environ.get("SLUICE_PIPELINES")
    os.environ["SLUICE_PIPELINES"] = PACKAGE
    try:
        yield
    finally:
        del os.environ["SLUICE_PIPELINES"]
        if before is not None:
            os.environ["SLUICE_PIPELINES"] = before
