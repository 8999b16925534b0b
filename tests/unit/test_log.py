"""What a run tells: as text it is the line itself, as JSON an object with the run that it belongs
to, and never a setting.
"""

import json
import logging
import threading
from contextvars import copy_context
from datetime import UTC, datetime
from logging.config import dictConfig
from typing import Any

import pytest

from spark_jobs.messages import log

pytestmark = pytest.mark.usefixtures("log_as_before")

LOG = logging.getLogger("spark_jobs.a_module")


def objects(told: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.splitlines()]


def test_text_is_the_line_as_it_is_and_nothing_is_cut(capsys):
    log.setup()
    line = "flight_events: batch 0: " + "x" * 5000 + " [bold] 100% {done}"
    with log.context(pipeline="flight_events", run="r", batch=0):
        LOG.info("%s", line)
        LOG.debug("not this")
    assert capsys.readouterr().out == line + "\n"


def test_json_is_an_object_a_line_with_the_run_that_it_belongs_to(capsys):
    log.setup("json")
    with log.context(pipeline="flight_events", run="r"):
        with log.context(batch=7):
            LOG.info("batch %d of %s\nsecond line \u2028", 7, "caf\u00e9")
        LOG.warning("between two batches")
    LOG.error("outside")
    first, second, third = objects(capsys.readouterr().out)
    assert [*first] == [name for name in log.FIELDS if name != "exc"]
    assert first["message"] == "batch 7 of caf\u00e9\nsecond line \u2028"
    names = ("level", "pipeline", "run", "batch")
    assert [tuple(line[name] for name in names) for line in (first, second, third)] == [
        ("info", "flight_events", "r", 7),
        ("warning", "flight_events", "r", None),
        ("error", None, None, None),
    ]
    at = datetime.fromisoformat(first["time"])
    assert at.utcoffset() is not None
    assert abs((datetime.now(UTC) - at).total_seconds()) < 60


def test_two_threads_have_each_its_own_fields_and_a_new_one_those_that_it_is_started_with(capsys):
    log.setup("json")
    both = threading.Barrier(2)

    def tell(batch: int):
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
def test_an_exception_is_told_with_its_traceback(form, capsys):
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


def test_a_pipeline_that_configures_logging_hides_no_line_and_doubles_none(capsys):
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
    assert (told.out, told.err) == ("before\nafter\n", "")


def test_a_reader_that_is_gone_ends_no_run_and_is_not_complained_about(capsys, monkeypatch):
    def closed(_: str):
        raise BrokenPipeError

    log.setup()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout.write", closed)
        LOG.info("nobody reads this")
    assert capsys.readouterr().err == ""
