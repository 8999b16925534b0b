"""A folder of files as a source: what is noted of it is read for ever, and nothing else."""

import gzip
import json
import os
import time

import pytest

from spark_jobs.draft.sample import of_source
from spark_jobs.errors import (
    CheckpointBroken,
    FilesUnfit,
    RecordsGone,
    RecordsUnreachable,
    SettingInvalid,
    SpecInvalid,
)
from spark_jobs.files.layout import STEP
from spark_jobs.files.noted import note_of
from spark_jobs.settings.installation import Settings
from spark_jobs.source.place import Place
from spark_jobs.spec import Avro, Csv, Lines, Protobuf, Schedule, Text, WhenData
from tests.harness.refused import fails, has
from tests.unit import specs
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.folders import STEPS, Folder


@pytest.fixture
def made(tmp_path):
    return Folder(tmp_path)


CSV = Csv(columns=("at", "n"))


def test_records_have_numbers_by_the_names_of_their_files_and_keep_them(made):
    made.put("b.jsonl", "3", "4")
    made.put("a.jsonl", "1", "", "2", end="")
    assert made.note() == ()
    assert made.values() == [b"1", b"2", b"3", b"4"]
    made.put("a/0.jsonl", "5")
    made.put(".hidden.jsonl", "6")
    made.put("_temporary/0.jsonl", "7")
    made.note()
    assert made.values() == [b"1", b"2", b"3", b"4", b"5"]
    assert made.values(1, 4) == [b"2", b"3", b"4"]
    places = [made.source.origin(Place(0, number)) for number in range(5)]
    assert places == [
        "a.jsonl line 1",
        "a.jsonl line 3",
        "b.jsonl line 1",
        "b.jsonl line 2",
        "a/0.jsonl line 1",
    ]
    assert made.source.count({0: ((1, 4),)}) == 3


def test_a_file_is_read_once_it_has_not_changed_for_a_while(made):
    made.put("a.jsonl", "1", age=20)
    made.note()
    state = made.source.state()
    assert (made.values(), state.to_note) == ([], ())
    assert state.told == ("1 files have not settled yet: a.jsonl",)
    made.declare(settled="10 seconds")
    assert made.source.state().to_note[0].startswith("1 new or grown files, 2 bytes: a.jsonl")
    made.note()
    assert made.values() == [b"1"]


@pytest.mark.parametrize(
    ("marker", "name"), [("_SUCCESS", "day/_SUCCESS"), ("*.ok", "day/a.csv.ok")]
)
def test_a_file_with_a_marker_waits_for_it(made, marker, name):
    made.declare(marker=marker, format=CSV, header=False)
    made.put("day/a.csv", "1,2")
    made.put("_SUCCESS")
    made.note()
    assert made.values() == []
    made.put(name, end="any")
    made.note()
    assert made.values() == [b"1,2"]


def test_what_is_touched_or_written_again_alike_is_not_read_again(made):
    made.put("a.jsonl", "1")
    made.note()
    made.age("a.jsonl", 90)
    made.note()
    assert made.values() == [b"1"]
    assert made.source.state().to_note == ()


@pytest.mark.parametrize("format_", [None, CSV])
def test_what_grows_is_read_from_where_it_ended(made, format_):
    if format_:
        made.declare(format=format_)
    head = ["at,n"] if format_ else []
    made.put("a", *head, "1,1")
    made.put("b", *head, "9,9")
    made.note()
    made.put("a", *head, "1,1", "2,2", "3,3", age=100)
    made.note()
    assert made.values() == [b"1,1", b"9,9", b"2,2", b"3,3"]
    assert made.source.origin(Place(0, 3)) == f"a line {3 + len(head)}"
    assert made.values(0, 1) == [b"1,1"]


def test_a_last_line_that_goes_on_is_another_record_and_refused(made):
    made.put("a.jsonl", "1", "2", end="")
    made.note()
    made.put("a.jsonl", "1", "2", "3", end="", age=100)
    made.note()
    assert made.values() == [b"1", b"2", b"3"]
    made.put("a.jsonl", "1", "2", "34", end="", age=90)
    for asked in (made.note, made.source.state):
        with fails(FilesUnfit, "changed", name="a.jsonl", was=5, size=6):
            asked()
    assert made.values() == [b"1", b"2", b"3"]


