"""A wish to stop: heard while the block lasts, and heeded by what has done nothing yet."""

import signal

import pytest

from spark_jobs.errors import Stopped
from spark_jobs.runs.watch.limits import ASKED, stop_on_signals
from tests.harness.refused import fails


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_wish_within_the_block_and_what_it_was_after_it(number):
    before = signal.getsignal(number)
    with stop_on_signals() as wish:
        wish.raise_if_asked()
        signal.raise_signal(number)
        assert wish.asked == ASKED
        with fails(Stopped, "before_reading"):
            wish.raise_if_asked()
    assert signal.getsignal(number) is before
