"""Cases: the file beside a spec, what it refuses, what its acts do without Spark, rows that are
compared, and what git touches.
"""

import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from spark_jobs.contracts.at_commit import touched
from spark_jobs.errors import CaseInvalid
from spark_jobs.ops.terms import UNDO
from spark_jobs.proof import acts
from spark_jobs.proof.cases import Act, read
from spark_jobs.proof.compare import differences, same, table
from spark_jobs.proof.dimensions import of_case, put
from spark_jobs.proof.scratch import Scratch
from tests.harness.refused import fails, has
from tests.harness.roots import NOON
from tests.scenarios.known_sales.spec import SPEC as KNOWN_SALES
from tests.unit.drains import SPEC, Drains

ONE = "cases: [{name: one, given: [[{a: 1}]], expect: {rows: []}}]"


def cases(tmp_path, text):
    path = tmp_path / "tests.yaml"
    path.write_text(text)
    return read(path)


def test_a_record_is_its_value_or_says_more_of_itself(tmp_path):
    given = """
    defaults: {b: 2}
    cases:
      - name: one
        given: [[{a: 2013-01-01T05:00:00Z}, "{not json", null, {value: {b: 3}, key: k, partition: 1}]]
        expect: {}
    """
    [case] = cases(tmp_path, given)
    [batch] = case.given
    assert [each.value for each in batch] == [
        {"b": 2, "a": "2013-01-01T05:00:00Z"},
        "{not json",
        None,
        {"b": 3},
    ]
    assert [(each.key, each.partition) for each in batch][2:] == [(None, 0), ("k", 1)]


@pytest.mark.parametrize(
    ("text", "case", "field"),
    [
        (ONE.replace("given", "givn"), "case 'one'", "givn"),
        (ONE.replace("rows", "row"), "case 'one'", "expect.row"),
        (ONE.replace("rows: []", "late: many"), "case 'one'", "expect.late"),
        (ONE.replace("{a: 1}", "{value: 1, partition: -1}"), "case 'one'", "given.0.0.partition"),
        (ONE.replace("[[{a: 1}]]", "[{a: 1}]"), "case 'one'", "given.0"),
        (ONE.replace("name: one, ", ""), "case 1", "name"),
        ("cases: []", "the file", "cases"),
        ("", "the file", "its form"),
        (ONE + "\nchecks: []", "the file", "checks"),
        (ONE[:-1] + ", " + ONE.removeprefix("cases: ["), "the file", "its form"),
    ],
    ids=["misspelt", "no such expectation", "no number", "partition", "no batch", "no name", "no case", "empty", "no such part", "a name twice"],
)  # fmt: skip
def test_what_no_case_has_is_refused_by_case_and_field(tmp_path, text, case, field):
    with fails(CaseInvalid, "field_wrong", case=case, field=field):
        cases(tmp_path, text)


def test_what_is_done_is_a_drain_for_each_batch_unless_the_case_says_more(tmp_path):
    [case] = cases(tmp_path, ONE.replace("[[{a: 1}]]", "[[{a: 1}], [{a: 2}]]"))
    assert [(act.verb, act.of) for act in case.acts] == [("drain", "")] * 2
    done = "corrections: [{}], then: [drain, kill table.committed, repair, undo, rewind 0, drain, correct, replay]"
    [case] = cases(tmp_path, ONE.replace("expect", f"{done}, expect"))
    assert [(act.verb, act.of, act.takes) for act in case.acts] == [
        ("drain", "", True),
        ("kill", "table.committed", True),
        ("repair", "", False),
        ("undo", "", False),
        ("rewind", "0", False),
        ("drain", "", True),
        ("correct", "", False),
        ("replay", "", False),
    ]


@pytest.mark.parametrize(
    "act",
    ["drian", "kill", "kill somewhere", "rewind", "rewind last", "replay all", "[drain]", "1"],
)
def test_an_act_that_no_case_can_do_is_refused(tmp_path, act):
    with fails(CaseInvalid, "field_wrong", case="case 'one'", field="then.0"):
        cases(tmp_path, ONE.replace("expect", f"then: [{act}, drain], expect"))


def test_a_batch_that_no_act_reads_is_refused(tmp_path):
    with fails(CaseInvalid, "field_wrong", case="case 'one'"):
        cases(tmp_path, ONE.replace("expect", "then: [repair], expect"))


@pytest.mark.parametrize("done", ["then: [drain, correct]", "then: [drain], corrections: [{}]"])
def test_corrections_and_acts_that_take_one_are_as_many(tmp_path, done):
    with fails(CaseInvalid, "field_wrong", case="case 'one'", given=has("given")):
        cases(tmp_path, ONE.replace("expect", f"{done}, expect"))


def test_a_correction_takes_the_place_of_a_dimensions_rows(tmp_path):
    [before, after] = ([{"shop": "a", "city": city}] for city in ("Aachen", "Aalen"))
    spec = of_case(KNOWN_SALES, {"shops": before}, [{"shops": after}], tmp_path)
    told = [(tmp_path / "shops.jsonl").read_text()]
    put(spec, {"shops": after})
    told.append((tmp_path / "shops.jsonl").read_text())
    none = {"since": None, "until": None}
    assert [*map(json.loads, told)] == [before[0] | none, after[0] | none]


