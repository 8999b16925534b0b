"""The note where a topic began: it is that of the topic which has the number now, whatever a rewind
took back.
"""

import json

import pytest
from upath import UPath

from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.standing import data_loss, standing
from spark_jobs.errors import CheckpointBroken, TopicRemade
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import PARTITIONS
from tests.harness.refused import fails, has
from tests.unit.checkpoints import begin, commit_batch, fitted, plan_batch
from tests.unit.specs import pipeline, topic

EARLIEST = {0: 4, PARTITIONS: 3, PARTITIONS + 1: 0}


@pytest.fixture
def folder(tmp_path):
    """Behind a rewind that took back all that the topic `us` gave."""
    return rewound(tmp_path / "spark")


def rewound(path):
    folder = begin(path, {0: 4})
    plan_batch(folder, 0, {0: 12})
    commit_batch(folder, 0)
    note = UPath(folder) / "sources" / "1" / "0"
    note.parent.mkdir()
    note.write_bytes(b'\0v1\n{"us":{"0":100}}')
    (note.parent / ".0.crc").write_bytes(b"crc\0")
    return folder


def note(folder):
    zero, version, offsets = (folder / "sources" / "1" / "0").read_bytes().partition(b"v1\n")
    assert (zero, version) == (b"\0", b"v1\n"), "as KafkaSourceInitialOffsetWriter reads it"
    return json.loads(offsets)


def test_the_topic_that_is_there_again_begins_where_it_began(folder):
    fitted(folder, "us", earliest=EARLIEST)
    assert note(folder) == {"us": {"0": 100}}
    assert (folder / "sources" / "1" / ".0.crc").exists()


def test_another_topic_begins_where_it_begins_then(folder):
    checkpoint = fitted(folder, "asia", earliest=EARLIEST)
    assert note(folder) == {"asia": {"0": 3, "1": 0}}
    assert not (folder / "sources" / "1" / ".0.crc").exists()
    plan_batch(folder, 1, {0: 12})
    with (folder / "offsets" / "1").open("a") as entry:
        entry.write('\n{"asia":{"0":50,"1":2}}')
    assert checkpoint.batch(1).covered == 49


def test_nothing_is_left_of_a_topic_that_was_taken_back_not_even_for_one_of_its_name(folder):
    fitted(folder)
    assert note(folder) == {}
    fitted(folder)
    fitted(folder, "us", earliest={PARTITIONS: 2})
    assert note(folder) == {"us": {"0": 2}}, "it may have been made anew"


def test_a_batch_that_reads_another_topic_than_the_spec_is_refused(folder):
    with (folder / "offsets" / "0").open("a") as entry:
        entry.write('\n{"us":{"0":101}}')
    with fails(CheckpointBroken, "file_damaged", what=has("topic us, and the spec asia")):
        fitted(folder, "asia", earliest=EARLIEST)
    assert note(folder) == {"us": {"0": 100}}


def test_what_another_topic_lacks_is_not_lost(tmp_path):
    def losses(name):
        spec = pipeline(topic=None, topics=(topic(name="flights"), topic(name=name)))
        paths = Paths(str(tmp_path / name), spec)
        rewound(UPath(paths.checkpoint))
        now = SourceState(
            "a b", Positions({0: 4, PARTITIONS: 130}), Positions({0: 30, PARTITIONS: 150})
        )
        return data_loss(paths, spec.inputs, now)

    assert (losses("us"), losses("asia")) == ({PARTITIONS: (100, 129)}, {})


def test_while_no_batch_reads_it_a_topic_is_replaced_and_one_of_its_name_is_the_same_one(tmp_path):
    def identity(ids, *names):
        spec = pipeline(topic=None, topics=tuple(topic(name=name) for name in ("eu", *names)))
        paths = Paths(str(tmp_path), spec)
        paths.ensure_writable()
        numbers = [n * PARTITIONS for n in range(1 + len(names))]
        source = SourceState(
            ids, Positions(dict.fromkeys(numbers, 0)), Positions(dict.fromkeys(numbers, 9))
        )
        found = standing(Present(spec), paths).identity(source)
        found.write(paths.identity)
        return paths, found

    paths, _ = identity("id-eu")
    Cursor().write(paths.cursor)
    folder = begin(paths.checkpoint, {0: 0}, "eu")
    plan_batch(folder, 0, {0: 5}, topic="eu")
    commit_batch(folder, 0)
    identity("id-eu id-us", "us")
    with fails(TopicRemade, "remade_since_checkpoint", topic="us"):
        identity("id-eu id-new", "us")
    _, found = identity("id-eu id-asia", "asia")
    assert found.topic_id == "id-eu id-asia"
