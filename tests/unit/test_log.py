"""What a run tells: as text it is the line itself, as JSON an object with the run that it belongs
to, and never a setting.
"""

import json
import logging
import re
import threading
from contextvars import copy_context
from datetime import UTC, datetime
from logging.config import dictConfig
from typing import Any

import pytest

from spark_jobs import log
from spark_jobs.settings.installation import REPO, Settings

pytestmark = pytest.mark.usefixtures("log_as_before")

LOG = logging.getLogger("spark_jobs.a_module")


def objects(told: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.splitlines()]


def test_text_is_the_line_as_it_is_and_nothing_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup()
    line = "flight_events: batch 0: " + "x" * 5000 + " [bold] 100% {done}"
    with log.context(pipeline="flight_events", run="r", batch=0):
        LOG.info("%s", line)
        LOG.debug("not this")
    assert capsys.readouterr().out == line + "\n"


def test_json_is_an_object_a_line_with_the_run_that_it_belongs_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log.setup("json")
    with log.context(pipeline="flight_events", run="r"):
        with log.context(batch=7):
            LOG.info(
                "batch %d of %s\nsecond line \N{LINE SEPARATOR}",
                7,
                "caf\N{LATIN SMALL LETTER E WITH ACUTE}",
            )
        LOG.warning("between two batches")
    LOG.error("outside")
    lines = capsys.readouterr().out.splitlines()
    first, second, third = (json.loads(line) for line in lines)
    assert [*first] == [name for name in log.FIELDS if name != "exc"]
    assert (
        first["message"]
        == "batch 7 of caf\N{LATIN SMALL LETTER E WITH ACUTE}\nsecond line \N{LINE SEPARATOR}"
    )
    assert (first["level"], first["pipeline"], first["run"], first["batch"]) == (
        "info",
        "flight_events",
        "r",
        7,
    )
    assert (second["level"], second["pipeline"], second["run"], second["batch"]) == (
        "warning",
        "flight_events",
        "r",
        None,
    )
    assert (third["level"], third["pipeline"], third["run"], third["batch"]) == (
        "error",
        None,
        None,
        None,
    )
    at = datetime.fromisoformat(first["time"])
    assert at.utcoffset() is not None
    assert abs((datetime.now(UTC) - at).total_seconds()) < 60


def test_two_threads_have_each_its_own_fields_and_a_new_one_those_that_it_is_started_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log.setup("json")
    both = threading.Barrier(2)

    def tell(batch: int) -> None:
        with log.context(batch=batch):
            both.wait(10)
            LOG.info("%d", batch)

    with log.context(pipeline="p", run="r"):
        threads = [
            threading.Thread(target=copy_context().run, args=(tell, batch)) for batch in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        (bare := threading.Thread(target=LOG.info, args=("bare",))).start()
        bare.join(10)
    told = {
        line["message"]: (line["pipeline"], line["batch"])
        for line in objects(capsys.readouterr().out)
    }
    assert told == {"1": ("p", 1), "2": ("p", 2), "bare": (None, None)}


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_is_told_with_its_traceback(
    form: log.Format, capsys: pytest.CaptureFixture[str]
) -> None:
    log.setup(form)
    try:
        int("the cause")
    except ValueError:
        LOG.exception("it failed")
    told = capsys.readouterr().out
    if form == "json":
        (line,) = objects(told)
        told = line["message"] + "\n" + line["exc"]
    assert told.startswith("it failed\nTraceback")
    assert "ValueError: invalid literal" in told


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_else_a_record_has_is_not_written(
    form: log.Format, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_KAFKA", "a:1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    log.setup(form)
    LOG.info("a line", extra={"settings": Settings.from_environment(), "password": "hunter2"})
    told = capsys.readouterr().out
    assert "hunter2" not in told
    assert "a:1" not in told


def test_set_up_twice_a_line_is_told_once_and_in_the_later_format(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log.setup()
    log.setup("json")
    LOG.info("once")
    assert [line["message"] for line in objects(capsys.readouterr().out)] == ["once"]


def test_other_libraries_are_left_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger().level
    log.setup()
    logging.getLogger("great_expectations").info("noise")
    assert capsys.readouterr().out == ""
    assert logging.getLogger().level == before


def test_a_field_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="partition"), log.context(partition=1):
        pass


def test_a_line_that_cannot_be_written_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    log.setup()
    monkeypatch.setattr("sys.stdout", Gone())
    monkeypatch.setattr("sys.stderr", Gone())
    LOG.info("to nobody")


def test_the_lines_of_the_page_are_one_line_in_both_forms() -> None:
    section = (
        (REPO / "docs" / "operations.md")
        .read_text()
        .partition("## The log of a run")[2]
        .partition("\n## ")[0]
    )
    [text] = re.findall(r"^```\n(.*)\n```$", section, re.MULTILINE)
    [line] = map(json.loads, re.findall(r"^```json\n(.*)\n```$", section, re.MULTILINE))
    assert line["message"] == text
    assert list(line) == [name for name in log.FIELDS if name != "exc"]


def test_a_pipeline_that_configures_logging_hides_no_line_and_doubles_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = logging.getLogger()
    handlers = root.handlers[:]
    log.setup()
    LOG.info("before")
    try:
        dictConfig(
            {
                "version": 1,
                "handlers": {"own": {"class": "logging.StreamHandler"}},
                "root": {"handlers": ["own"]},
            }
        )
        log.setup()
        LOG.info("after")
    finally:
        root.handlers[:] = handlers
    told = capsys.readouterr()
    assert told.out == "before\nafter\n"
    assert told.err == ""


def test_a_reader_that_is_gone_ends_no_run_and_is_not_complained_about(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(_: str) -> None:
        raise BrokenPipeError

    log.setup()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout.write", closed)
        LOG.info("nobody reads this")
    assert capsys.readouterr().err == ""
