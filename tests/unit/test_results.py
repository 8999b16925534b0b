"""Answers that a server keeps: the same as those of the table, for that version, and bounded."""

from typing import Any

import deltalake
import pyarrow as pa
from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.ops.results import MOST_ANSWERS, Asked, Results, Version, using

COUNT = "SELECT count(*) AS n FROM late"


def put(root: UPath, offset: int) -> None:
    ops_tables.append(root, "late", [{"pipeline": "p", "partition": 0, "offset": offset}])


def count(root: UPath) -> Any:
    return ops_tables.query(root, "late", COUNT).to_pylist()[0]["n"]


def test_an_answer_is_read_once_for_a_version_and_a_new_one_is_seen_at_once(tmp_path, monkeypatch):
    root, results = UPath(tmp_path), Results(2**20)
    reads = list[str]()
    builder = deltalake.QueryBuilder

    class Counted(builder):  # type: ignore[misc, valid-type]  # delta-rs's own, and it counts
        def execute(self, sql: str) -> Any:
            reads.append(sql)
            return super().execute(sql)

    monkeypatch.setattr(deltalake, "QueryBuilder", Counted)
    put(root, 1)
    with using(results):
        assert [count(root), count(root)] == [1, 1]
        assert len(reads) == 1
        put(root, 2)
        assert [count(root), count(root)] == [2, 2]
        assert len(reads) == 2
    assert count(root) == 2
    assert len(reads) == 3, "outside of the block nothing is kept"


def test_a_table_that_was_made_anew_at_the_same_path_is_another(tmp_path):
    root, results = UPath(tmp_path), Results(2**20)
    with using(results):
        put(root, 1)
        assert count(root) == 1
        (tmp_path / "ops").rename(tmp_path / "gone")
        assert count(root) == 0
        ops_tables.append(root, "late", [{"pipeline": "p", "offset": n} for n in range(3)])
        assert count(root) == 3


def test_a_table_that_is_not_there_fills_no_place(tmp_path):
    results = Results(2**20)
    with using(results):
        assert [count(UPath(tmp_path)), count(UPath(tmp_path))] == [0, 0]
    assert not results._answers  # noqa: SLF001 - nobody asks for its path again


def answer(name: int, size: int) -> tuple[Asked, pa.Table]:
    return Asked((Version("path", "id", name),), "sql"), pa.table({"a": [b"x" * size]})


def test_the_kept_answers_stay_within_their_bounds_and_the_oldest_go_first():
    results = Results(1000)
    for name in range(20):
        asked, table = answer(name, 100)
        results.answer(asked, lambda table=table: table)
        assert results.size <= 1000
    asked, table = answer(19, 100)
    assert results.answer(asked, lambda: pa.table({})) is not pa.table({})
    assert results.answer(answer(0, 1)[0], lambda: table) is table, "it was put out"


def test_one_large_answer_does_not_put_out_the_others_and_empty_ones_are_bounded_too():
    results = Results(1000)
    small = answer(1, 10)
    results.answer(small[0], lambda: small[1])
    large = answer(2, 900)
    assert results.answer(large[0], lambda: large[1]) is large[1]
    assert results.answer(small[0], lambda: large[1]) is small[1]
    for name in range(MOST_ANSWERS + 10):
        results.answer(Asked((Version("empty", "id", name),), "sql"), lambda: pa.table({}))
    assert len(results._answers) == MOST_ANSWERS  # noqa: SLF001 - the bound itself
