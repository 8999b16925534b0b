"""The same input, however it is cut into batches and runs, gives the same result: hypothesis tries to find an input where not.

`make test` tries 20 cases of each family of operators, always the same ones: each in one batch, or in about five with and
without restarts and crashes between them; and one in fifty. `make properties` tries 200, others each time: some of them in one
batch and in five, and their tables held against each other; and ten more in fifty.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import time

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings, strategies as st

from tests.spark.properties.case import Case, Drain, cases
from tests.spark.properties.exact import assert_exact, assert_held, same
from tests.spark.properties.families import FAMILIES
from tests.spark.properties.forms import Form
from tests.spark.properties.scene import Scene

SHORT = 20
CASES = int(os.environ.get("SLUICE_CASES", SHORT))
LONG = CASES > SHORT
WANTED = {name: forms for name, forms in FAMILIES.items() if os.environ.get("SLUICE_FAMILY", name) == name}
FIFTY = {name: forms for name, forms in WANTED.items() if LONG or name == "deduplicate, then aggregate"}
# A batch costs more than half a second, so most cases are run one way only. The oracle is the same for all ways.
WAYS = st.sampled_from(((5,), (1,), (1, 5)) if LONG else ((5,), (1,)))
USUAL = settings(
    max_examples=CASES, derandomize=not LONG, deadline=None, database=None, suppress_health_check=list(HealthCheck),
    # Not Phase.explain: it traces every line.
    phases=(Phase.generate, Phase.shrink), print_blob=True,
)


INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="module", autouse=True)
def expressions(spark):
    """Compiling each case's plan would take a third of its time; every other test here runs compiled, as a drain does."""
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield
    for name in INTERPRETED:
        spark.conf.unset(name)


@pytest.fixture(scope="module")
def attempt(kafka, spark, tmp_path_factory):
    """Try a form on a case, in each of its batchings."""

    def tried(form: Form, case: Case) -> None:
        tables, late = [], False
        for batching in case.batchings:
            folder = tmp_path_factory.mktemp("batching")
            scene = Scene(kafka, folder, form.spec(case.delay, case.state), case.partitions)
            late |= _run(scene, spark, form, case, batching)
            tables.append(scene.table())
            event(f"{scene.runs} runs, {len(scene.ops('batches'))} batches")
            shutil.rmtree(folder)
        event(f"late: {late}")
        assert not (late and case.in_order and case.after_the_epoch), "late, though it came no later than the delay allows"
        for table in [] if late else tables[1:]:
            same(table, tables[0], "the table of another batching")

    return tried


@pytest.mark.parametrize("forms", WANTED.values(), ids=WANTED)
def test_every_batching_gives_the_canonical_result_less_what_was_late(attempt, forms, capfd):
    _search(attempt, CASES, _forms_and_cases(forms, WAYS), capfd)


@pytest.mark.parametrize("forms", FIFTY.values(), ids=FIFTY)
def test_so_do_fifty_batches(attempt, forms, capfd):
    fifty = _forms_and_cases(forms, st.just((50,))).filter(lambda drawn: drawn[1].has_many_times)
    _search(attempt, max(1, CASES // 20), fifty, capfd)


def _search(attempt, most: int, drawn: st.SearchStrategy[tuple[Form, Case]], capfd) -> None:
    number = itertools.count(1)
    began = time.monotonic()

    @settings(USUAL, max_examples=most)
    @given(drawn)
    def tried(form_and_case: tuple[Form, Case]) -> None:
        if LONG:
            with capfd.disabled():
                sys.stdout.write(f"\r  case {next(number)} of {most}, {time.monotonic() - began:.0f} s ")
                sys.stdout.flush()
        attempt(*form_and_case)

    tried()


def _forms_and_cases(forms: tuple[Form, ...], ways: st.SearchStrategy[tuple[int, ...]]) -> st.SearchStrategy[tuple[Form, Case]]:
    return st.tuples(st.sampled_from(forms), ways).flatmap(
        lambda drawn: st.tuples(st.just(drawn[0]), cases(one_time_an_id=drawn[0].one_time_an_id, ways=drawn[1])))


def _run(scene: Scene, spark, form: Form, case: Case, batching: tuple[Drain, ...]) -> bool:
    """Send, drain and compare, run by run; True where anything was late."""
    sent, late = 0, []
    crashed = batching[-1].crash != "none"
    for drain in [*batching, *([Drain(len(case.records))] if crashed else [])]:
        scene.send(case.records[sent : drain.upto])
        sent = drain.upto
        report = scene.drain(drain.most)
        assert report.status == "succeeded", report.problem
        late = assert_exact(scene, case, form, sent)
        assert_held(scene, spark, case, form)
        scene.crash(drain.crash)
    return bool(late)
