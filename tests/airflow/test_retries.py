"""Which failures Airflow tries again."""

import logging
import traceback
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from sluice_airflow.retries import one_line_errors
from spark_jobs.errors import KafkaUnreachable, LeaseHeld, SluiceError, StagingStale, catalogue
from spark_jobs.messages.report import Problem


class FromANewerSluice(SluiceError):
    """Not in the catalogue."""

    code = "NEWER"


def raised(error, final=None):
    """What Airflow gets of it."""
    with pytest.raises(type(error)) as caught, one_line_errors(logging.getLogger(), final):
        raise error
    return caught.value


@pytest.mark.parametrize("error", catalogue(), ids=lambda error: str(error.code))
def test_an_error_is_tried_again_exactly_if_its_class_says_that_this_can_help(error):
    told = raised(error("it went wrong.", "Mend it.", "why", {"n": 1}))
    assert isinstance(told, AirflowFailException) is not error.retry
    assert isinstance(told, error)
    assert Problem.of(told) == Problem.of(error("it went wrong.", "Mend it.", "why", {"n": 1}))


def test_the_catalogue_has_errors_of_both_kinds():
    assert {error.retry for error in catalogue()} == {True, False}


@pytest.mark.parametrize(
    "error", [SluiceError("a code that nobody knows."), FromANewerSluice("new.")]
)
def test_an_error_that_this_sluice_does_not_know_is_not_tried_again(error):
    assert isinstance(raised(error), AirflowFailException)


@pytest.mark.parametrize("error", [ValueError("a bug"), TimeoutError()])
def test_what_is_not_sluices_own_follows_the_number_of_retries(error):
    assert raised(error) is error


@pytest.mark.parametrize("error", [AirflowSkipException("nothing new"), KeyboardInterrupt()])
def test_a_skip_or_a_signal_amid_a_stores_error_stays_what_it_is(error):
    error.__context__ = OSError("Generic S3 error: the store said 403 Forbidden")
    with pytest.raises(type(error)) as caught, one_line_errors(logging.getLogger()):
        raise error
    assert caught.value is error


def test_a_task_may_say_that_an_error_needs_another_task_first():
    assert StagingStale.retry
    assert isinstance(raised(StagingStale("x"), StagingStale), AirflowFailException)
    assert not isinstance(raised(LeaseHeld("x"), StagingStale), AirflowFailException)


def _fail():
    try:
        Path("/nowhere").read_text()
    except OSError as cause:
        raise KafkaUnreachable("no broker answered.", "Start it.") from cause


def test_an_error_leaves_the_block_as_one_line_without_its_cause_and_the_frames_it_came_through():
    lines: list[str] = []

    class Log:
        def error(self, text: str, *arguments: object):
            lines.append(text % arguments)

    with pytest.raises(KafkaUnreachable) as raised, one_line_errors(Log()):
        _fail()

    assert lines == ["KAFKA_UNREACHABLE: no broker answered. Start it."]
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert "_fail" not in [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
