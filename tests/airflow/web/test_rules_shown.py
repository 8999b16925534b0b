"""The counts of rules as people see them, also of a root whose batches an older Sluice accounted for."""

import json
from datetime import UTC, datetime, timedelta

import deltalake
import pytest
from typer.testing import CliRunner
from upath import UPath

from sluice_airflow.web.page import HERE
from spark_jobs.checkpoint.notes.partitions import Partitions
from spark_jobs.cli.__main__ import app
from spark_jobs.messages.kind import STAGED_KINDS
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.pages.run_page import run_page
from spark_jobs.pages.templates import environment
from tests.unit.specs import pipeline

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OWN = {"pipeline": "sales_hourly", "run_id": "run"}
COUNTS = ([("positive", 3), ("known", 0)], [("positive", 2), ("known", 1)])


def batch(number: int, **columns):
    columns["audited_at"] = NOON - timedelta(hours=number)  # a test asks for the first one first
    return OWN | {"batch_id": number, "generation": "g", "read": 10} | columns


@pytest.fixture
def older(tmp_path):
    """A root of a Sluice without rules, with one batch."""
    schema = SCHEMAS["batches"]
    schema = schema.remove(schema.get_field_index("rules"))
    path = ops_tables.made(UPath(tmp_path), "batches")
    deltalake.DeltaTable.create(str(path), schema, mode="overwrite", partition_by=["pipeline"])
    rows = ops_tables._arrow("batches", [batch(0)]).drop_columns(["rules"])  # noqa: SLF001 - as then
    deltalake.write_deltalake(str(path), rows, mode="append")
    times = {"started_at": NOON, "ended_at": NOON, "kind": "drain", "status": "succeeded"}
    ops_tables.append(UPath(tmp_path), "runs", [OWN | times])
    return tmp_path


@pytest.fixture
def root(older):
    """Two batches more, of a topic with rules."""
    for number, rules in enumerate(COUNTS, 1):
        where = ops_tables.equals({"batch_id": number})
        ops_tables.replace(UPath(older), "batches", [batch(number, rules=rules)], where)
    return older


def show(root, *words):
    done = CliRunner().invoke(app, ["show", *words], env={"SLUICE_ROOT": str(root)})
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_root_from_before_has_no_counts_until_a_batch_brings_some(older, root):
    assert show(root, "rules", "--format", "json", "--columns", "batch,rule,failed,read") == [
        {"batch": number, "rule": rule, "failed": failed, "read": 10}
        for number, of in enumerate(COUNTS, 1)
        for rule, failed in of
    ]


def test_an_older_root_is_read_without_its_column(older):
    assert show(older, "rules", "--format", "json") == []
    assert run_page(UPath(older), "sales_hourly", "run").rules == {}


def test_a_run_and_its_page_have_the_sum_of_its_batches(root):
    found = run_page(UPath(root), "sales_hourly", "run")
    assert found.rules == {"positive": 5, "known": 1}
    assert [each.rules for each in found.batches] == [None, *map(dict, COUNTS)]
    page = environment(HERE / "html").get_template("run.html")
    empty = {"flow": None, "rows_flow": None, "topic_flows": [], "says": {}, "records": {}}
    text = page.render(
        base="", pipeline="p", run=found, charts=[], partitions=Partitions(pipeline().inputs),
        STAGED_KINDS=STAGED_KINDS, topics_differ=[], **empty,
    )  # fmt: skip
    assert '<tr><th scope="row">positive</th><td class="n">5</td><td class="n">16.67 %</td>' in text


def test_a_repair_s_row_has_them_beside_those_of_a_sluice_without_rules(tmp_path):
    schema = SCHEMAS["repairs"]
    schema = schema.remove(schema.get_field_index("rules"))
    path = ops_tables.made(UPath(tmp_path), "repairs")
    deltalake.DeltaTable.create(str(path), schema, mode="overwrite", partition_by=["pipeline"])
    was = {"pipeline": "sales_hourly", "repair_id": "r0", "state": "canonical", "table_version": 1}
    rows = ops_tables._arrow("repairs", [was]).drop_columns(["rules"])  # noqa: SLF001 - as then
    deltalake.write_deltalake(str(path), rows, mode="append")
    now = was | {"repair_id": "r1", "table_version": 2, "rules": [("positive", 3)]}
    repairs.put(UPath(tmp_path), [now])
    found = repairs.stored(UPath(tmp_path), "sales_hourly", "true")
    assert [row["rules"] and dict(row["rules"]) for row in found] == [None, {"positive": 3}]
