"""`sluice show` over real ops tables: what it reads, and what it prints for people, for programs
and for pipes.
"""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result
from upath import UPath

from spark_jobs.cli import app
from spark_jobs.ops import ops_tables
from spark_jobs.ops.operator_metrics import COUNTS
from spark_jobs.ops.views import VIEWS, Table, columns, select

NOON = datetime(2026, 3, 1, 12, 0, 7, 250_000, UTC)
PIPELINE = "flight_events"
RAW = '{"name": "é, \\"x\\"",\n"n": 1}'.encode()
NOT_UTF8 = b"\xff\x00\x1b[31m"
LONG = "expected `int`, got `str`; " * 20
OPERATOR = {"step": 1, "kind": "deduplicate", "rows_in": 1240, "rows_out": 1200, "numRowsTotal": 5000, "rocksdbGetCount": 77}  # fmt: skip
OPERATORS = {1: [OPERATOR, OPERATOR | {"step": 2, "kind": "aggregate"}], 2: None, 1003: [OPERATOR]}
RUN = {"status": "succeeded", "problem": None, "query_seconds": 11.437, "read": 1_234_567, "rows_out": 33_961, "late": 7}  # fmt: skip
RUN |= {"state_rows": 2_000, "watermark": NOON, "unaccounted": 0, "report": "{}"}
HOUR = timedelta(hours=1)
ROWS: dict[str, list[dict[str, Any]]] = {
    "runs": [  # they started before now: see the fixture
        RUN | {"pipeline": name, "run_id": f"run-{hours}", "started_at": timedelta(hours=hours, minutes=1)}
        for name, hours in ((PIPELINE, 3), (PIPELINE, 2), ("aircraft_rotations", 5))
    ],
    "batches": [
        {"batch_id": batch, "audited_at": NOON + batch * HOUR, "offsets_end": '{"0": 5}', "operators": operators,
         "topics": '{"eu": {"read": 4, "last_event_us": 5}, "us": {"read": 0}, "in": {"late": 1}}' if batch == 2 else None,
         "rules": [("positive", 3), ("known", 0), ("shut", 2)] if batch == 2 else None}
        for batch, operators in OPERATORS.items()
    ],
    "late": [{"batch_id": 1, "partition": 0, "offset": 2**40, "event_time": NOON, "value": RAW}],
    "quarantine": [
        {"partition": 0, "offset": offset, "kind": "malformed", "reason": LONG, "value": value}
        for offset, value in enumerate((RAW, NOT_UTF8, None))
    ],
    "checks": [
        {"run_id": "run-2", "checked_at": NOON, "type": "expect_column_values_to_be_between", "column": "delay",
         "severity": "critical", "outcome": "failed", "unexpected": 3, "sample": "[1, 2, 3]"}
    ],
    "repairs": [
        {"repair_id": "20260301T120000-abcdef", "kind": "repair", "state": "swapped", "staged_at": NOON, "added": 2,
         "ranges": [{"start": NOON, "end": NOON + HOUR}, {"start": NOON + 5 * HOUR, "end": NOON + 6 * HOUR}]}
    ],
}  # fmt: skip
"""Of PIPELINE, but for one run."""
OF_THREE = {Table.operators, Table.growth, Table.topics, Table.rules}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """The times of runs are set here: a suite of half an hour collects its tests at its beginning."""
    folder = tmp_path_factory.mktemp("root")
    for row in ROWS["runs"]:
        row["started_at"] = datetime.now(UTC) - row["started_at"]
    for table, rows in ROWS.items():
        ops_tables.append(UPath(folder), table, [{"pipeline": PIPELINE} | row for row in rows])
    return folder


def show(root: Path, *words: str, width: int | None = None) -> Result:
    env = {"SLUICE_ROOT": str(root), "COLUMNS": str(width) if width else None, "TERM": "dumb"}
    return CliRunner().invoke(app, ["show", *words], env=env)


def printed(root: Path, *words: str, width: int | None = None) -> str:
    done = show(root, *words, width=width)
    assert done.exit_code == 0, done.output
    return done.stdout


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("table", Table)
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_root_that_nobody_wrote_to_shows_no_rows_and_stays_empty(tmp_path, table, output):
    (tmp_path / "root").mkdir()
    shown = printed(tmp_path / "root", table, "--format", output)
    none = f"{table}, newest first\nno rows in {tmp_path}/root\n"
    assert {"table": none, "json": ""}.get(output, shown) == shown
    assert [*(tmp_path / "root").iterdir()] == []


@pytest.mark.parametrize("table", Table)
def test_every_column_that_may_be_asked_for_is_read(root, table):
    names = tuple(columns(table))
    rows = select(str(root), table, None, 100, names)
    assert rows.names == names
    assert len(rows.values) == 3 if table in OF_THREE else len(rows.values) == len(ROWS[table])


@pytest.mark.parametrize("table", Table)
def test_any_one_column_may_be_asked_for_alone_and_rows_stay_in_their_order(root, table):
    names = tuple(columns(table))
    whole = select(str(root), table, None, 100, names)
    for place, name in enumerate(names):
        assert select(str(root), table, None, 100, (name,)).values == tuple(
            (row[place],) for row in whole.values
        )


def test_each_operator_of_a_batch_is_a_row_counted_as_explain_counts_steps(root):
    rows = select(
        str(root),
        Table.operators,
        PIPELINE,
        10,
        ("batch", "step", "kind", "rows_in", "total", "rocksdbGetCount"),
    )
    assert rows.values == (
        (1003, 2, "deduplicate", 1240, 5000, 77),
        (1, 2, "deduplicate", 1240, 5000, 77),
        (1, 3, "aggregate", 1240, 5000, 77),
    )
    assert {f"operator['{name}']" for name in COUNTS} <= set(columns(Table.operators).values())