@pytest.mark.parametrize(
    ("correction", "why"),
    [({"stores": []}, "dimension_wrong"), ({"shops": [{"town": "Aalen"}]}, "column_wrong")],
)
def test_a_correction_of_what_the_pipeline_does_not_read_is_refused_before_the_case(
    tmp_path, correction, why
):
    with fails(CaseInvalid, why, pipeline="known_sales"):
        of_case(KNOWN_SALES, {"shops": []}, [{}, correction], tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("nothing", ["rows: ", "accepted: null", "fails: ~", "late: "])
def test_a_case_that_would_compare_nothing_is_refused(tmp_path, nothing):
    """In YAML a name with nothing behind it looks like an empty list."""
    with fails(CaseInvalid, "field_wrong", case="case 'one'", field="expect"):
        cases(tmp_path, f"cases: [{{name: one, given: [[{{a: 1}}]], expect: {{{nothing}}}}}]")


def test_what_is_no_yaml_is_refused(tmp_path):
    with fails(CaseInvalid, "unreadable"):
        cases(tmp_path, "cases: [")


@pytest.mark.parametrize(
    ("wanted", "got", "is_it"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC), True),
        ("2026-03-01T13:00:00+01:00", datetime(2026, 3, 1, 12, tzinfo=UTC), True),
        ("2026-03-01T12:00:01Z", datetime(2026, 3, 1, 12, tzinfo=UTC), False),
        ("noon", datetime(2026, 3, 1, 12, tzinfo=UTC), False),
        ("2026-03-01", date(2026, 3, 1), True),
        (1.10, Decimal("1.1"), True),
        (0.3, 0.1 + 0.2, True),
        (1, 1.0, True),
        ("1", 1, False),
        (1, True, False),
        (None, 0, False),
        ([1, {"a": 2}], [1, {"a": 2}], True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        (5, date(2026, 3, 1), False),
    ],
)
def test_a_value_of_yaml_is_a_value_of_the_table(wanted, got, is_it):
    assert same(wanted, got) is is_it


def test_rows_compare_by_the_columns_that_each_names_and_in_any_order():
    got = [{"a": 1, "b": 3}, {"a": 1, "b": 2}]
    assert differences([{"a": 1}, {"a": 1, "b": 3}], got) == []
    assert differences([{"a": 1, "b": 3}, {"a": 1}], got) == []


def test_a_row_that_comes_twice_is_expected_twice():
    [found] = differences([{"a": 1}], [{"a": 1}, {"a": 1}])
    assert found == ("unexpected", None, {"a": 1})


def test_what_differs_is_shown_cell_by_cell():
    expected = [{"id": "e1", "n": 1}, {"id": "e3", "n": 3}]
    got = [{"id": "e1", "n": 2, "more": 0}, {"id": "e4", "n": 4, "more": 0}]
    assert [*table(differences(expected, got))] == [
        "            id  n",
        "changed     e1  1 -> 2",
        "missing     e3  3",
        "unexpected  e4  4",
    ]


def test_each_undo_takes_back_the_newest_repair_that_is_in_the_table(tmp_path, monkeypatch):
    root, undone = Drains(tmp_path / "root"), []
    scratch = Scratch(SPEC, None, root.settings)

    def says(repair: str, state: str, hours: int | None) -> None:
        at = None if hours is None else NOON + timedelta(hours=hours)
        row = {"pipeline": SPEC.name, "generation": "g1", "repair_id": repair}
        root.put("repairs", row | {"state": state, "swapped_at": at})

    def undo(_: object, __: str, repair: str, ___: str) -> None:
        undone.append(repair)

    monkeypatch.setattr(acts, "undo", undo)
    with pytest.raises(acts.Unmet):
        acts.acted(scratch, Act(verb="undo"), "act")
    says("r1", "swapped", 1)
    says("r2", "undone", 2)
    says(f"r2{UNDO}", "swapped", 3)
    says("r3", "staged", None)
    acts.acted(scratch, Act(verb="undo"), "act")
    assert undone == ["r1"]


def test_a_copy_of_a_root_that_does_not_come_to_rest_is_none(tmp_path, monkeypatch):
    (root := tmp_path / "root").mkdir()
    monkeypatch.setattr(acts, "PATIENCE_SECONDS", -1)
    monkeypatch.setattr(acts, "files", lambda _: object())  # written to all the time
    with pytest.raises(TimeoutError):
        acts.copy_at_rest(root, tmp_path / "image")
    assert not (tmp_path / "image").exists()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two pipelines in git, of which one imports a module beside them."""
    package = tmp_path / "wares"
    for name, line in (("one", "import wares.beside\n"), ("two", "")):
        (package / name).mkdir(parents=True)
        (package / name / "spec.py").write_text(line)
    for path in (package, package / "one", package / "two"):
        (path / "__init__.py").touch()
    (package / "beside.py").write_text("A = 1\n")
    monkeypatch.delitem(sys.modules, "wares", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SLUICE_PIPELINES", "wares")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return package


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("two/spec.py", ["two"]),
        ("two/tests.yaml", ["two"]),
        ("beside.py", ["one"]),
        ("other.py", []),
    ],
)
def test_a_change_touches_the_pipelines_that_have_or_import_the_file(repository, file, names):
    assert touched(["one", "two"], "HEAD") == []
    (repository / file).write_text("B = 2\n")
    assert touched(["one", "two"], "HEAD") == names


def test_a_hook_of_another_repository_does_not_say_what_has_changed(
    repository, monkeypatch, tmp_path
):
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(tmp_path / "another"))
    assert touched(["one", "two"], "HEAD") == []


@pytest.mark.parametrize("ref", ["no-such-branch", "--output=x"])
def test_a_commit_that_git_does_not_know_is_refused(repository, ref):
    with fails(CaseInvalid, "unknown_ref", ref=ref):
        touched(["one"], ref)
