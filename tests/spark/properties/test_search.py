"""The long form, `make properties`: 200 cases a family, searched for a wrong table."""

import itertools
import os
import sys
import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from tests.spark.properties.case import Case, cases
from tests.spark.properties.families import FAMILIES
from tests.spark.properties.forms import Form
from tests.spark.properties.ways import fifty, five, one_batch

pytestmark = pytest.mark.skipif(
    "SLUICE_CASES" not in os.environ, reason="the long form: make properties"
)
CASES = int(os.environ.get("SLUICE_CASES", "200"))
WANTED = {
    name: forms for name, forms in FAMILIES.items() if os.environ.get("SLUICE_FAMILY", name) == name
}
WAYS = st.sampled_from(((five,), (one_batch,), (one_batch, five)))
USUAL = settings(
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    # Not Phase.explain: it traces every line.
    phases=(Phase.generate, Phase.shrink),
    print_blob=True,
)


@pytest.mark.parametrize("forms", WANTED.values(), ids=WANTED)
def test_every_batching_gives_the_canonical_result_less_what_was_late(attempt, forms, capfd):
    _search(attempt, CASES, _forms_and_cases(forms, WAYS), capfd)


@pytest.mark.parametrize("forms", WANTED.values(), ids=WANTED)
def test_so_do_fifty_batches(attempt, forms, capfd):
    in_fifty = _forms_and_cases(forms, st.just((fifty,))).filter(
        lambda drawn: drawn[1].has_many_times
    )
    _search(attempt, max(1, CASES // 20), in_fifty, capfd)


def _search(attempt, most, drawn, capfd) -> None:
    number = itertools.count(1)
    began = time.monotonic()

    @settings(USUAL, max_examples=most)
    @given(drawn)
    def tried(form_and_case: tuple[Form, Case]) -> None:
        with capfd.disabled():
            sys.stdout.write(
                f"\r  case {next(number)} of {most}, {time.monotonic() - began:.0f} s "
            )
            sys.stdout.flush()
        attempt.on(*form_and_case)

    tried()


def _forms_and_cases(forms, ways) -> st.SearchStrategy[tuple[Form, Case]]:
    return st.tuples(st.sampled_from(forms), ways).flatmap(
        lambda drawn: st.tuples(
            st.just(drawn[0]), cases(one_time_an_id=drawn[0].one_time_an_id, ways=drawn[1])
        )
    )
