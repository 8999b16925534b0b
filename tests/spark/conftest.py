"""The lane's Spark session and broker, for all Spark tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.launch.session import session
from spark_jobs.spec import Pipeline, State
from tests.harness.broker import kafka
from tests.harness.costs import made_once
from tests.harness.crash import copied
from tests.harness.registry import registry_url
from tests.harness.roots import ROOT
from tests.harness.scene import Scene
from tests.harness.session import COMPILED, INTERPRETED, spark, surroundings
from tests.spark.operators import named
from tests.spark.whole import sent

__all__ = ["kafka", "registry_url", "spark"]


@pytest.fixture(scope="package", autouse=True)
def as_submitted(kafka, spark):
    """The environment of a drain, for these tests alone."""
    with surroundings(kafka):
        yield


@pytest.fixture
def compiled(spark):
    """Expressions as bytecode, as in a drain."""
    for name, value in COMPILED.items():
        spark.conf.set(name, value)
    yield
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)


@pytest.fixture
def examples(monkeypatch):
    """The pipelines that show an operator each."""
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")


@pytest.fixture(scope="module")
def settings_of_a_run(spark):
    """Those that a drain and a repair have, with few partitions."""
    session("canonical", State())


@pytest.fixture(scope="module")
def ledger(tmp_path_factory) -> Path:
    """Records out of order, late, twice; none of them is late here."""
    folder = tmp_path_factory.mktemp("ledger")
    sent(folder, 4000)
    return folder


@pytest.fixture(scope="package")
def bases(kafka, as_submitted, tmp_path_factory) -> Callable[[str], Scene]:
    """Pipeline -> it, once it has drained its first delivery; a second one waits. Nobody writes it."""

    @made_once
    def base(pipeline: str) -> Scene:
        folder = tmp_path_factory.mktemp(pipeline)
        made = Scene(kafka, folder, pipeline, events=600, deliveries=2, stores=1, partitions=2)
        made.deliver()
        made.run("first")
        made.deliver()
        return made

    return base


@pytest.fixture
def drained(bases, tmp_path) -> Scene:
    """flight_events over a copy of its base."""
    return copied(bases("flight_events"), tmp_path / ROOT)


@pytest.fixture
def delays(bases, tmp_path) -> Scene:
    """departure_delays over a copy of its base."""
    return copied(bases("departure_delays"), tmp_path / ROOT)


@pytest.fixture(scope="package")
def repairable(kafka, as_submitted, tmp_path_factory) -> Callable[[str], Scene]:
    """Operator -> it, with three deliveries drained: the later ones have records that are late."""

    @made_once
    def base(name: str) -> Scene:
        events = 6000 if name == "daily_flights" else 3000
        spec, folder = named(name).spec, tmp_path_factory.mktemp(name)
        with pytest.MonkeyPatch.context() as of_tests:
            of_tests.setenv("SLUICE_PIPELINES", "tests.pipelines")
            made = Scene(kafka, folder, spec, events=events, stores=1, partitions=2)
            return made.thrice()

    return base


@pytest.fixture
def waiting(repairable, tmp_path, examples) -> Callable[[str], Scene]:
    """A copy of it, to repair: late records wait."""
    return lambda name: copied(repairable(name), tmp_path / ROOT)


@pytest.fixture
def scene(kafka, tmp_path) -> Callable[..., Scene]:
    """Make a scene for a pipeline of this folder: one store a step, two partitions, unless told.

    `ran`: the id of a run that has drained its first delivery.
    """

    def make(pipeline: str | Pipeline, ran: str = "", **given: Any) -> Scene:
        made = Scene(kafka, tmp_path, pipeline, **{"stores": 1, "partitions": 2} | given)
        if ran:
            made.deliver()
            made.run(ran)
        return made

    return make
