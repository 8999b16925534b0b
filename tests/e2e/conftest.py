"""The lane's broker and Spark session, and the shipped topic, `flights`, anew for each module."""

import pytest

from tests.harness.broker import forget_topic, kafka
from tests.harness.process import none_left
from tests.harness.registry import registry_url
from tests.harness.session import spark

__all__ = ["kafka", "registry_url", "spark"]


@pytest.fixture(scope="module", autouse=True)
def shipped_topic(kafka):
    """SLUICE_KAFKA names the broker; a module's shipped topic goes with the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_KAFKA", kafka)
        yield
    forget_topic(kafka, "flights")


@pytest.fixture(autouse=True)
def no_drain_is_left():
    """Also of a test that failed."""
    with none_left():
        yield