def test_a_changed_file_is_refused_until_its_content_is_back_and_its_new_one_has_another_name(made):
    path = made.put("a.jsonl", "1", "2")
    made.note()
    path.rename(made.folder / "b.jsonl")
    made.put("a.jsonl", "3", "4")
    with fails(FilesUnfit, "changed", name="a.jsonl", first=0, behind=2):
        made.note()
    (made.folder / "a.jsonl").rename(made.folder / "c.jsonl")
    (made.folder / "b.jsonl").rename(path)
    made.note()
    assert made.values() == [b"1", b"2", b"3", b"4"]


def test_a_copy_under_another_name_is_refused_skipped_or_read_as_the_spec_says(made):
    made.put("a.jsonl", "1")
    made.put("empty.jsonl", end="")
    made.put("empty too.jsonl", end="")
    made.note()
    made.put("b.jsonl", "1")
    with fails(FilesUnfit, "copy", name="b.jsonl", of="a.jsonl"):
        made.note()
    made.declare(copies="skip")
    assert made.note() == ("b.jsonl is a copy of a.jsonl, and not read",)
    assert (made.note(), made.values()) == ((), [b"1"])
    made.put("c.jsonl", "1")
    made.declare(copies="read")
    made.note()
    assert made.values() == [b"1", b"1"]


def test_a_file_that_was_renamed_and_has_grown_is_refused_or_read_from_where_it_ended(made):
    path = made.put("a", "1", "2")
    made.note()
    begin(made.paths.checkpoint, {0: 0}, "in")
    plan_batch(made.paths.checkpoint, 0, {0: 2}, topic="in")
    commit_batch(made.paths.checkpoint, 0)
    path.rename(made.folder / "b")
    with (made.folder / "b").open("a") as file:
        file.write("3\n")
    made.age("b", 100)
    with fails(FilesUnfit, "renamed", name="b", of="a", stop=4):
        made.note()
    made.declare(copies="skip")
    assert made.note() == ("b was a, and is read from byte 4 on",)
    assert (made.note(), made.values(2, 3)) == ((), [b"3"])
    with (made.folder / "b").open("a") as file:
        file.write("4\n")
    made.age("b", 90)
    made.put("c", "1", "2", "5")
    assert made.note() == ()
    assert made.values(2) == [b"3", b"4", b"1", b"2", b"5"]


def test_a_list_of_before_has_no_numbers_of_the_disk_and_its_renamed_files_are_known(made):
    made.put("gone", "0")
    path = made.put("a", "1", "2")
    made.note()
    begin(made.paths.checkpoint, {0: 0}, "in")
    plan_batch(made.paths.checkpoint, 0, {0: 3}, topic="in")
    commit_batch(made.paths.checkpoint, 0)
    note = note_of(made.paths)
    of_before = json.loads(note.read_text())
    for each in of_before["files"]:
        del each["inode"]
    note.write_text(json.dumps(of_before))
    (made.folder / "gone").unlink()
    path.rename(made.folder / "b")
    made.put("b", "1", "2", "3", age=100)
    made.put("c", "1", "9")
    with fails(FilesUnfit, "like_one_gone", name="b", of="a", stop=4):
        made.note()
    made.declare(copies="skip")
    assert made.note() == ("b was a, and is read from byte 4 on",)
    assert made.values(3) == [b"3", b"1", b"9"]


def test_a_file_that_gets_its_first_name_again_and_grows_is_read_once(made):
    made.declare(copies="skip")
    path = made.put("a", "0")
    made.note()
    begin(made.paths.checkpoint, {0: 0}, "in")
    for batch, name in enumerate(("b", "a", "c", "b")):
        plan_batch(made.paths.checkpoint, batch, {0: batch + 1}, topic="in")
        commit_batch(made.paths.checkpoint, batch)
        path = path.rename(made.folder / name)
        with path.open("a") as file:
            file.write(f"{batch + 1}\n")
        made.age(name, 110 - 10 * batch)
        made.note()
    assert made.values(4) == [b"4"]


