"""A wish to stop: heard while the block lasts, and heeded by what has done nothing yet."""

import signal

import pytest

from spark_jobs.contract.errors import Stopped
from spark_jobs.stopping import ASKED, heard


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_wish_within_the_block_and_what_it_was_after_it(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with heard() as wish:
        wish.heed()
        signal.raise_signal(number)
        assert wish.asked == ASKED
        with pytest.raises(Stopped, match="before it read anything"):
            wish.heed()
    assert signal.getsignal(number) is before
