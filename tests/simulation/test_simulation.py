"""Commands at once, killed at their writes, in every order that these seeds give. `make simulate`
takes as many as there is time for.
"""

from __future__ import annotations

import pytest

from spark_jobs.journal import runner
from tests.simulation.simulate import rounds, run

SEEDS = range(9000, 9024)
A_TEST = 4


@pytest.mark.parametrize("first", SEEDS[::A_TEST])
def test_what_was_killed_and_interleaved_ends_as_the_model_says(first: int) -> None:
    for seed in range(first, first + A_TEST):
        outcome = run(rounds(seed), seed)
        assert outcome.violation is None, (seed, outcome.lines)


def test_a_swap_that_nobody_completes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator looks: without the journal's one rule it finds what the rule is for."""
    monkeypatch.setattr(runner, "complete", lambda *_: None)
    outcome = run(rounds(9000), 9000)
    assert outcome.violation is not None
    assert outcome.violation.kind == "fates"
