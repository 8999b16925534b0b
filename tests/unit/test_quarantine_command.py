"""`sluice quarantine`, without Spark: which records can be put aside, and when."""

from pathlib import Path

import pytest

from spark_jobs.admin.quarantine import quarantine
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.failing import FailingRecord, FailingRecords, read_failing
from spark_jobs.errors import DecisionRefused, LeaseHeld
from spark_jobs.proof.cases import Record
from spark_jobs.proof.records import send, topic_of
from spark_jobs.settings.installation import Settings
from spark_jobs.source.place import Place
from spark_jobs.spec import Field, Topic, Transform
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import pipeline

SPEC = pipeline()
PROPOSED = tuple(
    FailingRecord(batch=2, partition=0, offset=offset, reason="a sum: ARITHMETIC_OVERFLOW: …")
    for offset in (21, 25)
)


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    """A root with batch 0 accounted for, batch 1 not, and batch 2 planned: ten offsets each."""
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    monkeypatch.setenv("SLUICE_KAFKA", "localhost:1")
    made = Settings.from_environment()
    paths = Paths(made.root, SPEC)
    begin(Path(paths.checkpoint.path))
    for batch in range(3):
        plan_batch(paths.checkpoint, batch, {0: 10 * (batch + 1)})
    for batch in range(2):
        commit_batch(paths.checkpoint, batch)
    Identity(generation="g", topic_id="t", fingerprint={}).write(paths.identity)
    Cursor(audited=0, judged=0).write(paths.cursor)
    return made


def failing(settings: Settings) -> FailingRecords:
    return read_failing(Paths(settings.root, SPEC).failing)


def put_aside(settings: Settings, *named: str, reason: str = "it overflows") -> None:
    intent = quarantine(SPEC, settings, named, reason, "ana")
    intent.execute()


def test_what_a_run_has_proposed_is_malformed_once_a_person_agrees(settings):
    path = Paths(settings.root, SPEC).failing
    FailingRecords(proposed=PROPOSED).write(path)
    assert failing(settings).reasons == {}
    assert quarantine(SPEC, settings, (), "", "ana").lines[1:3] == (
        "  partition 0 offset 21",
        "  partition 0 offset 25",
    )
    assert failing(settings).reasons == {}
    put_aside(settings)
    assert sorted(failing(settings).reasons) == [Place(0, 21), Place(0, 25)]
    assert quarantine(SPEC, settings, (), "", "ana").execute is None


def test_records_that_a_person_names_are_never_forgotten(settings):
    put_aside(settings, "0:3", "1:7-9")
    known = failing(settings).with_more((), audited=99).up_to(0)
    assert [each[:2] for each in sorted(known.in_repairs)] == [(0, 3), (1, 7), (1, 8), (1, 9)]
    assert known.in_repairs[Place(0, 3)] == "put aside by ana: it overflows"


def test_a_batch_that_is_accounted_for_keeps_a_record_as_what_it_was(settings):
    """Should its account be lost, it is made again."""
    put_aside(settings, "0:3", "0:20")
    assert sorted(failing(settings).reasons) == [Place(0, 20)]


@pytest.mark.parametrize("named", ["0", "0:x", "0:9-3", "-1:3", "0:0-100000"])
def test_what_is_no_place_is_refused(settings, named):
    with pytest.raises(DecisionRefused):
        quarantine(SPEC, settings, (named,), "why", "ana")


def test_a_person_says_why(settings):
    with pytest.raises(DecisionRefused):
        quarantine(SPEC, settings, ("0:3",), " ", "ana")


def test_a_record_that_is_in_the_table_and_not_in_the_account_stays_what_it_was(settings):
    """The account reads it again, and must find what the batch found."""
    put_aside(settings, "0:9", "0:20")
    with fails(DecisionRefused, "batch_unaccounted", batch=1):
        quarantine(SPEC, settings, ("0:9-10",), "why", "ana")


def test_it_is_not_done_beside_a_run_nor_after_one(settings):
    intent = quarantine(SPEC, settings, ("0:3",), "why", "ana")
    assert intent.execute is not None
    paths = Paths(settings.root, SPEC)
    with lease(paths.lease, "a run"), pytest.raises(LeaseHeld):
        intent.execute()
    FailingRecords(proposed=PROPOSED).write(paths.failing)
    with pytest.raises(DecisionRefused):
        intent.execute()


def test_an_element_that_its_value_does_not_have_is_refused_by_name(settings, tmp_path):
    at = Field(name="at", type="timestamp", part="timestamp")
    topic = Topic(
        name="lists", each="items[]", event_time="at", fields=(at, Field(name="n", type="bigint"))
    )
    lists = topic_of(topic, tmp_path / "lists", 1)
    values = ({"items": [{"n": 1}, {"n": 2}]}, {"items": []}, {"items": 7})
    send(lists, [Record(value=value) for value in values])
    spec = pipeline(topic=topic, steps=(Transform(where="n IS NOT NULL"),))
    spec = spec.model_copy(update={"topic": lists})
    for named, records in (("0:0:2", 2), ("0:1:0", 0), ("0:2:0", 0)):
        with fails(DecisionRefused, "no_element", record=named, records=records):
            quarantine(spec, settings, ("0:0:1", named), "why", "ana")
    for named in ("0:0:1", "0:0", "0:30:9"):  # nobody has written the last one
        assert quarantine(spec, settings, (named,), "why", "ana").execute is not None
