"""What is refused of a question about state before Spark starts, and how a key's text becomes a
value.
"""

from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import StateIncompatible, StateUnreadable
from spark_jobs.messages.job import ShowState, StateQuery, read
from spark_jobs.runs.told.state_query import StateTarget, format_batches, resolve
from spark_jobs.settings.installation import Settings
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline, Transform
from spark_jobs.state.keys import key_columns, key_types, parse
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.checkpoints import begin, commit_batch, keep_state, plan_batch
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline

SPEC = pipeline(steps=(Transform(where="amount > 0"), deduplicate(), aggregate()))


@pytest.fixture
def settings(tmp_path) -> Settings:
    """Batches 0 to 5 of SPEC are committed and the sixth has begun; the state of 0 to 2
    is purged.
    """
    settings = Settings(str(tmp_path), "a:1", tmp_path, "local[2]", "2g")
    paths = Paths(settings.root, SPEC)
    paths.ensure_writable()
    standing(Present(SPEC), paths).identity(
        SourceState(id="topic-1", earliest=Positions({0: 0}), latest=Positions({0: 60}))
    ).write(paths.identity)
    folder = begin(Path(str(paths.checkpoint)))
    for batch in range(7):
        plan_batch(folder, batch, {0: 10 * (batch + 1)})
        if batch > 2:
            keep_state(folder, batch, operators=2, partitions=2)
        if batch < 6:
            commit_batch(folder, batch)
    return settings


def ask(settings: Settings, spec: Pipeline = SPEC, **query: object) -> StateTarget:
    return resolve(spec, settings, StateQuery(**query))  # type: ignore[arg-type]


def test_the_last_committed_batch_and_every_stateful_step_are_meant_where_nothing_is_said(settings):
    target = ask(settings)
    assert (target.batch, target.readable, target.steps) == (5, (3, 4, 5), (2, 3))


def test_a_batch_counts_as_readable_when_every_store_has_it(settings):
    folder = Paths(settings.root, SPEC).checkpoint
    (folder / "state" / "1" / "0" / "4_id.zip").unlink()
    assert Checkpoint(folder).readable() == [4, 5]
    (folder / "offsets" / "4").unlink()
    assert Checkpoint(folder).readable() == [5]


@pytest.mark.parametrize("suffix", ["delta", "snapshot"])
def test_the_heaps_stores_count_too(tmp_path, suffix):
    folder = begin(tmp_path / "spark")
    plan_batch(folder, 0, {0: 1})
    commit_batch(folder, 0)
    (tmp_path / "spark" / "state" / "0" / "0").mkdir(parents=True)
    (tmp_path / "spark" / "state" / "0" / "0" / f"1.{suffix}").touch()
    assert Checkpoint(folder).readable() == [0]


def test_without_any_store_no_batch_is_readable(tmp_path):
    folder = begin(tmp_path / "spark")
    plan_batch(folder, 0, {0: 1})
    commit_batch(folder, 0)
    assert Checkpoint(folder).readable() == []


def test_steps_whose_key_has_the_columns_are_chosen(settings):
    assert ask(settings, keys=("id=x",)).steps == (2,)
    assert ask(settings, keys=("shop=x", "window_start=2026-01-01T10:00")).steps == (3,)
    assert ask(settings, keys=("shop=a=b",)).keys == {"shop": "a=b"}


