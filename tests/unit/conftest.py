"""Unit tests: no Spark, no broker, no Airflow."""

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import Phase, settings

import spark_jobs
from spark_jobs import pipelines
from tests.harness.lines import as_before
from tests.harness.long_form import examples

# A machine that is busy with Spark says nothing about the code by being slow. The same cases every
# time, but in the long form.
settings.register_profile(
    "sluice",
    max_examples=examples(settings.default.max_examples),
    deadline=None,
    derandomize="SLUICE_CASES" not in os.environ,
    database=None,
    phases=[Phase.explicit, Phase.generate] if "SLUICE_MUTANT" in os.environ else [*Phase],
)
settings.load_profile("sluice")
USERS = "spark_jobs.pipelines"


@pytest.fixture(autouse=True)
def _users_code_stays() -> Iterator[None]:
    """A drain in turn forgets the modules of the pipelines, which later tests hold."""
    names = _users_modules(len(sys.modules), next(reversed(sys.modules)))
    before = {name: sys.modules[name] for name in names if name in sys.modules}
    yield
    sys.modules.update(before)
    if USERS in before:
        vars(spark_jobs)["pipelines"] = before[USERS]


@lru_cache(maxsize=1)
def _users_modules(count: int, newest: str) -> tuple[str, ...]:
    """The names of those imported; looked for only if the modules have changed since."""
    return tuple(name for name in sys.modules if name.startswith(USERS))


@pytest.fixture
def log_as_before() -> Iterator[None]:
    """What log.setup does is undone after the test."""
    with as_before():
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder of pipelines in the place of the shipped ones."""
    monkeypatch.setattr(pipelines, "__path__", [str(tmp_path)])
    for module in [name for name in sys.modules if name.startswith("spark_jobs.pipelines.")]:
        monkeypatch.delitem(sys.modules, module)
    return tmp_path
