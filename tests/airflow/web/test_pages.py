"""The views of runs, batches, days and state: what each page shows."""

import html
import json
import re
import sys
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice_airflow.web import ops
from sluice_airflow.web.apart import MOST_THREADS
from spark_jobs.checkpoint.lease import Begun, lease
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.coverage import Coverage, Interval
from spark_jobs.settings.roots import root_of
from spark_jobs.source.positions import Positions
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.root.store import opened
from tests.airflow.web.written import HOSTILE, LATE, MINE, OTHER


def charts(page: str) -> list[dict[str, Any]]:
    """What charts.js draws on a page."""
    return [json.loads(each) for each in re.findall("data-chart='([^']*)'", html.unescape(page))]


def test_the_overview_has_each_pipeline_with_its_last_runs_and_what_waits(get):
    [line] = get("/api/pipelines").json()["pipelines"]
    assert (line["pipeline"], line["late"], line["quarantined"]) == (MINE, 1, 2)
    assert [run["state_rows"] for run in line["runs"]] == [3000, 2000, 1000]
    both = get("/api/pipelines", "everything").json()["pipelines"]
    assert {MINE, OTHER} <= {each["pipeline"] for each in both}
    row = get("/", page=True).text.split("<tbody>")[1]
    assert "CHECK_FAILED" in row
    assert "+2,000" in row, "it grows"


def test_pages_of_runs_and_batches_follow_each_other(get):
    for table, name in (("runs", "run_id"), ("batches", "batch")):
        whole = get(f"/api/pipelines/{MINE}/{table}").json()
        parts = [get(f"/api/pipelines/{MINE}/{table}?limit=1&offset={n}").json() for n in range(3)]
        assert [part[table][0][name] for part in parts] == [each[name] for each in whole[table]]
        assert [part["more"] for part in parts] == [True, True, False]
        assert get(f"/api/pipelines/{MINE}/{table}?limit=5001").status_code == 422


def test_the_records_that_a_condition_filtered_are_a_part_of_each_run(get):
    runs = get(f"/api/pipelines/{MINE}/runs").json()["runs"]
    assert [each["filtered"] for each in runs] == [2, 1, 0]
    [account, *_] = charts(get(f"/pipelines/{MINE}", page=True).text)
    [filtered] = [each["values"] for each in account["series"] if each["label"] == "filtered"]
    assert filtered == [0, 1, 2]


def test_a_run_has_its_account_its_batches_and_each_check_with_what_it_observed_before(get):
    found = get(f"/api/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1").json()
    assert found["account"]["late"] == 10
    assert [batch["batch"] for batch in found["batches"]] == [2]
    check, *_ = found["checks"]
    assert (check["result"]["observed"], check["history"]) == ("2", ["1", "0"])
    assert found["next_command"] == f"sluice show checks {MINE}"
    assert get(f"/api/pipelines/{MINE}/run?run_id=none' OR 'a'='a").status_code == 404


def test_the_late_records_of_a_day_are_counted_and_each_says_by_how_much(get):
    found = get(f"/api/pipelines/{MINE}/late").json()
    assert found["days"] == [{"day": "2026-03-01", "reason": "deduplicate", "records": 1}]
    assert "0:10:00" in get(f"/pipelines/{MINE}/rejected?table=late", page=True).text


def test_late_and_quarantined_records_are_on_one_page_and_the_addresses_of_before_lead_to_it(get):
    both = get(f"/pipelines/{MINE}/rejected", page=True).text
    [chart] = charts(both)
    assert "deduplicate" in [each["label"] for each in chart["series"]]
    assert both.count("&amp;offset=") == 3
    for table, records in (("late", 1), ("quarantine", 2)):
        answer = get(f"/pipelines/{MINE}/{table}?page=0&run_id=", page=True)
        assert answer.headers["location"].endswith(f"/rejected?table={table}&page=0&run_id=")
        page = get(answer.headers["location"].removeprefix("/sluice"), page=True).text
        assert page.count("&amp;offset=") == records
    old = get(f"/pipelines/{MINE}/record{LATE}", page=True).headers["location"]
    assert old == f"/sluice/pipelines/{MINE}/rejected{LATE}"
    assert "offset 7" in get(old.removeprefix("/sluice"), page=True).text


