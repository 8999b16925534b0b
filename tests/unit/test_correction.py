"""An expression that a person declares to replace another one on the same state."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import StateIncompatible
from spark_jobs.registry.fingerprint.fields import (
    Declared,
    changes,
    fingerprint,
    idle_declarations,
    with_expressions,
)
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline, Session, Transform
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails, has
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import aggregate, deduplicate, pipeline

OLD, NEW = "100 / amount > 2", "try_divide(100, amount) > 2"
QUERY = "SELECT *, 1 / amount AS x FROM rows"
SUM, TRIED = "sum(100 / amount)", "sum(try_divide(100, amount))"
GAP, OTHER_GAP = "concat(100 div amount, ' s')", "concat(coalesce(amount, 1), ' s')"


def measuring(sql: str, **others: str) -> Pipeline:
    return pipeline(
        steps=(deduplicate(), aggregate(measures={"sales": "count(*)", "share": sql} | others))
    )


def filtering(**given: Any) -> Pipeline:
    return pipeline(steps=(Transform(**given), deduplicate()))


def in_sessions(gap: str) -> Pipeline:
    return pipeline(steps=(deduplicate(), aggregate(window=Session(gap_sql=gap))))


CORRECTIONS = {
    "a condition": (filtering(where=OLD), filtering(where=NEW), OLD),
    "a query": (filtering(sql=QUERY), filtering(sql=QUERY.replace("1 /", "2 /")), QUERY),
    "a measure": (measuring(SUM), measuring(TRIED), SUM),
    "a gap": (in_sessions(GAP), in_sessions(OTHER_GAP), GAP),
}


def weights(before: Pipeline, after: Pipeline, *declared: str) -> list[str]:
    after = after.model_copy(update={"compatible_expressions": declared})
    found = changes(fingerprint(before, "4.2.0"), fingerprint(after, "4.2.0"), Declared(after))
    return [change.weight for change in found]


@pytest.mark.parametrize(("before", "after", "old"), CORRECTIONS.values(), ids=[*CORRECTIONS])
def test_a_declared_expression_is_a_warning_and_one_that_is_not_is_refused(before, after, old):
    assert weights(before, after) == ["refused"]
    assert weights(before, after, "another") == ["refused"]
    assert weights(before, after, old) == ["warned"]
    assert weights(after, before, old) == ["refused"], "the declaration is of the old one"


@pytest.mark.parametrize(("before", "after", "old"), CORRECTIONS.values(), ids=[*CORRECTIONS])
def test_the_batches_of_the_old_expression_can_be_told(before, after, old):
    assert with_expressions(after, fingerprint(before, "4.2.0")).steps == before.steps
    assert with_expressions(after, fingerprint(after, "4.2.0")) is after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (measuring(SUM), measuring(TRIED, more="max(amount)")),
        (measuring(SUM, more="max(amount)"), measuring(TRIED, less="max(amount)")),
        (filtering(where=OLD), filtering(sql=QUERY)),
        (filtering(where=OLD), pipeline(steps=(deduplicate(),))),
        (in_sessions(GAP), measuring(SUM)),
    ],
    ids=["a measure more", "another name", "another form", "no step", "another window"],
)
def test_what_is_more_than_an_expression_cannot_be_declared(before, after):
    assert "refused" in weights(before, after, OLD, SUM, GAP, QUERY)


def test_a_run_names_the_declaration_takes_it_and_stores_the_new_expression(tmp_path):
    spec = measuring(SUM)
    paths = Paths(str(tmp_path), spec)
    paths.ensure_writable()
    topic = SourceState(id="topic-1", earliest=Positions({0: 0}), latest=Positions({0: 50}))
    standing(Present(spec), paths).identity(topic).model_copy(update={"table_id": "t"}).write(
        paths.identity
    )
    Cursor().write(paths.cursor)
    folder = begin(Path(str(paths.checkpoint)))
    plan_batch(folder, 0, {0: 10})
    commit_batch(folder, 0)
    corrected = measuring(TRIED)
    declare = has(f"add {SUM!r} to compatible_expressions")
    with fails(StateIncompatible, "spec_changed", declare=declare):
        standing(Present(corrected), paths).identity(topic)
    declared = corrected.model_copy(update={"compatible_expressions": (SUM,)})
    [line] = standing(Present(declared), paths).warnings
    assert SUM in line
    assert TRIED in line
    assert "declares the old expression compatible" in line
    standing(Present(declared), paths).identity(topic).write(paths.identity)
    assert standing(Present(corrected), paths).warnings == ()
    plan_batch(folder, 1, {0: 20})
    commit_batch(folder, 1)
    assert standing(Present(corrected), paths).warnings == ()
    with pytest.raises(StateIncompatible):
        standing(Present(spec), paths).identity(topic)


def test_a_declaration_of_an_expression_that_is_back_is_said():
    before, corrected = measuring(SUM), measuring(TRIED)
    assert declared_idle(before, SUM) == (
        f"compatible_expressions has {SUM!r}, which is the present steps[1].measures: any change "
        "of it would pass as compatible; remove it from spec.py, and declare it with the change",
    )
    assert declared_idle(corrected, SUM) == ()


def declared_idle(spec: Pipeline, *declared: str) -> tuple[str, ...]:
    spec = spec.model_copy(update={"compatible_expressions": declared})
    return idle_declarations(fingerprint(spec, "4.2.0"), Declared(spec))
