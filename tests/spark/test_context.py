"""For every pipeline's folder with ranges: a range by its declared context is the whole's."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, functions as F
from upath import UPath

from local import ledger as ledgers
from spark_jobs.registry import find as registry
from spark_jobs.repair.compute.replay import replay
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import ranged, unranged
from spark_jobs.steps.canonical.chain import canonical_output, next_group_state
from spark_jobs.values.spans import Position, Span
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.long_form import LONG, long_form
from tests.harness.turns import alike
from tests.spark.whole import FOR_EVER, stateful_input

RANGES = 20 if LONG else 1
FOLDERS = [
    pytest.param(spec, id=spec.name, marks=[] if spec.ranges.context is not None else [long_form])
    for spec in map(registry.load, registry.names())
    if unranged(spec) is None
]
pytestmark = [pytest.mark.usefixtures("settings_of_a_run"), alike("a replay of a state")]


@pytest.mark.parametrize("spec", FOLDERS)
def test_a_range_is_the_slice_of_the_whole_whatever_its_context(spark, ledger, tmp_path, spec):
    whole = oracle.RESULTS[spec.name](oracle.events(ledgers.read(ledger), set()), FOR_EVER)
    way = ranged(spec)
    for number, span in enumerate(_spans(whole, way.position.column)):
        wanted = [row for row in whole if _within(row, way.position, span)]
        found = _computed(spark, way, ledger, tmp_path / f"{number}", span)
        assert_same(oracle.comparable(found), oracle.comparable(wanted), f"{span}")
        if spec.ranges.context is not None:
            wider = ranged(_with_context(spec, 2 * spec.ranges.context))
            again = _computed(spark, wider, ledger, tmp_path / f"{number}-wider", span)
            assert_same(oracle.comparable(again), oracle.comparable(found), f"{span}, twice")


def _with_context(spec: Pipeline, context: timedelta) -> Pipeline:
    return spec.model_copy(update={"ranges": spec.ranges.model_copy(update={"context": context})})


def _spans(whole: list[dict[str, Any]], column: str) -> list[Span]:
    """Beginning at a row or beside it; most are not empty."""
    chance = random.Random(9)
    times = sorted(row[column] for row in whole)
    starts = [
        chance.choice(times) - chance.choice((timedelta(), timedelta(minutes=17)))
        for _ in range(RANGES)
    ]
    return [Span(a, a + timedelta(minutes=chance.choice((1, 90, 1440, 3000)))) for a in starts]


def _within(row: dict[str, Any], position: Position, span: Span) -> bool:
    at: datetime = row[position.column]
    at -= timedelta(microseconds=1) if position.edge == "end" else timedelta()
    return span.start <= at < span.end


def _computed(spark, way, ledger, folder, span) -> list[dict[str, Any]]:
    """As repair/unit/range_rows.py does it, without Kafka and ops tables."""
    spec = way.spec
    needed = Position(spec.topic.event_time).sql([way.needed(span)])
    rows = stateful_input(spark, spec, ledger).where(needed)
    until = next_group_state(spec, spec.first_stateful)
    rows = canonical_output(rows, spec, {}, spec.first_stateful, until)
    if until < len(spec.steps):
        end = span.end + spec.ranges.settle
        rows = replay(spark, spec, rows, {}, until, UPath(folder), UPath(folder / "replay"), end)
    return _listed(rows.where(F.expr(way.position.sql([span]))))


def _listed(rows: DataFrame) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.toArrow().to_pylist()
    return found