def test_rejected_records_of_a_run_are_shown_alone_and_nobody_guesses_a_value_by_a_reason(
    get, monkeypatch
):
    question = "?kind=malformed&run_id="
    address = f"/pipelines/{MINE}/rejected{question}"
    data = f"/api/pipelines/{MINE}/quarantine{question}"
    found = get(f"{data}scheduled__2%2B00:00-try1").json()
    assert [each["offset"] for each in found["records"]] == [9, 8]
    assert get(f"{data}another").json()["records"] == []
    reasons = re.compile(r'href="/sluice(/pipelines/[^"]*[?&][^"]*reason=[^"]*)"')
    assert not reasons.search(get(f"{address}scheduled__2%2B00:00-try1", page=True).text)
    guess = get(f"/api/pipelines/{MINE}/quarantine?reason=none").json()
    assert len(guess["records"]) == 2, "it is not asked for"
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    page = get(f"{address}scheduled__2%2B00:00-try1", page=True, role="user").text
    for link in reasons.findall(page):
        one = get(
            html.unescape(f"/api{link}").replace("/rejected?", "/quarantine?"), role="user"
        ).json()
        assert len(one["records"]) == 1
    assert len(reasons.findall(page)) == 2


def test_the_state_page_says_when_it_was_read_and_by_which_command_it_is_read_again(get, root):
    page = get(f"/pipelines/{MINE}/state", page=True).text
    assert "after batch 2" in page
    assert f"sluice state {MINE} --keep" in page
    assert "another generation" not in page
    assert "came since" not in page
    path = Paths(str(root), registry.load(MINE)).state_answer
    kept = path.read_text()
    path.unlink()
    try:
        assert get(f"/api/pipelines/{MINE}/state").status_code == 404
        none = get(f"/pipelines/{MINE}/state", page=True)
        assert (none.status_code, "nobody has read" in none.text) == (200, True)
        assert f"sluice state {MINE} --keep" in none.text
    finally:
        path.write_text(kept)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"batch": 0}, "2 batches came since"),
        ({"generation": "g0"}, "another generation"),
        ({"steps": []}, "after batch 2"),
    ],
    ids=["long ago", "of a generation that is gone", "of nothing"],
)
def test_of_an_answer_that_is_old_the_page_says_so(get, root, changed, said):
    path = Paths(str(root), registry.load(MINE)).state_answer
    kept = path.read_text()
    path.write_text(json.dumps(json.loads(kept) | changed))
    try:
        page = get(f"/pipelines/{MINE}/state", page=True).text
        assert said in page
        assert f"sluice state {MINE} --keep" in page
    finally:
        path.write_text(kept)


def test_an_answer_of_an_older_sluice_lacks_sizes_and_the_page_says_what_brings_them(get, root):
    path = Paths(str(root), registry.load(MINE)).state_answer
    kept = path.read_text()
    old = json.loads(kept)
    for step in old["steps"]:
        del step["sizes"], step["expiry"]
    path.write_text(json.dumps(old))
    try:
        assert "An older Sluice kept" in get(f"/pipelines/{MINE}/state", page=True).text
    finally:
        path.write_text(kept)


def test_the_state_page_tells_growth_sizes_and_expiry_and_names_no_key(get):
    page = get(f"/pipelines/{MINE}/state", page=True).text
    for said in (
        "3,000 rows", "No forecast: 3 runs so far", "64 B to 128 B", "not shown",
        "1 due", "6 within a day", "1 never",
    ):  # fmt: skip
        assert said in page
    [step] = get(f"/api/pipelines/{MINE}/state").json()["steps"]
    assert [each["key"] for each in step["sizes"]["largest"]] == [[]]
    assert [each["hours"] for each in step["expiry"][0]["spans"]] == [0, 9]
    charts = [json.loads(html.unescape(each)) for each in re.findall("data-chart='([^']*)'", page)]
    assert [(each["form"], each["unit"], len(each["x"])) for each in charts] == [
        ("stacked", "rows", 3),
        ("stacked", "bytes", 3),
        ("stacked", "rows", 10),
    ]
    assert charts[2]["series"][0]["values"] == [1, *[0] * 8, 5]


