"""Where a run's report goes: one rule for the command line and for Airflow."""

import os
import re

import pytest

from spark_jobs.storage.root.paths import local_report_path, report_path

NAME = "flight_events"


@pytest.mark.parametrize("path", [report_path, local_report_path])
def test_it_is_under_the_root_and_has_no_character_that_a_shell_or_a_url_minds(path):
    found = path("/data/root", NAME, "manual__2026-03-01T12:00:00+00:00-try2")
    assert str(found.parent) == f"/data/root/reports/{NAME}"
    assert re.fullmatch(r"manual__2026-03-01T12_00_00_00_00-try2-[0-9a-f]{8}\.json", found.name)


def test_two_runs_whose_ids_differ_in_such_characters_alone_have_two_reports():
    ids = ("a:b", "a+b", "a_b", "a:+b")
    assert len({report_path("/data", NAME, each) for each in ids}) == len(ids)


@pytest.mark.parametrize(
    ("root", "local"), [("file:///data", True), ("/data", True), ("s3a://bucket/data", False)]
)
def test_for_airflow_it_is_a_file_of_this_machine_wherever_the_root_is(root, local):
    path = local_report_path(root, NAME, "x-try1")
    assert path.is_absolute()
    assert path.is_relative_to("/data") is local


def test_of_two_roots_on_a_store_it_is_not_the_same_nor_another_users():
    mine = [
        local_report_path(f"s3://bucket/{name}", NAME, "scheduled__1-try1")
        for name in ("staging", "production")
    ]
    assert len({*mine}) == 2
    assert all(f"sluice-reports-{os.getuid()}" in path.parts for path in mine)


def test_from_the_command_line_it_is_under_the_root_on_a_store_too():
    assert (
        str(report_path("s3://bucket/data", NAME, "by-hand"))
        == f"s3://bucket/data/reports/{NAME}/by-hand.json"
    )


def test_a_name_with_a_slash_makes_no_folder(tmp_path):
    assert report_path(str(tmp_path), NAME, "../../x").parent.name == NAME
