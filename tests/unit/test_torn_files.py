"""Torn files: a file of a table that is not what its log says ends no command without its name."""

from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from upath import UPath

from spark_jobs.errors import TableChanged
from spark_jobs.repair.exchange.staging import within
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.open_version import Opened, Said
from tests.harness.refused import fails

ROWS = pa.table({"n": range(500), "day": ["a b"] * 500})
COLUMNS = pa.schema([("n", pa.int64()), ("day", pa.string())])


def longer(file: Path) -> None:
    """What a person has put in its place."""
    rows = pq.ParquetFile(file).read()
    pq.write_table(pa.concat_tables([rows] * 3), file, use_dictionary=False, compression="none")


def shorter(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def scratched(file: Path) -> None:
    """As long as before."""
    whole = file.read_bytes()
    file.write_bytes(whole[:50] + b"\xff" * (len(whole) // 3) + whole[50 + len(whole) // 3 :])


DAMAGES = {
    "file_resized": (longer, shorter),
    "file_torn": (scratched,),
    "file_gone": (Path.unlink,),
}


@pytest.fixture
def made(tmp_path) -> tuple[Delta, Path]:
    """A table of two files, and one of them."""
    place = tmp_path / "tä ble"
    for rows in (ROWS, ROWS):
        deltalake.write_deltalake(place, rows, mode="append", partition_by=["day"])
    return Delta(UPath(place)), next(place.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("reason", "damage"), [(why, each) for why, some in DAMAGES.items() for each in some]
)
def test_the_file_is_named_by_whoever_reads_it(made, reason, damage):
    table, file = made
    damage(file)

    def merged(opened: Opened) -> None:
        opened.overwrite(ROWS.slice(0, 1), "n = 3", Said({}, "who", 1))

    readers = (
        lambda: within(table, "n > 3", COLUMNS),
        lambda: table.at_newest(lambda opened: opened.scan(["n"]).to_table()),
        lambda: table.at_newest(merged),
    )
    for read in readers:
        with fails(TableChanged, reason) as raised:
            read()
        assert file.name in str(raised.value)


def test_an_error_that_no_file_has_made_blames_none(made):
    table, file = made
    file.write_bytes(file.read_bytes() + b"more")
    assert within(table, "n > 3", COLUMNS).num_rows == 992, "behind the footer nobody reads"
    with pytest.raises(deltalake.exceptions.DeltaError, match="No field named q"):
        table.query("SELECT q FROM t")