def test_the_overview_says_what_waits_what_is_not_published_and_when_the_next_run_is(get):
    [line] = get("/api/pipelines").json()["pipelines"]
    assert (line["late_waiting"], line["quarantined_waiting"]) == (1, 2)
    assert (line["unpublished_batches"], line["unpublished_rows"]) == (1, 85)
    assert line["paused"] is True
    assert line["next_run"] is None
    assert "paused" in get("/", page=True).text


def test_a_late_record_that_a_repair_used_waits_no_more(get, root):
    fate = {
        "pipeline": MINE, "generation": "g1", "partition": 0, "offset": 7, "source": "late",
        "fate": "merged",
    }  # fmt: skip
    ops_tables.append(opened(str(root)), "merged", [fate])
    try:
        [line] = get("/api/pipelines").json()["pipelines"]
        assert (line["late"], line["late_waiting"]) == (1, 0)
        assert get(f"/api/pipelines/{MINE}/repair").json()["ranges"] == []
    finally:
        ops_tables.remove(opened(str(root)), "merged", "true")


def test_the_page_of_a_pipeline_has_the_watermark_s_lag_the_late_share_and_the_phases(get):
    text = get(f"/pipelines/{MINE}", page=True).text
    _, lag, late, phases = charts(text)
    assert (lag["unit"], phases["unit"]) == ("seconds", "seconds")
    assert late["bounds"][0]["value"] == 0.05
    assert "check: 5.00 %" in text
    assert lag["runs"][-1] == "scheduled__2+00:00-try1", "every point leads to its run"
    assert get(f"/api/pipelines/{MINE}/phases").json()["runs"][0]["seconds"] == {"query": 3.0}


def test_a_run_that_was_not_published_says_why_and_what_to_do(get):
    text = html.unescape(
        get(f"/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1", page=True).text
    )
    assert "CHECK_FAILED" in text
    assert f"sluice accept {MINE} --check 'expect_column_values_to_not_be_null(origin)'" in text
    # 100 of 100 offsets were read; 10 were late, 5 copies. The records are a click away.
    assert "100 read = 10 late + 90 accepted; 90 accepted = 5 duplicates + 85 each once." in text
    links = re.findall(r'href="/sluice([^"]*/rejected\?table=late&run_id=[^"]*)"', text)
    assert len(links) == 1
    assert get(links[0], page=True).text.count("&amp;offset=") == 1
    assert "Consumers were not told of them yet." in text
    assert len(charts(text)) == 3, "each check's history"


def test_a_run_that_works_has_a_page_that_says_how_far_it_is_and_one_that_died_is_not_alive(
    get, root
):
    """Also the tab of its DAG run; it is gone from both when its row is there."""
    paths = Paths(str(root), registry.load(MINE))
    now = datetime.now(UTC)
    Begun(
        kind="drain", run_id="scheduled__9+00:00-try1", started_at=now, pid=7, host=HOSTILE[:300],
        begins=Positions({0: 0}), ends=Positions({0: 400}),
    ).write(paths.running)  # fmt: skip
    addresses = (
        f"/pipelines/{MINE}/run?run_id=scheduled__9%2B00:00-try1",
        f"/dags/{MINE}/runs/scheduled__9%2B00:00",
    )
    try:
        with lease(paths.lease, "scheduled__9+00:00-try1"):
            [found] = get(f"/api/pipelines/{MINE}/at_work").json()["runs"]
            for address in addresses:
                text = get(address, page=True).text
                assert 'data-live="/sluice/api/pipelines/' in text
                assert "100 of 100 offsets" in text
                assert "<script>" not in text
                assert "\u202e" not in text
            assert "It works." in get(f"/pipelines/{MINE}", page=True).text
            other = get(f"/pipelines/{MINE}/run?run_id=scheduled__1%2B00:00-try1", page=True).text
            assert "data-live" not in other, "that one has ended"
        assert (found["standing"], found["offsets_left"]) == ("works", 100)
        for address in addresses:
            text = get(address, page=True).text
            assert "It died" in text
            assert "data-live" not in text
        assert get("/api/pipelines/{MINE}/at_work", OTHER).status_code == 404
    finally:
        paths.running.unlink()
    assert get(addresses[0], page=True).status_code == 404
    assert get(f"/api/pipelines/{MINE}/at_work").json() == {"runs": []}


