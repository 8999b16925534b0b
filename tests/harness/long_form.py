"""What `make test` leaves to `make test-long`, beside a quicker test of the same promise."""

import os

import pytest

LONG = "SLUICE_LONG" in os.environ
SHARE = 6
"""Of the cases of a property by hypothesis, `make test` draws one in so many, others each time."""
LEAST = 4
long_form = pytest.mark.skipif(not LONG, reason="the long form: make test-long")


def examples(count: int) -> int:
    """How many cases a property draws, where its long form has `count`."""
    return count if LONG else max(LEAST, count // SHARE)
