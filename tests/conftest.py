"""How the tests are laid over two lanes (pytest-xdist), each with a Spark session and a broker of its own where it needs them.

A test goes to whichever lane is free. Those of one file stay together where they share what takes long to make, and those that
start, kill or time processes stay in one lane, so that they have no other of their kind beside them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ONE_LANE = ("e2e", "faults")
TOGETHER = (
    "spark/test_state.py", "spark/test_doctor.py", "spark/test_safety.py", "airflow/test_dags.py", "unit/test_flights.py",
    "unit/test_deliveries.py",
)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in a hook of this name
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name each test's group, and put what takes longest first: the lanes then end together."""
    for item in items:
        file = item.path.relative_to(HERE)
        if file.parts[0] in ONE_LANE:
            item.add_marker(pytest.mark.xdist_group("processes"))
        elif str(file) in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(str(file)))
    items.sort(key=lambda item: ("e2e", "faults", "spark", "airflow", "unit").index(item.path.relative_to(HERE).parts[0]))
