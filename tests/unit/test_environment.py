"""What escapes the spec: imported modules, versions and Spark's settings, beside a checkpoint."""

from pathlib import Path

import pytest

from spark_jobs import pipelines
from spark_jobs.checkpoint.identity import Identity, Present, read_identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import StateIncompatible
from spark_jobs.launch import session
from spark_jobs.registry.fingerprint.code import code_digest, of_pipeline
from spark_jobs.registry.fingerprint.environment import Environment
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline, State
from spark_jobs.spec.spark_options import OWNED, OWNED_PREFIXES
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values import pinned as language
from spark_jobs.values.pinned import FAMILIES, PINNED
from tests.harness.refused import because, has
from tests.harness.roots import ROOT
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import group_state, pipeline

BROKER = SourceState(
    id="topic-1", earliest=Positions({0: 0, 1: 0}), latest=Positions({0: 50, 1: 50})
)
SHOPS = pipeline(steps=(group_state(),))
NAME = SHOPS.name
LOGIC = "from ..shared.rules import most\nclass Shops:\n    most = most\n"


class Code:
    """The code of a pipeline that has run: logic.py, and a module of the project."""

    def __init__(self, folder: Path, root: Path):
        self._folder = folder
        self.paths = Paths(str(root), SHOPS)

    def write(self, rules: str = "most = 5\n", text: str = LOGIC):
        for name, content in ((f"{NAME}/logic.py", text), ("shared/rules.py", rules)):
            (path := self._folder / name).parent.mkdir(exist_ok=True)
            path.write_text(content)

    def run(self, spec: Pipeline = SHOPS) -> Identity:
        """What a run stores."""
        identity = standing(Present(spec), self.paths).identity(BROKER)
        identity.write(self.paths.identity)
        return identity

    def refused(self, spec: Pipeline = SHOPS) -> StateIncompatible:
        with pytest.raises(StateIncompatible) as error:
            standing(Present(spec), self.paths).identity(BROKER)
        return error.value

    def record(self, **environment: dict[str, str]):
        """Another environment in the place of the stored one."""
        known = read_identity(self.paths)
        around = known.environment.model_copy(update=environment)
        known.model_copy(update={"environment": around}).write(self.paths.identity)


@pytest.fixture
def code(tmp_path, monkeypatch) -> Code:
    (folder := tmp_path / "pipelines").mkdir()
    monkeypatch.setattr(pipelines, "__path__", [str(folder)])
    made = Code(folder, tmp_path / ROOT)
    made.write()
    made.paths.ensure_writable()
    made.run()
    Cursor().write(made.paths.cursor)
    checkpoint = begin(Path(str(made.paths.checkpoint)))
    plan_batch(checkpoint, 0, {0: 10, 1: 10})
    commit_batch(checkpoint, 0)
    return made


def declared(*digests: str | None) -> Pipeline:
    return SHOPS.model_copy(update={"compatible_logic": digests})


def test_a_module_that_logic_imports_is_as_good_as_logic_itself(code):
    before = code_digest(NAME)
    code.write("most = 6\n")
    told = {
        "differences": has(f"logic: was {before!r}", "(changed: pipelines.shared.rules)"),
        "declare": has(f"add {before!r} to compatible_logic", f"sluice drain {NAME}"),
    }
    because(code.refused(), StateIncompatible, "spec_changed", **told)


def test_a_declared_change_of_a_module_is_said_once_and_recorded(code):
    spec = declared(code_digest(NAME))
    code.write("most = 6\n")
    [line] = standing(Present(spec), code.paths).warnings
    assert line.startswith("pipelines.shared.rules changed; the spec declares the code compatible")
    code.run(spec)
    assert standing(Present(SHOPS), code.paths).warnings == ()
    plan_batch(code.paths.checkpoint, 1, {0: 20, 1: 20})
    commit_batch(code.paths.checkpoint, 1)
    code.write("most = 5\n")
    differences = has("pipelines.shared.rules")
    because(code.refused(spec), StateIncompatible, "spec_changed", differences=differences)


