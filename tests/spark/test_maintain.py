"""`sluice maintain` between runs, and OPTIMIZE by somebody else within a commit: tables stay exact."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spark_jobs.admin.maintain import maintain, maintain_ops
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.errors import StateUnreadable, TableContended
from spark_jobs.spec import Check
from spark_jobs.table import history
from spark_jobs.table.delta import commit
from spark_jobs.table.delta.table import Delta
from tests.harness import oracle
from tests.harness.aged import age
from tests.harness.lines import heard
from tests.harness.long_form import long_form
from tests.harness.refused import because, fails
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark import operators, truth

pytestmark = alike("upkeep beside drains")

SOMETHING = Check(type="expect_table_row_count_to_be_between", kwargs={"min_value": 1})


def maintained(made: Scene) -> str:
    """What it said, after it is done."""
    intents = maintain(made.spec, made.settings), maintain_ops(made.settings)
    for intent in intents:
        if intent.execute is not None:
            intent.execute()
    return " ".join((*intents[0].lines, *intents[1].lines))


def optimized_meanwhile(write: Callable[..., None]) -> Callable[..., None]:
    """The commit, between whose reading and whose end somebody optimizes the table."""

    def commit_batch(rows: Any, *arguments: Any) -> None:
        path = arguments[-1].path

        def optimize(batches: Any) -> Any:
            import deltalake  # noqa: PLC0415 - in a worker

            deltalake.DeltaTable(path).optimize.z_order(["flights"])  # also where there is one file
            yield from batches

        write(rows.coalesce(1).mapInArrow(optimize, rows.schema), *arguments)

    return commit_batch


def test_runs_rewind_and_change_feed_go_on_after_it_and_the_table_is_exact(drained, spark):
    drained.change(max_offsets_per_batch=100, max_batches=2)
    report = drained.run("second")
    assert report.waiting
    table, path = Path(str(drained.paths.table)), str(drained.paths.table)
    since = report.table_version
    assert since is not None
    first = report.batches[0]
    rows = oracle.comparable(drained.table())
    assert f"small files of {path}" in maintained(drained)
    read = spark.read.format("delta").load(path).collect()
    assert oracle.comparable(row.asDict() for row in read) == rows
    feed = spark.read.format("delta").option("readChangeFeed", "true")
    assert feed.option("startingVersion", since + 1).load(path).count() == 0
    assert not history.somebody_else_wrote(Delta(drained.paths.table), 0, since + 1)
    age(table, 40)

    drained.change(max_batches=None)
    report = drained.run("third")
    drained.assert_exact()
    last, version = report.batches[-1], report.table_version
    assert version is not None
    told = {"table_version": version, "batch": last, "before_version": version}
    Published(number=1, before_batch=last, **told).fix(drained.paths)
    age(table, 8)
    there = len(list(table.glob("*.parquet")))
    assert "that it has not had for 7 days" in maintained(drained)
    assert len(list(table.glob("*.parquet"))) < there
    assert {f".{file.name}.crc" for file in table.glob("*.parquet")} >= {
        file.name for file in table.glob(".*.crc")
    }
    drained.change(output_checks=(SOMETHING,))
    idle = drained.run("nothing new")
    assert idle.table_version is not None
    assert idle.table_version > version
    assert read_cursor(drained.paths.cursor).judged_table_version == version, "nothing to publish"
    with fails(StateUnreadable, "content_gone"):
        rewind(drained.spec, drained.settings, first)
    for _ in range(2):  # the second time by a generation that has written no batch
        rewound_at = datetime.now(UTC).replace(microsecond=0)
        rewind(drained.spec, drained.settings, last).execute()
        drained.assert_exact()
        while datetime.now(UTC).replace(microsecond=0) == rewound_at:
            time.sleep(0.05)  # what is kept has the second in its name
    drained.run("after the rewind")
    drained.assert_exact()


def test_a_merge_beside_an_optimize_is_repeated_and_the_table_is_exact(scene, monkeypatch):
    operator = operators.named("update_window")
    made = scene(operator.spec, events=400, deliveries=2, ran="first")
    maintained(made)
    made.deliver()
    said: list[str] = []
    with monkeypatch.context() as busy, heard(said.append):
        busy.setattr(commit, "merge", optimized_meanwhile(commit.merge))
        made.run("second")
    assert any("written again" in line for line in said), said
    truth.hold(made, operator)


@long_form
def test_an_overwrite_beside_which_somebody_optimized_is_refused_in_words_and_repeated_by_the_next_run(
    scene, monkeypatch
):
    operator = operators.named("complete_windows")
    made = scene(operator.spec, events=400, deliveries=2, ran="first")
    maintained(made)
    made.deliver()
    with monkeypatch.context() as busy:
        busy.setattr(commit, "replace", optimized_meanwhile(commit.replace))
        report = made.drain("second")
    because(report.problem, TableContended, "written_meanwhile")
    made.run("third")
    truth.hold(made, operator)
