"""The views of a record: who sees its bytes, and what hostile ones do."""

import html
import json

from tests.airflow.web.written import BAD, HOSTILE, LATE, MINE, OTHER, VALUE, VALUE_OF, addresses


def test_hostile_text_is_text_and_is_cut_and_no_page_has_a_script_or_a_record_s_bytes(get):
    shown = ""
    for address in addresses(MINE):
        if address.startswith(("/api/", "/static/")):
            continue
        answer = get(address, page=True)
        if answer.status_code == 308:  # to one of the others
            continue
        text = answer.text
        assert len(text) < 60_000
        assert "<script>" not in text
        ours = text.count('<script src="/sluice/static/')
        assert text.count("<script") == ours == (4 if address == "/" else 3)
        assert not any(found in text for found in (" style=", " onload=", "javascript:"))
        assert not any(found in text for found in ("\u202e", "\x1b", "\x00", "secret of a person"))
        shown += html.unescape(text)
    assert r"<script>alert(1)</script>" in shown
    assert r"\u202eevil\x1b[31m\x00" in shown
    assert "more characters)" in shown
    for table in ("late", "quarantine"):
        assert "secret" not in get(f"/api/pipelines/{MINE}/{table}").text


def test_no_page_and_no_json_has_a_value_of_a_record_for_those_who_may_not_see_it(get, monkeypatch):
    for setting, role in (("hidden", "admin"), ("shown", "viewer")):
        monkeypatch.setenv("SLUICE_RECORD_BYTES", setting)
        for address in addresses(MINE):
            for page in (True, False):
                assert VALUE_OF not in get(address, role=role, page=page).text, address
    run = f"/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1"
    for address in (run, f"/pipelines/{MINE}/rejected", f"/dags/{MINE}/runs/scheduled__2%2B00:00"):
        assert VALUE_OF in get(address, role="user", page=True).text, address
    assert "CAST_INVALID_INPUT: values withheld" in get(f"/api/pipelines/{MINE}/quarantine").text


def test_a_record_s_bytes_are_shown_to_nobody_unless_a_setting_says_so(get):
    for role in ("viewer", "user", "admin"):
        found = get(f"/api/pipelines/{MINE}/record{LATE}", role=role)
        assert (found.json()["withheld"], found.json()["late_by_seconds"]) == ("setting", 600)
        for address in (f"rejected{LATE}", "state"):
            text = get(f"/pipelines/{MINE}/{address}", role=role, page=True).text
            assert "SLUICE_RECORD_BYTES" in text
            assert "secret" not in text + found.text


def test_with_the_setting_they_are_shown_to_those_who_may_edit_the_dag_alone(get, monkeypatch):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    of_it = f"pipelines/{MINE}"
    for path, page in (
        (f"/api/{of_it}/record{LATE}", False),
        (f"/{of_it}/rejected{LATE}", True),
        (f"/api/{of_it}/state", False),
        (f"/{of_it}/state", True),
    ):
        assert "secret" not in get(path, page=page).text
        assert "secret of a person" in get(path, page=page, role="user").text
        assert get(path.replace(MINE, OTHER), page=page, role="user").status_code == 404
    assert get(f"/api/pipelines/{MINE}/record{LATE}").json()["withheld"] == "right"
    assert "those who may edit the DAG" in get(f"/pipelines/{MINE}/rejected{LATE}", page=True).text


def test_hostile_bytes_are_text_and_hexadecimal_and_bounded(get, monkeypatch):
    monkeypatch.setenv("SLUICE_RECORD_BYTES", "shown")
    value = get(f"/api/pipelines/{MINE}/record{LATE}", role="user").json()["value"]
    assert (value["size"], value["text_whole"], value["hexadecimal_whole"]) == (
        len(VALUE),
        True,
        True,
    )
    fields = {each["name"]: (each["declared"], each["value"]) for each in value["fields"]}
    assert fields["name"] == (None, '"secret of a person <script>"')
    assert fields["event_id"] == ("string", "7")
    assert fields["carrier"] == ("string", None), "declared, and missing"
    whole = get(f"/api/pipelines/{MINE}/record{BAD}", role="user").json()
    assert [(each["size"], each["value"]) for each in whole["headers"][1:]] == [
        (18, "secret of a header"),
        (None, None),
    ]
    assert len(json.dumps(whole)) < 20_000
    assert (whole["value"]["size"], whole["value"]["text_whole"]) == (
        len(HOSTILE.encode()) + 1,
        False,
    )
    assert whole["value"]["not_decoded"] == "it has more than 1,048,576 bytes"
    for question in (LATE, BAD):
        text = get(f"/pipelines/{MINE}/rejected{question}", role="user", page=True).text
        assert len(text) < 60_000
        assert text.count("<script") == 3
        assert not any(found in text for found in ("\u202e", "\x1b", "\x00"))
    assert r"\u202eevil\x1b[31m\x00" in html.unescape(text)
    assert "As text, the beginning" in text
    assert "secret of a header" in text


def test_a_record_that_is_not_there_is_not_found(get):
    for wrong in ("offset=1", "offset=7&generation=g2", "table=late' OR 'a'='a"):
        name = wrong.partition("=")[0]
        kept = "&".join(each for each in LATE[1:].split("&") if not each.startswith(name))
        assert get(f"/api/pipelines/{MINE}/record?{kept}&{wrong}").status_code in {404, 422}
