"""Samples: bounded by records and by bytes, and the same once kept in a file."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.draft import sample
from spark_jobs.draft.folder import next_steps, refuse_there
from spark_jobs.draft.sample import Sampled, of_file, read, write
from spark_jobs.errors import PipelineUnknown, SampleUnusable
from tests.harness.refused import fails
from tests.unit.specs import deployed


def test_a_file_is_read_as_far_as_the_sample_needs(tmp_path, monkeypatch):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"first\r\n\nsecond\n" + b"third\n" * 9)
    assert [(each.offset, each.value) for each in of_file(path, 2)] == [
        (0, b"first"),
        (1, b"second"),
    ]
    monkeypatch.setattr(sample, "MOST_BYTES", 12)
    assert [each.value for each in of_file(path, 99)] == [b"first", b"seco"]


def test_a_sample_without_records_is_refused(tmp_path):
    (tmp_path / "empty").write_text("\n")
    with fails(SampleUnusable, "no_records", source=tmp_path / "empty"):
        of_file(tmp_path / "empty", 9)


def test_a_kept_sample_is_the_same(tmp_path):
    given = [
        Sampled(0, 7, None, None, None, []),
        Sampled(3, 9, 5, b"\xff", b"", [("a", None), ("a", b"\0")]),
    ]
    write(tmp_path / "sample", given)
    assert [*read(tmp_path / "sample")] == given


@pytest.mark.parametrize(
    ("words", "error"),
    [(("nobody",), PipelineUnknown), (("flight_events", "--file", "nowhere"), SampleUnusable)],
)
def test_a_preview_that_cannot_be_is_refused_before_spark(words, error, monkeypatch):
    monkeypatch.delenv("SLUICE_PIPELINES", raising=False)
    assert CliRunner().invoke(app, ["preview", *words]).exit_code == error.exit_status


@pytest.mark.parametrize("spec", ["both()", "both(EU, more_topics=MORE)"])
def test_a_pipeline_of_several_topics_has_no_preview(spec, tmp_path, monkeypatch):
    deployed(tmp_path, monkeypatch, f"from tests.unit.test_more_topics import *; SPEC = {spec}")
    done = CliRunner().invoke(app, ["preview", "sales_hourly", "--file", "nowhere"])
    assert done.exit_code == SampleUnusable.exit_status
    assert "sales_hourly" in done.stderr


@pytest.mark.parametrize("name", ["archive__x", "a__backfill", "x__accept"])
def test_a_name_of_another_pipelines_dag_or_archive_is_refused(name, tmp_path):
    with fails(SampleUnusable, "name_of_another", name=name):
        refuse_there(tmp_path / "pipelines", name, name)


@pytest.mark.parametrize("name", ["order-events", "shop.orders", "Orders", "../orders", ""])
def test_a_topics_name_that_names_no_pipeline_is_refused_with_the_option_that_takes_it(
    name, tmp_path
):
    with fails(SampleUnusable, "no_name", name=name, topic=name):
        refuse_there(tmp_path / "pipelines", name, name)


@pytest.mark.parametrize("into", ["my.pipes", "a b", "json", "class", "spark_jobs", "x/../1st"])
def test_a_folder_that_cannot_be_imported_is_refused(into, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    place = (tmp_path / into).resolve()
    with fails(SampleUnusable, "no_package", folder=place, name=place.name):
        refuse_there(Path(into), "orders", "orders")


def test_the_next_steps_are_quoted_for_a_shell(tmp_path):
    [export, *_] = next_steps(tmp_path / "a b" / "pipes", "orders")
    assert shlex.split(export) == [
        "export", "SLUICE_PIPELINES=pipes", f"PYTHONPATH={tmp_path / 'a b'}",
    ]  # fmt: skip
