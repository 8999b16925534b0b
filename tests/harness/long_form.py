"""What `make test` leaves to `make test-long`, beside a quicker test of the same promise."""

import os

import pytest

LONG = "SLUICE_LONG" in os.environ
long_form = pytest.mark.skipif(not LONG, reason="the long form: make test-long")
