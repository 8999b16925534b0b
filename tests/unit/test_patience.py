"""Limits of waits: those of a quiet machine, longer on a slower one, and the same in all lanes."""

import pytest

from tests.harness import patience
from tests.harness.patience import MOST, QUIET_SECONDS, VARIABLE, measure, measured, patient


@pytest.mark.parametrize(("loop", "times"), [(0.1, 1), (1, 1), (3, 3), (1000, MOST)])
def test_a_limit_grows_with_the_time_of_the_loop_and_never_shrinks(monkeypatch, loop, times):
    monkeypatch.setattr(patience, "_loop", lambda: loop * QUIET_SECONDS)
    monkeypatch.delenv(VARIABLE, raising=False)
    measure()
    assert patient(60) == pytest.approx(60 * times)


def test_what_a_run_has_measured_its_lanes_do_not_measure_again(monkeypatch):
    monkeypatch.setenv(VARIABLE, "2.5")
    monkeypatch.setattr(patience, "_loop", lambda: 9 * QUIET_SECONDS)
    measure()
    assert patient(10) == 25


def test_a_machine_is_never_said_to_be_faster():
    assert 1 <= measured(looks=1) <= MOST
