"""The steps as a batch query over all good records, against DuckDB: the canonical result."""

from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.spec import GroupState
from spark_jobs.steps.canonical.chain import Counted, canonical_output
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.spark import operators, truth
from tests.spark.whole import FOR_EVER, stateful_input

SQL = [
    operator
    for operator in operators.ALL
    if not any(isinstance(step, GroupState) for step in operator.spec.steps)
]
pytestmark = pytest.mark.usefixtures("settings_of_a_run", "examples")


@pytest.mark.parametrize("operator", SQL, ids=lambda operator: operator.spec.name)
def test_each_form_gives_what_duckdb_gives_over_all_good_records(spark, ledger, operator):
    counted: Counted = {}
    rows = canonical_output(
        stateful_input(spark, operator.spec, ledger), operator.spec, {}, counted=counted
    )
    found = rows.toArrow().to_pylist()
    known = truth.canonical(operator, pa.table(_read(ledger)), FOR_EVER)
    assert known
    assert_same(oracle.comparable(found), oracle.comparable(known), operator.spec.name)
    for observed in counted.values():
        assert observed.get == {"reused_keys": 0, "ambiguous_copies": 0}


def test_where_no_step_keeps_state_it_is_the_input_without_the_column_kafka(spark, ledger):
    spec = operators.ALL[0].spec
    plain = spec.model_copy(update={"steps": ()})
    given = stateful_input(spark, plain, ledger)
    rows = canonical_output(given, plain, {})
    assert rows.columns == list(spec.topic.columns)
    assert rows.count() == given.count()


def _read(folder: Path) -> pa.Table:
    from local import ledger  # noqa: PLC0415 - the fixture has its name

    return ledger.read(folder)