def test_a_copy_of_a_file_that_has_grown_at_the_same_time_is_known(made):
    made.declare(copies="skip")
    made.put("b.jsonl", "1")
    made.note()
    for name in ("a.jsonl", "b.jsonl"):
        made.put(name, "1", "2", age=100)
    assert made.note() == ("a.jsonl is a copy of b.jsonl, and not read",)
    assert made.values() == [b"1", b"2"]


def test_two_copies_that_come_at_once_are_told_apart(made):
    made.put("a.jsonl", "1")
    made.put("b.jsonl", "1")
    with fails(FilesUnfit, "copy", name="b.jsonl", of="a.jsonl"):
        made.note()


@pytest.mark.parametrize("before", [(), ("1",)])
def test_files_that_grow_to_the_same_content_are_copies(made, before):
    made.declare(copies="skip")
    for name in "ab":
        made.put(name, *before, end="\n" if before else "")
    made.note()
    for name in "ba":
        made.put(name, "1", "2", age=100)
    assert made.note() == ("b is a copy of a, and not read",)
    assert made.values() == [b"1", b"2"]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.gz", b"", gzip.compress(b"at,n\n1,2\n")),
        ("a", b"\n", b"\nat,n\n1,2\n"),
        ("a", b"at,n", b"at,n\n1,2\n"),
    ],
    ids=("gzip", "empty line", "header"),
)
def test_a_file_without_a_record_yet_is_read_from_its_beginning(made, name, before, after):
    made.declare(format=CSV)
    for content, age in ((before, 120), (after, 100)):
        (made.folder / name).write_bytes(content)
        made.age(name, age)
        made.note()
    assert made.values() == [b"1,2"]


def test_a_record_whose_file_has_changed_has_no_line_in_it(made):
    made.put("a", "1", "2")
    made.put("b/b", "3")
    made.note()
    made.put("a", "7", "7", "1", "2")
    (made.folder / "b/b").unlink()
    (made.folder / "b").rmdir()
    made.put("b")
    told = [made.source.origin(Place(0, number)) for number in (1, 2)]
    assert told == ["a, which is not what it was", "b/b, which is not there any more"]
    with fails(FilesUnfit, "went"):
        made.values(2, 3)


def test_a_link_in_a_circle_is_refused_and_a_pipe_is_no_file(made):
    os.mkfifo(made.folder / "pipe")
    made.put("a", "1")
    made.note()
    assert made.values() == [b"1"]
    (made.folder / "circle").symlink_to("circle")
    with fails(FilesUnfit, "unreadable", name="circle"):
        made.note()


def test_a_file_that_went_unread_is_refused_or_left_out_as_the_spec_says_and_read_if_it_is_back(
    made,
):
    made.put("a.jsonl", "1")
    path = made.put("b.jsonl", "2", "3")
    made.put("c.jsonl", "4")
    made.note()
    path.rename(made.folder.parent / "b")
    for asked in (made.note, made.source.state):
        with fails(RecordsGone, "files_went", names="b.jsonl", count=2):
            asked()
    made.declare(on_lost_records="skip")
    assert made.note() == ("gone before they were read, and left out: b.jsonl",)
    assert made.note() == ()
    assert [each.value for each in made.source.sampled({0: ((0, 4),)})] == [b"1", b"4"]
    assert (made.source.count({0: ((0, 4),)}), made.source.compacted()) == (2, True)
    (made.folder.parent / "b").rename(path)
    made.note()
    assert made.end == 6
    assert [each.value for each in made.source.sampled({0: ((0, 6),)})] == [b"1", b"4", b"2", b"3"]