def test_code_that_moves_between_its_files_is_one_change_with_one_digest(code):
    before = code_digest(NAME)
    code.write("", text="class Shops:\n    most = 5\n")
    differences = has("(changed: logic.py, pipelines.shared.rules)")
    because(code.refused(), StateIncompatible, "spec_changed", differences=differences)
    code.run(declared(before))
    assert standing(Present(SHOPS), code.paths).warnings == ()


@pytest.mark.parametrize(
    ("own", "imports"),
    [
        ("06a1bb1ab8a9", None),
        ("2-364db9fc7931", {"pipelines.shared.rules": "2-f02d0041d36c", "house": "(missing)"}),
    ],
    ids=["of the first form", "of syntax"],
)
def test_a_digest_of_an_older_form_is_taken_for_todays_code_once_and_noted_anew(code, own, imports):
    today = read_identity(code.paths)
    around = imports and today.environment.model_copy(update={"imports": imports})
    older = {"fingerprint": today.fingerprint | {"logic": own}, "environment": around}
    today.model_copy(update=older).write(code.paths.identity)
    [line] = standing(Present(SHOPS), code.paths).warnings
    assert own in line
    found = standing(Present(SHOPS), code.paths)
    run = code.run()
    assert (found.changes, run.other_code_than(found.made)) == ((), False)  # no change of the code
    assert (run.fingerprint, run.environment) == (today.fingerprint, today.environment)
    assert standing(Present(SHOPS), code.paths).warnings == ()
    code.write("most = 6\n")
    because(code.refused(), StateIncompatible, "spec_changed", differences=has("shared.rules"))


def test_an_older_sluice_finds_the_fingerprint_that_it_knows(code):
    known = read_identity(code.paths)
    assert known.fingerprint["logic"] == of_pipeline(NAME)
    assert [name for name in known.fingerprint if name.startswith(("spark.", "version"))] == []


def test_another_version_is_said_once_and_recorded(code):
    code.record(versions={"Delta": "4.3.9", "msgspec": "0.1"})
    lines = standing(Present(SHOPS), code.paths).warnings
    assert [line.partition(",")[0] for line in lines] == [
        "version of Delta: was '4.3.9'",
        "version of msgspec: was '0.1'",
    ]
    assert set(code.run().environment.versions) == {"Delta", "Sluice", "msgspec"}  # type: ignore[union-attr]
    assert standing(Present(SHOPS), code.paths).warnings == ()


def test_another_value_of_a_setting_that_changes_results_is_refused(code):
    name = "spark.sql.caseSensitive"
    code.record(settings={**PINNED, name: "true"})
    revert, differences = (
        "Run the Sluice that made the state",
        has(f"{name}: was 'true', is 'false'"),
    )
    told = {"revert": revert, "differences": differences}
    because(code.refused(), StateIncompatible, "spec_changed", **told)


def test_a_setting_that_one_sluice_records_and_another_does_not_is_no_change(code):
    name, *_ = PINNED
    code.record(
        settings={"spark.sql.of.before": "1"} | {n: v for n, v in PINNED.items() if n != name}
    )
    assert standing(Present(SHOPS), code.paths).warnings == ()
    assert code.run().environment.settings == {**PINNED, **language.JAVA, **language.VARIABLES}


def test_a_pipeline_without_code_of_its_own_imports_nothing(tmp_path):
    spec = pipeline()
    identity = standing(Present(spec), Paths(str(tmp_path), spec)).identity(BROKER)
    assert isinstance(identity.environment, Environment)
    assert identity.environment.imports == {}


def test_no_user_sets_what_changes_results_and_every_session_has_sluices_value():
    assert [name for name in PINNED if name not in OWNED] == []
    assert session.dynamic(State()).items() >= PINNED.items()
    assert [name for name in PINNED if name.startswith(FAMILIES)] == []
    assert {*FAMILIES} <= {*OWNED_PREFIXES}
