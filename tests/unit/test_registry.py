"""The registry: what it finds, what it refuses, and how light finding is."""

import sys
from pathlib import Path

import pytest

from spark_jobs import pipelines
from spark_jobs.errors import PipelineUnknown, SpecInvalid
from spark_jobs.registry import find as registry
from tests.harness.ran import python
from tests.harness.refused import fails, has
from tests.unit.test_rooms import HEAVY

SHIPPED = ["aircraft_rotations", "departure_delays", "flight_events"]
REPO = Path(__file__).parents[2]
SPEC = """
from spark_jobs.spec import Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS
SPEC = Pipeline(name={name!r}, about="x", topic=FLIGHTS, steps=(Transform(where="true"),))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of pipelines in the place of the shipped ones."""
    monkeypatch.setattr(pipelines, "__path__", [str(tmp_path)])
    for module in [name for name in sys.modules if name.startswith("spark_jobs.pipelines.")]:
        monkeypatch.delitem(sys.modules, module)
    return tmp_path


def add(folder: Path, pipeline: str, text: str) -> None:
    (folder / pipeline).mkdir()
    (folder / pipeline / "spec.py").write_text(text)


def test_every_shipped_pipeline_loads_under_the_name_of_its_folder() -> None:
    assert [spec.name for spec in registry.load_all()] == registry.names()
    assert set(SHIPPED) <= set(registry.names())


def test_adding_a_folder_adds_a_pipeline(folder: Path) -> None:
    add(folder, "fresh", SPEC.format(name="fresh"))
    assert registry.names() == ["fresh"]
    assert registry.load("fresh").name == "fresh"


def test_a_folder_without_a_spec_is_no_pipeline(folder: Path) -> None:
    (folder / "notes").mkdir()
    assert registry.names() == []


def test_an_unknown_name_is_refused_with_the_one_that_was_probably_meant() -> None:
    with fails(PipelineUnknown, "folder_absent", pipeline="departure_delay"):
        registry.load("departure_delay")


def test_an_unknown_name_that_resembles_none_is_refused_with_all_there_are() -> None:
    with fails(
        PipelineUnknown,
        "folder_absent",
        hint=has(f"The pipelines are: {', '.join(registry.names())}"),
    ):
        registry.load("xyz")


@pytest.mark.parametrize(
    "name", ["..", "../registry", "flight_events/../flight_events", "", "flight_events\n"]
)
def test_a_name_that_leaves_the_folder_is_unknown(name: str) -> None:
    with pytest.raises(PipelineUnknown):
        registry.load(name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            SPEC.format(name="other"),
            "name is 'other'; the folder, the table and the DAG must have the same name",
        ),
        ("SPEC = 1", "defines no SPEC"),
        ("", "defines no SPEC"),
        (
            "import nowhere_to_be_found",
            "cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("SPEC = (", "cannot be imported: SyntaxError"),
        ("import sys; sys.exit(0)", "cannot be imported: SystemExit: 0"),
        (SPEC.format(name="Fresh!"), "name is 'Fresh!'"),
    ],
)
def test_a_spec_that_is_none_is_refused_by_file_and_reason(folder, text, said):
    add(folder, "fresh", text)
    with pytest.raises(SpecInvalid) as refused:
        registry.load("fresh")
    assert said in str(refused.value)


def test_one_bad_spec_fails_loading_all_instead_of_vanishing(folder: Path) -> None:
    add(folder, "bad", "SPEC = None")
    add(folder, "good", SPEC.format(name="good"))
    with fails(SpecInvalid, "no_spec", pipeline="bad"):
        registry.load_all()


def test_loading_every_spec_loads_nothing_heavy() -> None:
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


def test_next_is_the_spec_that_follows_and_most_pipelines_have_none(folder: Path) -> None:
    with_next(folder, NEXT.format(changes=f"{ANOTHER_STATE}, {OTHER_STEPS}"))
    following = registry.load_next("rebuilt")
    assert following.state.version == 2
    add(folder, "fresh", SPEC.format(name="fresh"))
    assert registry.load_next("fresh") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NEXT = {'steps': ()}", "NEXT is dict, and no Pipeline"),
        (NEXT.format(changes=OTHER_STEPS), r"state.version is 1, as SPEC's.*'version': 2"),
        (NEXT.format(changes=ANOTHER_STATE), "differs from SPEC in nothing but state.version"),
        (
            NEXT.format(changes=f"{ANOTHER_STATE}, {OTHER_STEPS}, 'name': 'other'"),
            "NEXT: name is 'other', and SPEC's is 'rebuilt'",
        ),
        (
            NEXT.format(
                changes=f"{ANOTHER_STATE}, 'topic': FLIGHTS.model_copy(update={{'name': 'other'}})"
            ),
            "NEXT: topic.name is 'other', and SPEC's is 'flights'",
        ),
        (NEXT.format(changes=f"{ANOTHER_STATE}, 'step': ()"), "unknown field 'step'.*'steps'"),
        (NEXT.format(changes=f"{ANOTHER_STATE}, 'steps': ()"), "steps"),
    ],
)
def test_a_next_that_cannot_follow_is_refused_and_spec_loads(folder, text, words):
    with_next(folder, text)
    with pytest.raises(SpecInvalid, match=words):
        registry.load_next("rebuilt")
    assert registry.load("rebuilt").state.version == 1