def test_of_a_file_that_went_half_read_the_first_half_is_not_lost_and_never_read_twice(made):
    made.put("a.jsonl", *"1234")
    made.note()
    begin(made.paths.checkpoint, {0: 0}, "in")
    plan_batch(made.paths.checkpoint, 0, {0: 2}, topic="in")
    commit_batch(made.paths.checkpoint, 0)
    path = made.folder / "a.jsonl"
    path.rename(made.folder.parent / "a")
    made.declare(on_lost_records="skip")
    assert made.note() == ("gone before they were read, and left out: a.jsonl",)
    assert (made.source.count({0: ((0, 4),)}), made.note()) == (2, ())
    with fails(RecordsUnreachable, "files_went", names="a.jsonl"):
        made.source.refuse_gone({0: ((0, 2),)})
    made.source.refuse_gone({0: ((2, 4),)})
    (made.folder.parent / "a").rename(path)
    made.note()
    assert (made.end, made.values(0, 4)) == (4, [b"1", b"2"])
    made.put("a.jsonl", *"12345", age=100)
    made.note()
    assert made.values(4) == [b"5"]


def test_a_repair_that_needs_a_file_that_is_gone_names_it(made):
    made.put("a.jsonl", "1")
    made.put("b.jsonl", "2")
    made.note()
    (made.folder / "a.jsonl").unlink()
    made.source.refuse_gone({0: ((1, 2),)})
    with fails(RecordsUnreachable, "files_went", names="a.jsonl"):
        made.source.refuse_gone({0: ((0, 2),)})
    assert made.source.taken({0: ((0, 2),)}) == {0: ((0, 1),)}
    with fails(FilesUnfit, "went", name="a.jsonl"):
        made.values()
    assert made.source.origin(Place(0, 0)) == "a.jsonl, which is not there any more"


def test_a_file_that_changes_amid_a_read_ends_it(made):
    made.put("a.jsonl", *map(str, range(10)))
    made.note()
    read = made.source.sampled({0: ((0, 10),)})
    next(read)
    made.put("a.jsonl", *map(str, range(5, 15)))
    with fails(FilesUnfit, "changed"):
        list(read)


def test_a_folder_that_is_not_mounted_is_no_empty_one(made):
    made.put("a.jsonl", "1")
    made.note()
    made.folder.rename(made.folder.with_name("away"))
    with fails(FilesUnfit, "absent", path=made.folder):
        made.note()


def test_a_torn_list_is_refused(made):
    made.put("a.jsonl", "1")
    made.note()
    note = made.paths.version / "files.json"
    note.write_text(note.read_text()[:-9])
    with pytest.raises(CheckpointBroken):
        made.note()


def test_a_folder_that_cannot_be_listed_and_a_name_that_is_no_text_are_refused(made, monkeypatch):
    made.put("a/a.jsonl", "1")
    made.note()
    listed = os.scandir

    def refusing(path):
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    with monkeypatch.context() as patch, fails(FilesUnfit, "unreadable", name="a"):
        patch.setattr(os, "scandir", refusing)
        made.note()
    (made.folder / os.fsdecode(b"\xff.jsonl")).write_text("1")
    with fails(FilesUnfit, "unreadable", error="its name is no UTF-8"):
        made.note()


def test_a_folder_of_a_store_that_is_not_the_roots_is_refused(made):
    made.declare(path="s3://bucket/in")
    with fails(FilesUnfit, "other_store"):
        made.note()


def test_a_long_file_is_read_from_a_mark(made):
    lines = [str(number) for number in range(2 * STEP + 5)]
    made.put("a.jsonl", *lines)
    made.note()
    assert len(made.source.listed.files[0].marks) == 3
    for first, stop in (
        (STEP - 1, STEP + 1),
        (STEP, STEP + 2),
        (2 * STEP + 4, 2 * STEP + 5),
        (0, 2),
    ):
        assert made.values(first, stop) == [each.encode() for each in lines[first:stop]]
    assert made.source.origin(Place(0, STEP + 3)) == f"a.jsonl line {STEP + 4:,}"


def test_gzip_is_read_and_told_by_line_and_other_compression_is_refused_by_name(made):
    lines = gzip.compress(b"1\r\n2\r\n") + gzip.compress(b"3\n")
    (made.folder / "a.jsonl.gz").write_bytes(lines)
    made.age("a.jsonl.gz")
    made.note()
    assert made.values(1, 3) == [b"2", b"3"]
    assert made.source.origin(Place(0, 2)) == "a.jsonl.gz line 3"
    (made.folder / "b.jsonl.gz").write_bytes(lines[:-9])
    made.age("b.jsonl.gz")
    with fails(FilesUnfit, "damaged", name="b.jsonl.gz"):
        made.note()
    (made.folder / "b.jsonl.gz").rename(made.folder / "b.jsonl.zst")
    with fails(FilesUnfit, "compressed", name="b.jsonl.zst"):
        made.note()


