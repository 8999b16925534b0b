"""Repairs, backfills, verifies and undos in any order: after each the table is the model's."""

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given

from spark_jobs.spec import State
from spark_jobs.spec.analysis.ranged import unranged
from tests.harness.long_form import long_form
from tests.harness.moments import at
from tests.harness.roots import ROOT
from tests.spark.properties import session_sequence
from tests.spark.properties.aggregation import LONGEST
from tests.spark.properties.chain_form import DaysOfHours
from tests.spark.properties.families import FAMILIES
from tests.spark.properties.layers import LAST_US, canonical, is_of_sessions
from tests.spark.properties.ranged_form import RangedForm
from tests.spark.properties.recent_form import Recent
from tests.spark.properties.repair_acts import Sequence, searching, sequences
from tests.spark.properties.repairing import Repairing
from tests.spark.properties.replay import Seen, play
from tests.spark.properties.scene import Scene
from tests.spark.properties.written import written

FAMILY = "repairs"
LONG = "SLUICE_CASES" in os.environ and os.environ.get("SLUICE_FAMILY", FAMILY) == FAMILY
CASES = int(os.environ.get("SLUICE_CASES", "0"))
SEED = 3
DELAY = at(600_000_000) - at(0)


def _ranged(form: object) -> bool:
    spec = form.spec(DELAY, State(budget_rows=1))
    return bool(spec.watermark_delay) and unranged(spec) is None


FORMS: tuple[RangedForm, ...] = (
    *(form for forms in FAMILIES.values() for form in forms if _ranged(form)),
    Recent(),
    Recent(deduplicated=True),
    DaysOfHours(),
)
SHORT = (DaysOfHours(),)
"""The search has them all."""
SESSIONS = next(form for form in FORMS if str(form) == "sessions of 10 minutes by key")


def _name(form: RangedForm) -> str:
    mode = form.spec(DELAY, State(budget_rows=1)).output_mode
    return f"{form}{', update' if mode == 'update' else ''}{', once' if form.deduplicate else ''}"


@pytest.fixture(scope="module")
def tried(kafka, tmp_path_factory) -> Iterator[Counter[str]]:
    """What was done in all sequences."""
    done: Counter[str] = Counter()
    yield done
    if LONG:
        sys.stdout.write(f"\n  {dict(done.most_common())}\n")


def _try(kafka: str, folder: Path, form: RangedForm, sequence: Sequence) -> Counter[str]:
    case = sequence.case
    scene = Scene(kafka, folder, form.spec(case.delay, case.state), case.partitions)
    repairing = Repairing(scene, form, sequence)
    repairing.run()
    shutil.rmtree(folder)
    return repairing.done


@pytest.mark.skipif(LONG, reason="the search is of every form")
@pytest.mark.parametrize("form", SHORT, ids=_name)
def test_after_any_repairs_the_table_is_the_canonical_result(kafka, tmp_path, form):
    done = _try(kafka, tmp_path / ROOT, form, written(SEED))
    assert done["undone"] == 1, done
    assert done["swapped"] >= 2, done


@long_form
@pytest.mark.skipif(LONG, reason="the search is of every form")
def test_late_records_join_sessions_and_the_table_is_the_canonical_result(kafka, tmp_path):
    done = _try(kafka, tmp_path / ROOT, SESSIONS, session_sequence.sequence())
    assert done["swapped"] >= 2, done
    assert done["verify, parts"], done


@pytest.mark.skipif(not LONG, reason="the long form: make properties FAMILY=repairs")
@pytest.mark.parametrize("form", FORMS, ids=_name)
def test_no_sequence_is_found_that_goes_wrong(
    kafka, tmp_path_factory, tried, capfd, form, pytestconfig
):
    began = time.monotonic()
    searched = int(pytestconfig.getoption("--hypothesis-seed") or 0)

    @searching(_name(form), searched, -(-CASES // len(FORMS)))
    @given(sequences(form))
    def found(sequence: Sequence):
        assume(_may_go_wrong(form, sequence))
        done = _try(kafka, tmp_path_factory.mktemp("sequence") / ROOT, form, sequence)
        tried.update(done)
        tried["sequences"] += 1
        with capfd.disabled():
            sys.stdout.write(f"  {time.monotonic() - began:.0f} s, {form}: {dict(done)}\n")
            sys.stdout.flush()

    found()


def _late(form: RangedForm, sequence: Sequence) -> list[int]:
    """How many records are late in each run, if it is one batch: more batches, and more may be."""
    case = sequence.case
    ends = []
    for drain in case.batchings[0]:
        places = case.places[: drain.upto]
        ends.append({p: sum(place[0] == p for place in places) for p in range(case.partitions)})
    played = play(case, ends, form.enters, form.late)
    return [sum(one.missed_us is not None for one in batch.seen) for batch in played]


def _may_go_wrong(form: RangedForm, sequence: Sequence) -> bool:
    """Whether it is no simple one, with which hypothesis begins."""
    acts = sum(map(len, sequence.acts))
    if not sequence.case.is_messy or acts <= 1 or not _as_declared(form, sequence):
        return False
    return sum(_late(form, sequence)) > 1


def _as_declared(form: RangedForm, sequence: Sequence) -> bool:
    """Whether no session is longer than the form's spec says; of records, copies too."""
    if not is_of_sessions(form):
        return True
    seen = [
        Seen(place, record.event, None)
        for place, record in zip(sequence.case.places, sequence.case.records, strict=True)
        if record.event and record.kind == "good"
    ]
    rows = canonical(form, seen, LAST_US)
    return all(row["window_end"] - row["window_start"] <= LONGEST for row in rows)
