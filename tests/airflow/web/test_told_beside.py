"""Which versions of a table beside the stream a plan, a record's fate and a page tell."""

from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sluice_airflow.web import readings
from sluice_airflow.web.page import HERE
from spark_jobs.checkpoint.notes.partitions import Partitions
from spark_jobs.messages.kind import STAGED_KINDS
from spark_jobs.ops.json_of_tables import RunPage
from spark_jobs.pages.run_page import run_page, versions_read
from spark_jobs.pages.templates import environment
from spark_jobs.registry import find as registry
from spark_jobs.runs.told.plan_lines import beside_lines
from spark_jobs.source.place import Place
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.where.fate import COLUMNS, Fate
from spark_jobs.where.tell import Telling
from tests.harness.sources import says
from tests.unit.marked import DAY, Marked, drained


@pytest.fixture
def root(tmp_path) -> Marked:
    """Ten batches that have read version 0."""
    return drained(tmp_path)


def lines(root: Marked, in_table: int = -1) -> list[str]:
    target = SimpleNamespace(table=SimpleNamespace(newest_batch=lambda _: in_table), owner="q")
    found: Any = SimpleNamespace(checkpoint=root.checkpoint, target=target)
    return [*beside_lines(root.spec, root.settings, found)]


def test_a_plan_says_which_version_a_run_would_note_and_that_a_newer_one_marks_rows(root):
    assert lines(root) == ["shops, read beside: version 0"]
    root.has("1", 0, 3, "a")
    [line] = lines(root)
    assert line.startswith("shops, read beside: version 3; before 0, and")
    assert "marked" in line
    assert root.told("outdated") == [], "a plan writes nothing"
    assert lines(root, in_table=10) == ["shops, read beside: version 0"], (
        "a batch that the table has keeps its version"
    )
    root.begin()
    assert lines(root) == ["shops, read beside: version 3"]
    assert len(root.told("outdated")) == 1, "as the plan had said"


def fates(root: Marked, monkeypatch, *offsets: int) -> list[Fate]:
    """Of late records at these offsets: nobody need read them again."""
    end = Positions({0: 20})
    says(monkeypatch, lambda: SourceState("topic-1", Positions({0: 0}), end))
    for n in offsets:
        own = {"pipeline": root.spec.name, "generation": "g1", "batch_id": n, "run_id": f"run-{n}"}
        own |= {"step": "late", "partition": 0, "offset": n, "watermark_missed": root.until}
        root.put("late", own | {"event_time": DAY - timedelta(days=1)})
    return Telling(root.spec, root.settings, None).fates([Place(0, n) for n in offsets])


def test_a_record_s_fate_has_the_version_that_its_batch_read(root, monkeypatch):
    root.has("1", 3, 3, "a")  # version 0 can be read no more
    root.drain(10)
    before, behind = fates(root, monkeypatch, 9, 10)
    told = [dict(zip(COLUMNS, each.values(root.spec.inputs), strict=True)) for each in (before, behind)]  # fmt: skip
    assert [row["batch"] for row in told] == [9, 10]
    assert [row["read_beside"] for row in told] == [["shops, version 0"], ["shops, version 3"]]
    assert before.read_beside == ("shops, version 0",)
    (root.checkpoint.folder / "inputs" / "10").write_text("{")
    [torn] = fates(root, monkeypatch, 10)
    assert torn.read_beside == (), "nobody knows"


def test_a_page_of_a_run_has_each_version_its_batches_and_what_found_no_row(root, monkeypatch):
    root.has("1", 0, 3, "a")
    root.drain(10)
    given = {"pipeline": root.spec.name, "read": 5, "run_id": "run"}
    counts = {8: 2, 9: 1, 10: 4, 11: None}
    for n, count in counts.items():
        unmatched = None if count is None else [("shops", count)]
        own = given | {"generation": "g1", "batch_id": n, "unmatched": unmatched}
        root.put("batches", own)
    root.put("batches", given | {"generation": "gone", "batch_id": 12, "unmatched": [("shops", 7)]})
    times = {"started_at": DAY, "ended_at": DAY, "kind": "drain", "status": "succeeded"}
    root.put("runs", given | times)
    found = run_page(root.paths.root, root.spec.name, "run")
    lines = versions_read(root.spec, root.settings.root, found.batches)
    assert [each.model_dump(exclude={"table"}) for each in lines] == [
        {"version": 0, "batches": (8, 9), "unmatched": 3},
        {"version": 3, "batches": (10, 11), "unmatched": None},
        {"version": None, "batches": (12,), "unmatched": 7},
    ]
    text = page_of(found.model_copy(update={"beside": lines}))
    assert (
        '<tr><th scope="row">shops</th><td class="n">0</td><td>8, 9</td><td class="n">3</td></tr>'
        in text
    )
    assert '<td class="n">3</td><td>10, 11</td><td class="n">not known</td></tr>' in text
    assert "Tables beside the stream" not in page_of(found)
    monkeypatch.setattr(registry, "load", lambda _: root.spec)
    monkeypatch.setattr(readings, "installed", lambda _: nullcontext(root.paths.root))
    read = readings.run(root.spec.name, "run", None)
    assert (read.beside, read.line) == (lines, found.line)


def page_of(run: RunPage) -> str:
    page = environment(HERE / "html").get_template("run.html")
    empty = {"flow": None, "rows_flow": None, "topic_flows": [], "says": {}, "records": {}}
    return page.render(
        base="", pipeline="p", run=run, charts=[], partitions=Partitions(None),
        STAGED_KINDS=STAGED_KINDS, topics_differ=[], **empty,
    )  # fmt: skip
