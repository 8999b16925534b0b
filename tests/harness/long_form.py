"""What `make test` leaves to `make test-long`: tests that take long, beside a quicker one that
holds the same promise.
"""

from __future__ import annotations

import os

import pytest

LONG = "SLUICE_LONG" in os.environ
long_form = pytest.mark.skipif(not LONG, reason="the long form: make test-long")
