"""Which failures Airflow tries again."""

import json
import traceback
from pathlib import Path

import pytest
from airflow.sdk import ExceptionRetryPolicy, RetryAction

from sluice_airflow.retries import POLICY, one_line_errors
from spark_jobs.errors import KafkaUnreachable, SluiceError, StateIncompatible, catalogue


class FromANewerSluice(SluiceError):
    """Not in the catalogue: it is made after the policy."""

    code = "NEWER"
    retry = False


def action(error: BaseException, policy: ExceptionRetryPolicy = POLICY) -> RetryAction:
    return policy.evaluate(error, try_number=1, max_tries=2).action


@pytest.mark.parametrize("error", catalogue(), ids=lambda error: str(error.code))
def test_an_error_is_tried_again_exactly_if_its_class_says_that_this_can_help(error):
    assert action(error("it went wrong.")) is (
        RetryAction.RETRY if error.retry else RetryAction.FAIL
    )


def test_the_catalogue_has_errors_of_both_kinds():
    assert {error.retry for error in catalogue()} == {True, False}


@pytest.mark.parametrize(
    "error", [SluiceError("a code that nobody knows."), FromANewerSluice("new.")]
)
def test_an_error_that_this_sluice_does_not_know_is_not_tried_again(error):
    assert action(error) is RetryAction.FAIL


@pytest.mark.parametrize("error", [ValueError("a bug"), OSError("a lost disk"), TimeoutError()])
def test_what_is_not_sluices_own_follows_the_number_of_retries(error):
    assert action(error) is RetryAction.DEFAULT


def test_the_reason_in_the_task_log_names_the_code():
    assert StateIncompatible.code in (POLICY.evaluate(StateIncompatible("x"), 1, 2).reason or "")


def test_the_policy_is_the_same_after_it_was_written_down_and_read_again():
    again = ExceptionRetryPolicy.deserialize(json.loads(json.dumps(POLICY.serialize())))
    assert [action(error("x"), again) for error in catalogue()] == [
        action(error("x")) for error in catalogue()
    ]


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
