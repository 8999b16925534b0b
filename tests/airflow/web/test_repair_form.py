"""The views' form of a repair, and what leads to it."""

import html
from datetime import timedelta

from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.spec import Archive
from spark_jobs.storage.root.store import opened
from tests.airflow.web.written import MINE, NOON


def test_coverage_says_which_day_waits_for_a_repair_and_leads_to_its_form(get):
    found = get(f"/api/pipelines/{MINE}/coverage").json()
    assert [(each["state"], each["late"]) for each in found["intervals"]] == [
        ("canonical", 0),
        ("canonical", 0),
        ("open", 1),
    ]
    [touched] = get(f"/api/pipelines/{MINE}/repair").json()["ranges"]
    assert (touched["start"], touched["end"], touched["late"]) == (
        "2026-03-01T11:00:00Z",
        "2026-03-01T12:00:00Z",
        1,
    )
    late = html.unescape(get(f"/pipelines/{MINE}/rejected?table=late", page=True).text)
    of_it = f"/sluice/pipelines/{MINE}/repair"
    assert f'href="{of_it}"' in late
    assert f'href="{of_it}?from=2026-03-01T11%3A00%3A00Z&to=2026-03-01T12%3A00%3A00Z"' in late
    assert f'href="{of_it}?kind=replay"' in get(f"/pipelines/{MINE}/rejected", page=True).text
    page = get(f"/pipelines/{MINE}/coverage", page=True).text
    assert page.count('<rect x="') == 2, "the two alike are one"
    assert "no longer has is not known here. SETTING_INVALID" in page, "no variable names brokers"


def test_a_day_of_which_all_rows_are_final_has_the_values_of_its_repair(get, root):
    row = {
        "pipeline": MINE, "generation": "g1", "batch_id": 2, "run_id": "r", "partition": 0, "offset": 9,
        "event_time": NOON - timedelta(days=1, hours=2), "watermark_missed": NOON, "step": "deduplicate",
        "kafka_timestamp": NOON - timedelta(days=9),
    }  # fmt: skip
    ops_tables.append(opened(str(root)), "late", [row])
    try:
        page = html.unescape(get(f"/pipelines/{MINE}/coverage", page=True).text)
    finally:
        ops_tables.remove(opened(str(root)), "late", '"offset" = 9')
    wanted = "repair?kind=repair&from=2026-02-28T00%3A00%3A00Z&to=2026-03-01T00%3A00%3A00Z"
    assert page.count(wanted) == 1
    assert f"sluice repair {MINE} --from 2026-02-28T00:00:00Z --to 2026-03-01T00:00:00Z" in page


def test_the_form_of_a_repair_is_filled_in_and_starts_nothing_for_those_who_may_not(get):
    address = f"/pipelines/{MINE}/repair?kind=verify&from=2026-02-28&to=%22%3E%3Cscript%3E"
    reader, editor = (
        html.unescape(get(address, "everything", page=True, role=role).text)
        for role in ("viewer", "user")
    )
    for text in (reader, editor):
        assert '<option value="verify" selected>' in text
        assert 'name="from" value="2026-02-28"' in text
        assert 'name="most_records" value="50000000" min="1"' in text
    assert ("Start the run" in reader, "Start the run" in editor) == (False, True)
    assert 'value="&#34;&gt;&lt;script&gt;"' in get(address, page=True).text
    assert get(f"/pipelines/{MINE}/repair?kind=all", page=True).status_code == 422


def test_the_form_of_a_repair_has_the_fields_of_airflow_s(get):
    from sluice_airflow.tasks.form import ONLY_OVERRIDDEN, params  # noqa: PLC0415 - the home comes first

    text = html.unescape(get(f"/pipelines/{MINE}/repair", page=True).text)
    for name, param in params().items():
        assert f'name="{name}"' in text
        assert param.schema["title"] in text
        about = str(param.description)  # of Airflow's Backfill, which this form is not for
        assert about.removesuffix(f" {ONLY_OVERRIDDEN}") in text
        for value in param.schema.get("enum", ()):
            assert f'<option value="{value or ""}"' in text


def test_the_form_of_a_pipeline_without_ranges_has_a_rebuild_and_says_why(get, monkeypatch):
    load = registry.load
    complete = {"output_mode": "complete"}
    monkeypatch.setattr(registry, "load", lambda name: load(name).model_copy(update=complete))
    found = get(f"/pipelines/{MINE}/repair?kind=verify&from=2026-02-28", page=True)
    assert found.status_code == 200
    text = html.unescape(found.text)
    assert '<option value="" selected></option><option value="rebuild">' in text
    assert text.count("<option") == 2
    assert text.count(" required") == 1, "a person chooses it"
    assert "in complete mode the next drain writes the whole result" in text
    assert 'name="from"' not in text


def test_an_archive_has_no_form_since_it_has_no_such_dag(get, monkeypatch):
    load = registry.load
    archive = Archive()
    monkeypatch.setattr(registry, "load", lambda name: archive_spec(load(name).topic, archive))
    found = get(f"/pipelines/{MINE}/repair?kind=replay", page=True)
    text = html.unescape(found.text)
    assert found.status_code == 409
    assert "an archive has the records themselves, and computes nothing" in text
    assert "<form" not in text
    assert "__backfill" not in text
    assert "Open the form" not in get(f"/pipelines/{MINE}/rejected", page=True).text
    assert "__backfill" not in get(f"/pipelines/{MINE}/coverage", page=True).text


def test_a_replay_is_offered_only_where_ranges_can_be_computed(get, monkeypatch):
    from sluice_airflow.web import pages  # noqa: PLC0415 - the home comes first

    offer = "Open the form of a replay"
    assert offer in get(f"/pipelines/{MINE}/rejected", page=True).text
    monkeypatch.setattr(pages, "unranged", lambda _: "it has none")
    assert offer not in get(f"/pipelines/{MINE}/rejected", page=True).text


def test_what_is_wrong_with_a_range_is_said_and_is_no_failure_of_the_server(get):
    for given, says in (
        ("from=2026-03-01", "from is given without it"),
        ("from=x&to=y", "it is not a time"),
    ):
        answer = get(f"/api/pipelines/{MINE}/coverage?{given}")
        assert (answer.status_code, answer.json()["code"]) == (422, "RANGE_INVALID")
        assert says in answer.json()["what"]
    bound = get(f"/api/pipelines/{MINE}/coverage?from=2026-02-28&to=2026-03-01").json()
    assert [each["start"] for each in bound["intervals"]] == ["2026-02-28T00:00:00Z"]
