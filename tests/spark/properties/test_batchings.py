"""The short form: a generated case of each form gives the same in any batches and runs."""

import itertools
import os
import time
import zlib

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings

from tests.spark.properties.bucket_form import Tallies
from tests.spark.properties.case import Case, cases
from tests.spark.properties.families import FAMILIES
from tests.spark.properties.forms import Form
from tests.spark.properties.replay import everything, newest_watermark_us
from tests.spark.properties.ways import one_batch, three_batches_and_a_crash, two_runs

WAYS = (three_batches_and_a_crash, one_batch, two_runs)
FORMS = [(family, form) for family, forms in FAMILIES.items() for form in forms]
TRIED = [
    pytest.param(form, way, id=f"{family}, {form}, {way.__name__.replace('_', ' ')}")
    for (family, form), turn in zip(FORMS, itertools.cycle(WAYS), strict=False)
    # Of buckets there is one form, and in one batch it would read no state.
    for way in [WAYS[0] if isinstance(form, Tallies) else turn]
]
SHRINK_SECONDS = float(os.environ.get("SLUICE_SHRINK_SECONDS", "60"))
"""How long hypothesis may look for a smaller case of a failure."""
FEW = 3


@pytest.mark.skipif(
    "SLUICE_CASES" in os.environ, reason="test_search.py looks for cases of every form"
)
@pytest.mark.parametrize(("form", "way"), TRIED)
def test_the_batching_gives_the_canonical_result_less_what_was_late(attempt, form, way, request):
    failing: set[str] = set()
    failed_at = 0.0

    # The seed is the form's own, so that the forms do not all get one case.
    @seed(zlib.crc32(request.node.callspec.id.encode()))
    @settings(
        max_examples=1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(cases(one_time_an_id=form.one_time_an_id, ways=(way,)))
    def tried(case: Case):
        nonlocal failed_at
        if failing:
            assume(time.monotonic() < failed_at + SHRINK_SECONDS or repr(case) in failing)
        else:
            # hypothesis begins with the simplest case there is, which says little.
            assume(
                case.is_messy and _says_much(form, case) and (way is one_batch or not case.in_order)
            )  # some may be late
        try:
            attempt.on(form, case)
        except Exception:
            failed_at = failed_at or time.monotonic()
            failing.add(repr(case))
            raise

    tried()


def _says_much(form: Form, case: Case) -> bool:
    """Whether more than a few rows of the table are due."""
    end = dict.fromkeys(range(case.partitions), len(case.records))
    rows = form.rows(everything(case, form.enters), newest_watermark_us(case, form.enters, end))
    return len(rows) > FEW or not form.spec(case.delay, case.state).watermark_delay