@pytest.mark.parametrize(
    ("query", "reason", "told"),
    [
        ({"batch": 6}, "batch_absent", {"batch": 6, "available": has("3 to 5")}),
        ({"batch": -1}, "batch_absent", {"batch": -1}),
        ({"batch": 2}, "batch_purged", {"batch": 2, "available": has("3 to 5")}),
        ({"step": 1}, "step_unfit", {"step": 1, "available": has("step 2, deduplicate by id")}),
        ({"step": 4}, "step_unfit", {"step": 4}),
        ({"step": 0}, "step_unfit", {"step": 0}),
        ({"keys": ("colour=red",)}, "key_columns_absent", {"columns": has("colour")}),
        ({"keys": ("shop=x",), "step": 2}, "key_columns_not_of_step", {"columns": has("shop")}),
        ({"keys": ("shop=x", "id=1")}, "key_columns_absent", {"columns": has("shop and id")}),
        ({"keys": ("window_start=noon",)}, "key_value_unfit", {"value": "noon", "kind": "timestamp", "example": "2013-01-31T22:00:00Z"}),
        ({"keys": ("shop",)}, "key_no_pair", {"argument": "shop"}),
        ({"keys": ("=x",)}, "key_no_pair", {"argument": "=x"}),
        ({"keys": ("shop=x", "shop=y")}, "key_twice", {"column": "shop"}),
        ({"changes": True}, "changes_without_key", {}),
        ({"keep": True, "step": 2}, "keep_of_part", {}),
        ({"keep": True, "keys": ("shop=x",)}, "keep_of_part", {}),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_there_is_refused_with_what_there_is(settings, query, reason, told):
    with fails(StateUnreadable, reason, **told):
        ask(settings, **query)


def test_a_pipeline_that_never_ran_has_no_state(tmp_path):
    settings = Settings(str(tmp_path / ROOT), "a:1", tmp_path, "local[2]", "2g")
    with fails(StateUnreadable, "no_state_yet"):
        ask(settings)
    assert list(tmp_path.iterdir()) == []


def test_a_pipeline_without_stateful_steps_has_none(settings):
    with fails(StateUnreadable, "stateless"):
        ask(
            settings,
            pipeline(steps=(Transform(where="true"),), watermark_delay=None, output_checks=()),
        )


def test_state_of_another_spec_is_not_shown_under_this_ones_names(settings):
    with fails(StateIncompatible, "written_by_other_spec"):
        ask(
            settings,
            pipeline(
                steps=(
                    Transform(where="amount > 0"),
                    deduplicate(),
                    aggregate(measures={"sales": "count(*)"}),
                )
            ),
        )


def test_the_key_of_a_step_is_what_its_declaration_says():
    assert key_columns(SPEC, 3) == ("window_start", "window_end", "shop")
    assert key_columns(pipeline(steps=(deduplicate(keys=("*",)),), output_checks=()), 1) == (
        "id",
        "at",
        "shop",
        "amount",
    )
    assert key_columns(pipeline(steps=(group_state(),), output_checks=()), 1) == ("shop",)


def test_a_keys_type_is_not_guessed_behind_a_step_that_may_have_changed_it():
    assert key_types(SPEC, 3)["amount"] == "bigint"
    recast = Transform(sql="SELECT *, CAST(amount AS STRING) AS amount FROM rows")
    changed = pipeline(steps=(recast, deduplicate(), aggregate()))
    assert set(key_types(changed, 2)) == {"window_start", "window_end"}
    assert key_columns(changed, 2) == ("id",)


def test_batches_are_formatted_as_a_range():
    assert format_batches([7]) == "batch 7"
    assert format_batches([9, 8, 7]) == "batches 7 to 9"


def test_a_query_reaches_the_other_process_as_it_is():
    for query in (
        StateQuery(),
        StateQuery(("a=-1", "b= x y"), 2, 0, changes=True, batches=3, limit=5),
        StateQuery(keep=True),
    ):
        job = ShowState(pipeline="sales", query=query)
        assert read(job.words()) == job


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "", ""),
        ("string", "N14228", "N14228"),
        ("int", "-12", -12),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("double", "1e3", 1000.0),
        ("boolean", "false", False),
        ("date", "2013-01-31", date(2013, 1, 31)),
        ("timestamp", "2013-01-31T22:00:00Z", datetime(2013, 1, 31, 22, tzinfo=UTC)),
        ("timestamp", "2013-01-31 22:00", datetime(2013, 1, 31, 22, tzinfo=UTC)),
        ("timestamp", "2013-01-31T22:00:00+02:00", datetime(2013, 1, 31, 20, tzinfo=UTC)),
    ],
)
def test_a_text_becomes_a_value_of_the_columns_type(kind, text, value):
    assert parse("column", text, kind) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", "2147483648"),
        ("int", "1.0"),
        ("int", "٣"),
        ("bigint", "9223372036854775808"),
        ("double", "nan"),
        ("double", "x"),
        ("boolean", "True"),
        ("date", "31.1.2013"),
        ("timestamp", "yesterday"),
        ("struct<a:int>", "1"),
    ],
)
def test_a_text_that_is_no_such_value_is_refused(kind, text):
    unfit = "key_type_unsupported" if kind.startswith("struct") else "key_value_unfit"
    with fails(StateUnreadable, unfit, column="column", kind=kind):
        parse("column", text, kind)


@given(st.text(), st.sampled_from(["int", "bigint", "double", "boolean", "date", "timestamp"]))
def test_any_text_is_a_value_or_refused(text, kind):
    with suppress(StateUnreadable):
        parse("column", text, kind)