def test_the_page_before_the_first_days_that_there_are_has_an_address(server):
    """A record may say that it is of the year 1."""
    from sluice_airflow.web import readings  # noqa: PLC0415

    first = Interval.model_construct(
        start=datetime(1, 2, 1, tzinfo=UTC), end=datetime(1, 2, 2, tzinfo=UTC)
    )
    found = Coverage.model_construct(intervals=(first,), left_out=31)
    assert readings.older(found) == (datetime(1, 1, 1, tzinfo=UTC), first.start)


@pytest.fixture
def in_two_roots(monkeypatch, tmp_path):
    """OTHER's spec names a root of its own."""
    monkeypatch.setenv("SLUICE_ROOT__EU", str(tmp_path))
    spec = registry.load(OTHER)
    module = sys.modules[registry.module(OTHER, "spec")]
    monkeypatch.setattr(module, "SPEC", spec.model_copy(update={"root": "eu"}))
    return monkeypatch


def test_a_root_that_cannot_be_read_takes_its_own_pipelines_alone(get, in_two_roots):
    in_two_roots.setenv("SLUICE_ROOT__EU", "s3://")
    found = get("/api/pipelines", "everything").json()["pipelines"]
    lines = {each["pipeline"]: each for each in found}
    assert "SETTING_INVALID" in lines[OTHER]["lacking"]
    assert (lines[OTHER]["runs"], lines[MINE]["lacking"], len(lines[MINE]["runs"])) == ([], None, 3)
    assert "SETTING_INVALID" in get("/", "everything", page=True).text
    assert get(f"/api/pipelines/{OTHER}/runs", "everything").status_code == 503
    assert len(get(f"/api/pipelines/{MINE}/runs").json()["runs"]) == 3


def test_a_root_without_any_run_is_no_trouble_of_its_new_pipelines(get, in_two_roots):
    found = get("/api/pipelines", "everything").json()["pipelines"]
    lines = {each["pipeline"]: each for each in found}
    assert (lines[OTHER]["lacking"], lines[OTHER]["runs"]) == (None, [])
    assert not [each for each in lines[OTHER]["troubles"] if each["grave"]]
    assert len(lines[MINE]["runs"]) == 3


def test_one_that_does_not_answer_holds_up_no_page_of_the_other(get, in_two_roots):
    release = threading.Event()
    silent = root_of(registry.load(OTHER))
    in_two_roots.setattr(ops.ASKED, "wait", 0.2)
    real = ops.folders_in

    def folders_in(url: str) -> Any:
        return release.wait(20) if url.startswith(silent) else real(url)

    in_two_roots.setattr(ops, "folders_in", folders_in)
    try:
        for _ in range(MOST_THREADS + 1):
            lines = get("/api/pipelines", "everything").json()["pipelines"]
            unread = {line["pipeline"]: line["lacking"] for line in lines if line["lacking"]}
            assert [*unread] == [OTHER]
            assert len(get(f"/api/pipelines/{MINE}/runs").json()["runs"]) == 3
        assert "ROOT_UNREACHABLE" in unread[OTHER]
        assert get(f"/api/pipelines/{OTHER}/runs", "everything").status_code == 503
    finally:
        release.set()
