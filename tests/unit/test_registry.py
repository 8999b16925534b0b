"""The registry: what it finds, what it refuses, and how light finding is."""

from pathlib import Path

import pytest

from spark_jobs.errors import PipelineUnknown, SpecInvalid
from spark_jobs.registry import find as registry
from tests.harness.ran import HEAVY, python
from tests.harness.refused import fails, has

SHIPPED = ["aircraft_now", "aircraft_rotations", "departure_delays", "flight_events"]
REPO = Path(__file__).parents[2]
SPEC = """
from spark_jobs.spec import Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS
SPEC = Pipeline(name={name!r}, about="x", topic=FLIGHTS, steps=(Transform(where="true"),))
"""


def add(folder: Path, pipeline: str, text: str) -> None:
    (folder / pipeline).mkdir()
    (folder / pipeline / "spec.py").write_text(text)


def test_every_shipped_pipeline_loads_under_the_name_of_its_folder():
    assert [spec.name for spec in registry.load_all()] == registry.names()
    assert set(SHIPPED) <= set(registry.names())


def test_adding_a_folder_adds_a_pipeline(folder):
    add(folder, "fresh", SPEC.format(name="fresh"))
    assert registry.names() == ["fresh"]
    assert registry.load("fresh").name == "fresh"


def test_the_topics_of_a_pipeline_of_several_are_told_one_by_one(folder):
    two = SPEC.replace(
        "topic=FLIGHTS", "topics=(FLIGHTS, FLIGHTS.model_copy(update={{'name': 'more'}}))"
    )
    add(folder, "several", two.format(name="several"))
    assert registry.topics() == ["flights", "more"]


def test_a_folder_without_a_spec_is_no_pipeline(folder):
    (folder / "notes").mkdir()
    assert registry.names() == []


def test_an_unknown_name_is_refused_with_the_one_that_was_probably_meant():
    with fails(PipelineUnknown, "folder_absent", pipeline="departure_delay"):
        registry.load("departure_delay")


def test_an_unknown_name_that_resembles_none_is_refused_with_all_there_are():
    with fails(
        PipelineUnknown,
        "folder_absent",
        hint=has(f"The pipelines are: {', '.join(registry.names())}"),
    ):
        registry.load("xyz")


@pytest.mark.parametrize(
    "name", ["..", "../registry", "flight_events/../flight_events", "", "flight_events\n"]
)
def test_a_name_that_leaves_the_folder_is_unknown(name):
    with pytest.raises(PipelineUnknown):
        registry.load(name)


@pytest.mark.parametrize(
    ("text", "reason", "told"),
    [
        (SPEC.format(name="other"), "name_differs", {"given": "other"}),
        ("SPEC = 1", "no_spec", {}),
        ("", "no_spec", {}),
        ("import nowhere_to_be_found", "import_failed", {"kind": "ModuleNotFoundError", "error": has("nowhere_to_be_found")}),
        ("from spark_jobs.contract.spec import Pipeline", "import_renamed", {"module": "spark_jobs.contract", "now": "spark_jobs.spec"}),
        ("SPEC = (", "import_failed", {"kind": "SyntaxError"}),
        ("import sys; sys.exit(0)", "import_failed", {"kind": "SystemExit", "error": "0"}),
        (SPEC.format(name="Fresh!"), "fields_refused", {"fields": "name"}),
    ],
)  # fmt: skip
def test_a_spec_that_is_none_is_refused_by_file_and_reason(folder, text, reason, told):
    add(folder, "fresh", text)
    with fails(SpecInvalid, reason, **told):
        registry.load("fresh")


def test_one_bad_spec_fails_loading_all_instead_of_vanishing(folder):
    add(folder, "bad", "SPEC = None")
    add(folder, "good", SPEC.format(name="good"))
    with fails(SpecInvalid, "no_spec", pipeline="bad"):
        registry.load_all()


def test_loading_every_spec_loads_nothing_heavy():
    """In a process of its own, as a DAG file would: this one has long loaded pyspark."""
    code = (
        "import sys; from spark_jobs.registry import find as registry;"
        "from spark_jobs.messages import report; from spark_jobs.settings import installation;"
        "from spark_jobs.launch import submit;"
        f"assert len(registry.load_all()) >= {len(SHIPPED)};"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert python(code).stdout.strip() == "[]"


NEXT = """
NEXT = SPEC.model_copy(update={{{changes}}})
"""
ANOTHER_STATE = "'state': SPEC.state.model_copy(update={'version': 2})"
OTHER_STEPS = "'steps': (Transform(where='flight > 1'),)"


def with_next(folder: Path, text: str) -> None:
    add(folder, "rebuilt", SPEC.format(name="rebuilt") + text)


def test_next_is_the_spec_that_follows_and_most_pipelines_have_none(folder):
    with_next(folder, NEXT.format(changes=f"{ANOTHER_STATE}, {OTHER_STEPS}"))
    following = registry.load_next("rebuilt")
    assert following.state.version == 2
    add(folder, "fresh", SPEC.format(name="fresh"))
    assert registry.load_next("fresh") is None


@pytest.mark.parametrize(
    ("text", "reason", "told"),
    [
        ("NEXT = {'steps': ()}", "next_no_pipeline", {"kind": "dict"}),
        (NEXT.format(changes=OTHER_STEPS), "next_same_version", {"version": 1, "free": 2}),
        (NEXT.format(changes=ANOTHER_STATE), "next_same", {}),
        (
            NEXT.format(changes=f"{ANOTHER_STATE}, {OTHER_STEPS}, 'name': 'other'"),
            "next_field_differs",
            {"field": "name", "given": "other", "right": "rebuilt"},
        ),
        (
            NEXT.format(changes=f"{ANOTHER_STATE}, 'topic': FLIGHTS.model_copy(update={{'name': 'other'}})"),
            "next_field_differs",
            {"field": "topic.name", "given": "other", "right": "flights"},
        ),
        (NEXT.format(changes=f"{ANOTHER_STATE}, 'step': ()"), "fields_refused", {"fields": "step"}),
        (NEXT.format(changes=f"{ANOTHER_STATE}, 'steps': ()"), "fields_refused", {"fields": "steps"}),
    ],
)  # fmt: skip
def test_a_next_that_cannot_follow_is_refused_and_spec_loads(folder, text, reason, told):
    with_next(folder, text)
    with fails(SpecInvalid, reason, **told):
        registry.load_next("rebuilt")
    assert registry.load("rebuilt").state.version == 1