def test_rows_of_csv_may_have_line_ends_in_quotes_and_are_told_by_their_first_line(made):
    made.declare(format=CSV)
    rows = [b'x,"1\r\n2"', b'"a ""q"",\n\n",2', b'5" pipe,3', b'"bad"x,4', b'z,"5']
    path = made.folder / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfat,n\r\n\r\n" + b"\n".join(rows))
    made.age("a.csv")
    made.note()
    assert made.values() == rows
    assert [made.source.origin(Place(0, n)) for n in (0, 1, 2)] == [
        "a.csv line 3",
        "a.csv line 5",
        "a.csv line 8",
    ]
    path.write_bytes(path.read_bytes() + b'"\n')
    made.age("a.csv", 90)
    with fails(FilesUnfit, "changed"):
        made.note()


def test_csv_with_other_columns_is_refused(made):
    made.declare(format=CSV)
    made.put("a.csv", "n,at", "1,2")
    with fails(FilesUnfit, "other_header", there="n, at", declared="at, n"):
        made.note()
    made.declare(format=CSV, header=False)
    made.note()
    assert made.values() == [b"n,at", b"1,2"]


REFUSED = {
    "path": {"path": "orders"},
    "format": {"format": Protobuf(registry="main")},
    "format.registry": {"format": Avro(registry="main")},
    "archive": {"archive": {}},
    "cluster": {"cluster": "eu"},
    "marker": {"marker": "a/b"},
    "marker is '*'": {"marker": "*"},
    "marker is '*.csv'": {"marker": "*.csv", "names": "*.csv"},
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_declaration_that_no_folder_can_have_is_refused(made, field):
    with fails(SpecInvalid, "fields_refused", problems=has(field)):
        made.declare(**REFUSED[field])


def test_what_a_pipeline_cannot_ask_of_a_folder_is_refused(made):
    topic = made.spec.topic
    for field, given in {
        "reader_options": {"minPartitions": "8"},
        "schedule.when_data": Schedule(when_data=WhenData()),
    }.items():
        asked = {field.partition(".")[0]: given}
        with fails(SpecInvalid, "fields_refused", problems=has(field)):
            specs.pipeline(topic=topic, steps=STEPS, **asked)
    with fails(SpecInvalid, "fields_refused", problems=has("topics")):
        specs.pipeline(topics=(topic, specs.EU), topic=None, steps=STEPS)


def test_a_pipeline_over_files_needs_no_brokers(made, monkeypatch):
    monkeypatch.delenv("SLUICE_KAFKA", raising=False)
    monkeypatch.delenv("SLUICE_KAFKA_CONFIG", raising=False)
    monkeypatch.setenv("SLUICE_ROOT", made.root)
    settings = Settings.of(made.spec)
    assert made.spec.inputs.told(settings.kafka) == f"files in {made.folder}"
    made.put("a.jsonl", *map(str, range(9)))
    made.note()
    assert [each.value for each in of_source(made.spec, settings, 2)] == [b"7", b"8"]
    with fails(SettingInvalid, "absent"):
        Settings.of(specs.pipeline())


def test_texts_of_lines_have_their_bytes(made):
    made.declare(format=Text(), fields=specs.FIELDS[:1] + made.spec.topic.fields[:1])
    made.declare(format=Lines())
    made.put("a.log", " 1 ", "2\r", end="\r\n")
    made.note()
    assert made.values() == [b" 1 ", b"2\r"]


def test_a_declaration_without_a_name_is_called_as_its_folder(made):
    assert (made.spec.topic.name, made.spec.topic.lies) == ("in", str(made.folder))
    assert json.loads(made.spec.topic.model_dump_json()).get("path") is None


def test_a_file_by_a_clock_that_is_ahead_waits(made):
    made.put("a.jsonl", "1")
    os.utime(made.folder / "a.jsonl", (time.time() + 3600,) * 2)
    made.note()
    assert made.values() == []
