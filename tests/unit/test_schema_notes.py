"""A checkpoint that was moved: the notes by which Spark finds the schemas of its state."""

import json
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.schema_notes import elsewhere, follow
from spark_jobs.errors import LeaseLost
from spark_jobs.runs.resume.moved_root import name_own
from tests.unit.drains import Drains

OLD = "/was/ü 5% #1/checkpoints/sales/v1/spark"
AS_SPARK_QUOTES = r"{\"stateVariables\":[{\"stateName\":\"ü\"}]}"


def text(checkpoint: str, scheme: str = "file:") -> str:
    """As Spark 4.2 writes it."""
    schema = f"{scheme}{checkpoint}/state/0/_stateSchema/default/0_13e21bef"
    return (
        'v2\n{"operatorInfo":{"operatorId":0,"operatorName":"transformWithStateExec"},'
        '"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2,'
        f'"stateSchemaFilePaths":["{schema}"]}}],"operatorPropertiesJson":"{AS_SPARK_QUOTES}"}}'
    )


def notes(checkpoint: Path, was: str = OLD, batches: tuple[int, ...] = (0, 2, 10)) -> list[Path]:
    folder = checkpoint / "state" / "0" / "_metadata" / "v2"
    folder.mkdir(parents=True)
    for batch in batches:
        (folder / str(batch)).write_text(text(was))
        (folder / f".{batch}.crc").write_bytes(b"of the text")
    return [folder / str(batch) for batch in batches]


def test_they_name_the_files_where_they_are_and_say_all_else_as_before(tmp_path):
    checkpoint = tmp_path / "ö 6% #2" / "spark"
    written = notes(checkpoint)
    assert elsewhere(UPath(checkpoint))
    assert follow(UPath(checkpoint)) == len(written)
    for note in written:
        assert note.read_text() == text(str(checkpoint))
        assert not note.with_name(f".{note.name}.crc").exists()  # Hadoop would refuse the text
    assert not elsewhere(UPath(checkpoint))
    assert follow(UPath(checkpoint)) == 0


def test_it_may_be_killed_anywhere_and_is_repeated(tmp_path):
    for survived in range(3):
        checkpoint = tmp_path / str(survived) / "spark"
        written, confirmed = notes(checkpoint), []

        def confirm(confirmed: list[Any] = confirmed, survived: int = survived):
            confirmed.append(None)
            if len(confirmed) > survived:
                raise LeaseLost("it is lost.", "Run again.")

        with pytest.raises(LeaseLost):
            follow(UPath(checkpoint), confirm)
        assert elsewhere(UPath(checkpoint))
        assert follow(UPath(checkpoint)) == len(written) - survived
        assert {note.read_text() for note in written} == {text(str(checkpoint))}


def test_those_that_name_this_place_are_read_no_further_a_torn_one_is_left(tmp_path, monkeypatch):
    first, *_, newest = notes(tmp_path, str(tmp_path))
    first.write_text("half a no")
    read: list[str] = []
    really = Path.read_text

    def counted(path: Path, **given: Any) -> str:
        read.append(path.name)
        return really(path, **given)

    monkeypatch.setattr(Path, "read_text", counted)
    assert follow(UPath(tmp_path)) == 0
    assert read == ["10"]
    newest.write_text("half a no")
    assert follow(UPath(tmp_path)) == 0
    assert really(newest) == "half a no"


def test_in_a_bucket_they_name_it_as_spark_does():
    bucket = UPath("memory://new/root/checkpoints/sales/v1/spark")
    place = bucket / "state" / "0" / "_metadata" / "v2" / "0"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text("old/root/checkpoints/sales/v1/spark", "s3a://"))
    assert follow(bucket) == 1
    said = json.loads(place.read_text().partition("\n")[2])
    assert said["stateStoreInfo"][0]["stateSchemaFilePaths"] == [
        "memory://new/root/checkpoints/sales/v1/spark/state/0/_stateSchema/default/0_13e21bef"
    ]


def test_a_run_lets_them_follow_before_all_else_under_its_lease_once(tmp_path):
    drains = Drains(tmp_path)
    drains.drain(0, 1)
    checkpoint = Path(str(drains.paths.checkpoint))
    [note] = notes(checkpoint, batches=(0,))
    with lease(drains.paths.lease, "run") as held:
        said = name_own(drains.paths, held)
        assert name_own(drains.paths, held) == ()
    assert [str(tmp_path) in line for line in said] == [True]
    assert note.read_text() == text(str(checkpoint))