@pytest.mark.parametrize("table", Table)
@pytest.mark.parametrize("width", [20, 80, 132])
def test_no_line_is_wider_than_the_terminal_and_every_column_is_shown_or_named(root, table, width):
    text = printed(root, table, width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert all(name in squeezed(text) for name in VIEWS[table].columns)


@pytest.mark.parametrize("width", [20, 40, 80, 132])
def test_in_a_narrow_terminal_no_letter_of_a_value_is_cut_off(root, width):
    text = printed(root, "quarantine", "--columns", "reason", width=width)
    assert squeezed(text).count(squeezed(LONG)) == len(ROWS["quarantine"])


def test_in_80_columns_runs_are_a_table_of_whole_values(root):
    title, names, _, newest, *_ = printed(root, "runs", width=80).splitlines()
    assert title == "runs, newest first"
    assert names.split() == ["pipeline", "when", "status", "problem", "read", "rows_out", "late"]
    assert newest.split() == [
        PIPELINE,
        "2",
        "hours",
        "ago",
        "succeeded",
        "1,234,567",
        "33,961",
        "7",
    ]


def test_what_is_too_long_for_a_terminal_says_what_is_missing_and_a_pipe_gets_it_all(tmp_path):
    ops_tables.append(
        UPath(tmp_path), "quarantine", [{"pipeline": PIPELINE, "value": b"x" * 3000 + b"y" * 500}]
    )
    words = ("quarantine", "--columns", "value")
    assert squeezed("(2,500 more characters: --format json has all)") in squeezed(
        printed(tmp_path, *words, width=80)
    )
    assert "x" * 3000 + "y" * 500 in printed(tmp_path, *words).splitlines()


@pytest.mark.parametrize("table", Table)
def test_a_pipe_gets_a_table_of_all_columns_with_one_line_a_row(root, table):
    title, names, _, *lines = printed(root, table).splitlines()
    assert title == f"{table}, newest first"
    bars = {"state", "rows"} if table is Table.growth else set()
    assert [name for name in names.split() if name not in bars] == list(VIEWS[table].columns)
    of = 3 if table in OF_THREE else len(ROWS[table])
    assert len(lines) == of


def test_one_pipelines_table_has_its_name_in_the_title_and_no_other_rows(root):
    text = printed(root, "runs", "aircraft_rotations")
    assert text.splitlines()[0] == "runs, newest first, of aircraft_rotations"
    assert (text.count("aircraft_rotations"), text.count(PIPELINE)) == (1, 0)


def test_json_is_an_object_a_line_with_raw_numbers_and_times_in_utc(root):
    rows = [json.loads(line) for line in printed(root, "runs", "--format", "json").splitlines()]
    assert [row["run_id"] for row in rows] == ["run-2", "run-3", "run-5"]
    assert list(rows[0]) == [name for name in VIEWS[Table.runs].columns if name != "when"]
    assert (rows[0]["read"], rows[0]["seconds"], rows[0]["problem"]) == (1_234_567, 11.437, None)
    assert rows[0]["watermark"] == "2026-03-01T12:00:07.250000Z"
    assert datetime.fromisoformat(rows[2]["started_at"]) == ROWS["runs"][2]["started_at"]


def test_csv_has_a_header_and_the_same_values(root):
    names = ("run_id", "read", "problem", "watermark", "when")
    rows = list(
        csv.DictReader(
            io.StringIO(printed(root, "runs", "--format", "csv", "--columns", ",".join(names)))
        )
    )
    assert list(rows[0]) == list(names)
    assert [list(row.values())[:4] for row in rows] == [
        [run_id, "1234567", "", "2026-03-01T12:00:07.250000Z"]
        for run_id in ("run-2", "run-3", "run-5")
    ]
    assert datetime.fromisoformat(rows[0]["when"]).tzinfo


def test_a_record_comes_back_byte_for_byte_from_json_and_csv(root):
    words = ("quarantine", "--columns", "offset,value", "--format")
    by_json = [json.loads(line) for line in printed(root, *words, "json").splitlines()]
    base64 = {"base64": "/wAbWzMxbQ=="}
    assert [row["value"] for row in by_json] == [RAW.decode(), base64, None]
    by_csv = list(csv.DictReader(io.StringIO(printed(root, *words, "csv"))))
    assert [row["value"] for row in by_csv] == [RAW.decode(), json.dumps(base64), ""]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("pipeline,raed", "'raed' is no column of runs. Did you mean read? There are: pipeline, when, status"),
        ("batch", "'batch' is no column of runs."),
        ('"; DROP', "is no column of runs. There are: pipeline"),
        (" ,", "it names no column. There are: pipeline, when"),
    ],
)  # fmt: skip
def test_a_column_that_there_is_not_is_refused_with_those_there_are(root, given, says):
    done = show(root, "runs", "--columns", given, width=400)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_columns_come_in_the_order_in_which_they_are_named_and_once(root):
    names = printed(root, "runs", "--columns", "read, run_id,read,table_version").splitlines()[1]
    assert names.split() == ["read", "run_id", "table_version"]


def test_a_repair_is_shown_from_the_start_of_its_first_range_to_the_end_of_its_last(root):
    rows = select(str(root), Table.repairs, PIPELINE, 5, ("first", "last", "parts"))
    assert rows.values == ((NOON, NOON + timedelta(hours=6), 2),)
